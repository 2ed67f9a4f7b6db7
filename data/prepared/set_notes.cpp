#include "data/prepared/set_notes.hpp"

#include "data/prepared/set_identity.hpp"
#include "data/source/column_choice.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>

namespace ballast::data {

namespace {

std::string name_of_rows(const job& what, const ledger::manifest& about) {
  return printable(what.data.train.format == source_format::graph
                       ? what.data.train.from
                       : about.sources.at(0));
}

/// What the numbers of the classes mean; and of numbers, those that no row has:
/// labels from 1 on make a class 0 that nothing belongs to. Empty: nothing.
std::string classes_note(const job& what, const ledger::manifest& about) {
  const std::string column =
      name_of_rows(what, about) +
      (is_pictures(what.data.train.format)
           ? ": the " + printable(about.label)
           : ": column '" + printable(about.label) + "'");
  if (what.data.train.format == source_format::images)
    return name_of_rows(what, about) + ": " +
           std::to_string(about.class_names.size()) +
           " classes, numbered from 0: " + list_of(about.class_names);
  if (!about.class_names.empty())
    return column + " has " + std::to_string(about.class_names.size()) +
           " classes, numbered from 0: " + list_of(about.class_names);
  if (label_of(what) != label_kind::number_of_class || !what.balance.by.empty())
    return {};
  std::vector<uint64_t> rows(about.row.classes);
  for (const ledger::chunk_info& one : about.train)
    for (size_t c = 0; c < std::min(rows.size(), one.label_histogram.size());
         ++c)
      rows[c] += one.label_histogram[c];
  const auto empty = std::find(rows.begin(), rows.end(), 0u);
  if (empty == rows.end())
    return {};
  return column + " numbers " + std::to_string(rows.size()) +
         " classes from 0, and no row is of class " +
         std::to_string(empty - rows.begin()) +
         "; number them without gaps, or make them text";
}

} // namespace

std::vector<std::string> notes_of(const job& what,
                                  const ledger::manifest& about) {
  std::vector<std::string> out;
  // Who wanted one of them would otherwise miss it only in the model.
  if (about.left_out && !about.left_out->empty())
    out.push_back(name_of_rows(what, about) + ": left out " +
                  list_of(*about.left_out) +
                  ": no numbers (text, dates, decimals, or nothing); to choose "
                  "otherwise, name columns in /data/train/features");
  if (!about.label.empty() && !about.sources.empty())
    if (std::string note = classes_note(what, about); !note.empty())
      out.push_back(std::move(note));
  if (about.test_rows_trained_on.value_or(0) > 0)
    out.push_back(std::to_string(*about.test_rows_trained_on) + " of the " +
                  std::to_string(about.test_rows) +
                  " test rows come from rows of the sources that are in the "
                  "training set, too, so the test is easier than it should be; "
                  "split before rows are repeated or joined, or by \"group\"");
  return out;
}

} // namespace ballast::data
