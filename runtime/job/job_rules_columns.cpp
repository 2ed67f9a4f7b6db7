/// Rules of the `columns` of a source: that its files do not say the types
/// themselves, and that what is trained on is numbers.
#include "runtime/job/job_field.hpp"

#include <algorithm>

namespace ballast {

namespace {

using failures = std::vector<failure>;

bool is_wrong_in(const failures& mistakes, const std::string& source) {
  return std::any_of(mistakes.begin(), mistakes.end(), [&](const failure& one) {
    return one.pointer == source || one.pointer.rfind(source + "/", 0) == 0;
  });
}

void refuse(failures& mistakes, const std::string& field,
            const std::string& why) {
  mistakes.push_back({errc::invalid_job, field + ": " + why, field});
}

void check_format(const source_spec& source, const std::string& prefix,
                  failures& mistakes) {
  if (source.columns.empty() || is_untyped(source.format) ||
      is_wrong_in(mistakes, prefix))
    return;
  if (source.format == source_format::graph)
    refuse(mistakes, prefix + "/columns",
           "the columns of a graph have types; put this into a source of "
           "/data/sources, or change a type by the operator \"cast\"");
  else
    refuse(mistakes, prefix + "/columns",
           "\"" + to_string(source.format) +
               "\" says the types of its columns; change one by the operator "
               "\"cast\" of data.graph");
}

/// What the model sees are numbers.
void check_trained(const source_spec& source, const std::string& prefix,
                   loss_kind loss, failures& mistakes) {
  if (is_wrong_in(mistakes, prefix))
    return;
  for (const auto& [name, word] : source.columns) {
    const auto type = parse_word<column_type>(word);
    const bool label = name == source.label;
    const bool trained = label || std::count(source.features.begin(),
                                             source.features.end(), name) > 0;
    if (!trained || type == column_type::int64 ||
        type == column_type::float64 || type == column_type::boolean ||
        (label && type == column_type::text && is_of_classes(loss)))
      continue;
    refuse(mistakes, prefix + "/columns/" + name,
           "\"" + name + "\" is " +
               (label ? "the label" : "named in " + prefix + "/features") +
               ", which is trained on as a number; expected \"float64\", "
               "\"int64\" or \"bool\"" +
               (label
                    ? ""
                    : ", or leave the column out of " + prefix + "/features"));
  }
}

} // namespace

void check_columns(const job& in, failures& mistakes) {
  check_format(in.data.train, "/data/train", mistakes);
  if (in.data.test)
    check_format(*in.data.test, "/data/test", mistakes);
  for (const auto& [name, source] : in.data.sources)
    check_format(source, "/data/sources/" + name, mistakes);
  check_trained(in.data.train, "/data/train", in.train.loss, mistakes);
  if (in.data.test)
    check_trained(*in.data.test, "/data/test", in.train.loss, mistakes);
}

} // namespace ballast
