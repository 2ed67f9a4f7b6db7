/// `data.augment`: the fields of a step come from the catalogue of operators,
/// its rules from augment_steps.hpp.
#include "runtime/job/job_field.hpp"

#include <optional>

namespace ballast {

namespace {

using step_access = std::function<augment::step&(job&)>;

void add_step_option(std::vector<job_field>& f, const std::string& prefix,
                     const step_access& of, augment::op what,
                     const augment::option& one) {
  const std::string name = one.name;
  job_field& out = add_field(
      f, prefix + "/" + name,
      [of, name, what](job& j) -> field_place {
        augment::step& step = of(j);
        step.what = what; // of a fresh one it is any
        return std::visit([](auto& value) -> field_place { return &value; },
                          augment::option_of(step, name));
      },
      one.doc);
  out.only_with("op", what);
  if (one.required)
    out.must();
  if (!one.words.empty())
    out.one_of(one.words);
  out.range = {one.low, one.high, one.low_excluded, false};
  out.items(one.items_min, one.items_max);
  if (one.items_min == 1)
    out.one_or_more();
}

void add_step(std::vector<job_field>& f, size_t index) {
  const std::string prefix = augment::pointer_of(index);
  const step_access of = [index](job& j) -> augment::step& {
    if (j.data.augment.size() <= index)
      j.data.augment.resize(index + 1);
    return j.data.augment[index];
  };
  add_field(
      f, prefix + "/op", [of](job& j) -> field_place { return &of(j).what; },
      "What is done to an image.")
      .must();
  for (const augment::operator_about& known : augment::operator_catalogue())
    for (const augment::option& one : known.options)
      add_step_option(f, prefix, of, known.what, one);
}

/// That of a row, where the job says it; else the rows do.
std::optional<std::vector<uint32_t>> shape_of_rows(const job& in) {
  for (size_t i = in.data.pipeline.size(); i > 0; --i)
    if (in.data.pipeline[i - 1].op == pipeline_op::reshape)
      return in.data.pipeline[i - 1].shape;
  const source_spec& train = in.data.train;
  if (is_pictures(train.format) && !train.size.empty())
    return std::vector<uint32_t>{3, train.size.front(), train.size.back()};
  if (train.format == source_format::synthetic)
    return std::vector<uint32_t>{train.width};
  return std::nullopt;
}

/// A mistake in what the shape of a row follows from.
bool is_shape_uncertain(const std::vector<failure>& mistakes) {
  for (const failure& one : mistakes)
    for (const char* part : {"/data/augment", "/data/pipeline", "/data/train"})
      if (one.pointer.empty() || one.pointer == "/data" ||
          one.pointer.rfind(part, 0) == 0)
        return true;
  return false;
}

} // namespace

void add_augment_fields(std::vector<job_field>& f, const job_form& form) {
  for (size_t i = 0; i < form.augment_steps; ++i)
    add_step(f, i);
}

void check_augment(const job& in, std::vector<failure>& mistakes) {
  if (in.data.augment.empty() || is_shape_uncertain(mistakes))
    return;
  for (failure& one : augment::mistakes_of(in.data.augment))
    mistakes.push_back(std::move(one));
  const auto row = shape_of_rows(in);
  if (!row || is_shape_uncertain(mistakes))
    return;
  augment::image_shape behind;
  if (failure wrong = augment::shape_behind(in.data.augment, *row, behind))
    mistakes.push_back(std::move(wrong));
}

} // namespace ballast
