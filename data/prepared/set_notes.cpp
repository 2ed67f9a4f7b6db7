#include "data/prepared/set_notes.hpp"

#include "data/graph/temporary_folder.hpp"
#include "data/prepared/job_tables.hpp"
#include "data/prepared/placed_rows.hpp"
#include "data/prepared/set_identity.hpp"
#include "data/prepared/use_order.hpp"
#include "data/source/column_choice.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/ledger/epoch_uses.hpp"
#include "runtime/ledger/use_rounding.hpp"

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

std::string note_of_uses(const job& what, const ledger::manifest& about) {
  const sampling_spec& how = what.train.sampling;
  const ledger::use_rounding found = ledger::rounding_of(how, what.seed, about);
  if (!found.any())
    return {};
  std::string out = "/train/sampling: an epoch has " +
                    counted(found.uses, "use") + " for " +
                    counted(found.chunks, "chunk") +
                    " of rows, and those of a chunk are whole and the same in "
                    "every epoch: ";
  if (found.unused > 0)
    out += counted(found.unused, "chunk") + " (" +
           counted(found.unused_rows, "row") +
           " with a weight above 0) will never be used";
  if (found.far_off > 0)
    out += (found.unused > 0 ? ", of the others " : "") +
           counted(found.far_off, "chunk") +
           " will be used over a tenth more or less often than by weight";
  return out + "; for fewer of these " +
         (how.counts_uses() ? "use rows more often"
                            : "raise /train/sampling/rows") +
         ", or prepare the set with a larger /data/chunk_rows";
}

std::string check_uses(const job& what, const store::work_watch& stop) {
  constexpr uint64_t part = 4; // as when a set is prepared
  const sampling_spec& how = what.train.sampling;
  const rows_folder folder = rows_folder::make();
  const job_tables from(
      what,
      write_options{folder.path(), available_memory_bytes() / part, stop});
  std::vector<balance::chunk_layout> lists = place(what, from);
  const std::vector<double> weights = order_for_uses(what, from, lists);
  if (!how.is_weighted())
    return {};
  ledger::manifest about;
  for (const source_table::file& one : from.train.files)
    about.sources.push_back(one.path);
  about.order = ledger::order_for(how.kind);
  about.train_rows = from.train_rows.rows.size();
  const auto chunks = chunks_of(lists);
  for (const auto& rows : chunks) {
    ledger::chunk_info& one = about.train.emplace_back();
    one.rows = uint32_t(rows.size());
  }
  describe_weights(weights, chunks, about.train);
  if (failure none = ledger::epoch_uses::mistake(how, about))
    throw ballast_error(none);
  return note_of_uses(what, about);
}

void tell_of_uses(const job& what, const ledger::manifest& about,
                  const std::function<void(const std::string&)>& warn) {
  if (failure none = ledger::epoch_uses::mistake(what.train.sampling, about))
    throw ballast_error(none);
  const std::string note = note_of_uses(what, about);
  if (warn && !note.empty())
    warn(note);
}

} // namespace ballast::data
