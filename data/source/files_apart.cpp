#include "data/source/files_apart.hpp"

#include "data/base/ordered_work.hpp"
#include "data/base/stored_values.hpp"
#include "data/source/image_rows.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/stream_table.hpp"

#include <algorithm>

namespace ballast::data {

bool is_decided(const source_table& table, const table_rows& rows,
                const source_request& request) {
  return request.label != label_kind::number_of_class ||
         request.like != nullptr || rows.labels_are_text() ||
         !table.labels.empty();
}

fragment_choice choice_of(const source_table& table, bool text_labels,
                          const text_cells& texts) {
  fragment_choice out{table.columns, text_labels, {}};
  for (const auto& [column, cell] : texts)
    out.texts.push_back({column, cell.text, cell.file, cell.row});
  return out;
}

table_fragment read_fragment(const source_spec& spec,
                             const source_request& request,
                             const stored_file& file,
                             const fragment_choice& choice) {
  if (is_pictures(spec.format))
    return read_image_file(spec, request, file);
  return read_table_file(spec, request, file, choice);
}

bool has_fragments(source_format format) {
  switch (format) {
  case source_format::csv:
  case source_format::parquet:
  case source_format::jsonl:
  case source_format::arrow:
  case source_format::orc:
  case source_format::webdataset:
  case source_format::images:
    return true;
  case source_format::sql:
  case source_format::flight:
  case source_format::graph:
  case source_format::list_files:
  case source_format::idx:
  case source_format::synthetic:
  case source_format::prepared:
    break;
  }
  return false;
}

size_t fragments_at_once(source_format format, bool remote) {
  // These have threads of their own: the second fills the gaps of the first.
  const bool many_threads = format == source_format::csv || is_pictures(format);
  constexpr size_t most = 8;
  constexpr size_t keep_a_line_busy = 4; // while some wait for an answer
  const size_t busy = many_threads ? 2 : std::min<size_t>(work_threads(), most);
  return remote ? std::max(busy, keep_a_line_busy) : busy;
}

// -- joining them -------------------------------------------------------------

/// What the labels of a fragment are here. False: one of them must not be.
bool table_rows::find_labels(const fragment_file& from,
                             std::vector<int32_t>& out) {
  const std::vector<std::string>& names = from.class_names();
  if (names.empty())
    return request_.like == nullptr ||
           from.about().label_most < int64_t(request_.like->row.classes);
  const auto is_new = [this](const std::string& name) {
    return !names_.contains(name);
  };
  const auto added = size_t(std::count_if(names.begin(), names.end(), is_new));
  if (names_.size() + added > size_t(classes_max) ||
      std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return is_new(name) && !may_be_new(name);
      }))
    return false;
  for (const std::string& name : names)
    out.push_back(
        names_.try_emplace(name, int32_t(names_.size())).first->second);
  return true;
}

bool table_rows::add(const fragment_file& from, size_t features,
                     uint64_t before) {
  const fragment_file::description& about = from.about();
  std::vector<int32_t> label_of; // empty: as they are
  if (about.rows > 0 && (about.features != features ||
                         from.kept_texts().size() != numbers_.size() ||
                         !find_labels(from, label_of)))
    return false;
  std::vector<std::vector<uint32_t>> cell_of(from.kept_texts().size());
  for (size_t i = 0; about.rows > 0 && i < cell_of.size(); ++i)
    for (const std::string& text : from.kept_texts()[i])
      cell_of[i].push_back(numbers_[i].of(text, table_.kept[i].texts));
  const size_t rows_here =
      std::max(table_.labels.size(), table_.targets.size());
  const bool numbered = about.taken || rows_here != before;
  if (numbered && rows_here == before)
    table_.number_rows();
  uint64_t row = before;
  from.each([&](const fragment_file::rows& some) {
    check_stop(request_.stop);
    if (some.count == 0)
      return;
    float* const to = more(some.count, features);
    convert_values(some.features, about.stored, some.count * features,
                   ledger::stored_type::float32,
                   reinterpret_cast<unsigned char*>(to));
    for (int32_t label : some.labels)
      table_.labels.push_back(label_of.empty() ? label
                                               : label_of[size_t(label)]);
    table_.targets.insert(table_.targets.end(), some.targets.begin(),
                          some.targets.end());
    for (size_t i = 0; i < cell_of.size(); ++i)
      for (uint32_t cell : some.kept[i])
        table_.kept[i].cells.push_back(cell_of[i][cell]);
    for (uint64_t i = 0; numbered && i < some.count; ++i)
      table_.taken_rows.push_back(about.taken ? before + some.taken[i]
                                              : row + i);
    row += some.count;
  });
  range_.int16 = range_.int16 && about.int16;
  range_.uint8 = range_.uint8 && about.uint8;
  range_.vocabulary = std::max(range_.vocabulary, about.vocabulary);
  if (about.rows > 0 && request_.label == label_kind::none)
    table_.row.classes = 1;
  return true;
}

// -- images -------------------------------------------------------------------

void image_rows::add(const fragment_file& from) {
  while (work_.under_way() > 0)
    take(); // they come first
  uint64_t at = 0;
  from.each([&](const fragment_file::rows& some) {
    check_stop(request_.stop);
    for (uint64_t row = 0; row < some.count; ++row) {
      put(some.features + row * row_bytes_);
      if (request_.faults != nullptr)
        taken_rows_.push_back(count_ +
                              (some.taken.empty() ? at : some.taken[row]));
      ++at;
    }
  });
  labels_ += from.about().rows;
  count_ += from.about().rows_read;
  if (request_.faults == nullptr)
    return;
  request_.faults->read(from.about().rows_read);
  request_.faults->add(from.faults());
}

} // namespace ballast::data
