#include "data/source/stream_table.hpp"

#include "data/graph/graph_stream.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/database_source.hpp"
#include "data/source/file_name_stream.hpp"
#include "data/source/file_text.hpp"
#include "data/source/files_apart.hpp"
#include "data/source/found_files.hpp"
#include "data/source/ipc_stream.hpp"
#include "data/source/jsonl_stream.hpp"
#include "data/source/orc_stream.hpp"
#include "data/source/parquet_stream.hpp"
#include "data/source/row_condition.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/source_error.hpp"
#include "data/source/stream_reader.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

static std::unique_ptr<graph_stream> open_graph(const source_spec& spec,
                                                const source_request& request) {
  BALLAST_CHECK(request.data != nullptr, "a graph without its data");
  graph_terms terms;
  terms.seed = request.seed;
  terms.spill = request.spill;
  terms.stop = request.stop;
  terms.faults = request.faults;
  terms.removed = request.removed;
  terms.found = request.found;
  terms.fitted = request.fitted;
  terms.nodes = request.nodes;
  return std::make_unique<graph_stream>(*request.data, spec.from,
                                        std::move(terms));
}

bool tells_types(source_format format) {
  return format == source_format::parquet || format == source_format::arrow ||
         format == source_format::orc;
}

uint64_t whole_max_of(const source_spec& spec) {
  constexpr uint64_t some_of_it = uint64_t{4} << 20;
  // Those that come next are fetched before somebody reads them, or a line
  // lies idle whenever files end together: two fit (soon_bytes).
  constexpr uint64_t all_of_it = uint64_t{32} << 20;
  // A source of a graph names no label: some look at its first rows only.
  return spec.label.empty() ||
                 (tells_types(spec.format) && !spec.features.empty())
             ? some_of_it
             : all_of_it;
}

std::unique_ptr<record_stream> open_table(const source_spec& spec,
                                          const source_request& request,
                                          const stored_file& file,
                                          const table_terms& how) {
  const std::string pointer = request.pointer + "/uri";
  const auto opened = [&]() -> stream_input {
    return {open_file(file, pointer, whole_max_of(spec)), file.name,
            request.pointer, request.stop};
  };
  switch (spec.format) {
  case source_format::csv:
    return std::make_unique<csv_stream>(
        file.name,
        text_of_file(file, pointer, request.stop, whole_max_of(spec)),
        csv_stream::terms{request.pointer, request.stop, spec.null_values,
                          how.texts, how.typing, types_stated(spec),
                          request.faults != nullptr});
  case source_format::parquet:
    return open_parquet(opened());
  case source_format::jsonl:
    return open_jsonl_stream(opened(), how.like,
                             {types_stated(spec),
                              how.typing == cell_typing::exact,
                              request.faults != nullptr, how.known});
  case source_format::arrow:
    return open_ipc_stream(opened());
  case source_format::orc:
    return open_orc_stream(opened());
  case source_format::sql:
  case source_format::flight:
    return open_database(spec, request.pointer, request.stop);
  case source_format::graph:
    return open_graph(spec, request);
  case source_format::list_files:
    return open_file_name(file);
  case source_format::idx:
  case source_format::images:
  case source_format::webdataset:
  case source_format::synthetic:
  case source_format::prepared:
    break;
  }
  BALLAST_CHECK(false, "a format without named columns");
}

std::vector<stored_file> stored_files(const source_spec& spec,
                                      const source_request& request) {
  stored_file only;
  if (is_sent(spec.format))
    only.name = name_of_database(spec, request.pointer);
  else if (spec.format == source_format::graph)
    only.name = spec.from;
  else
    return find_files(request.found, spec.uri, request.pointer + "/uri",
                      request.stop);
  return {only};
}

namespace {

std::optional<row_condition> condition_of(const source_spec& spec,
                                          const source_request& request) {
  std::optional<row_condition> out;
  if (!spec.where.empty())
    out.emplace(spec.where, request.pointer + "/where");
  return out;
}

/// The files of one source, one after another.
class table_reader {
public:
  table_reader(const source_spec& spec, const source_request& request)
      : spec_(spec), request_(request), where_(condition_of(spec, request)),
        rows_(out_, request), apart_(request.fragments),
        left_out_before_(left_out()) {
    out_.label = spec.label;
  }

  source_table read() {
    std::vector<stored_file> files = stored_files(spec_, request_);
    open_soon(files, request_.pointer + "/uri", whole_max_of(spec_));
    for (size_t i = 0; i < files.size(); ++i) {
      const uint64_t before = rows_read_;
      out_.files.push_back({files[i].name, before});
      if (begun_ && is_decided(out_, rows_, request_))
        begin_apart(files, i, rows_.labels_are_text());
      if (!take_apart(i))
        read_here(files, i);
      if (request_.faults != nullptr)
        request_.faults->check();
      if (rows_read_ == before && ++without_rows_ == 1)
        first_without_ = files[i].name;
    }
    if (request_.faults != nullptr)
      request_.faults->check(/*at_end=*/true);
    if (out_.labels.empty() && out_.targets.empty() && rows_read_ > 0)
      refuse_none_left();
    if (files.size() > 1 && without_rows_ > 0)
      out_.notes.push_back(no_rows_note(without_rows_, first_without_));
    rows_.finish(out_.columns.size());
    return std::move(out_);
  }

private:
  uint64_t left_out() const {
    return request_.faults != nullptr ? request_.faults->counts().rows : 0;
  }

  /// Once it is known how those are to be read.
  void begin_apart(const std::vector<stored_file>& files, size_t next,
                   bool text_labels) {
    if (next == files.size() || !apart_.can_begin())
      return;
    text_cells texts = texts_;
    if (out_.left_out && spec_.format != source_format::csv)
      for (const std::string& one : *out_.left_out)
        texts.try_emplace(one);
    apart_.begin(files, next, choice_of(out_, text_labels, texts));
  }

  /// False: the file is to be read here.
  bool take_apart(size_t file) {
    const auto read = apart_.take(file);
    if (!read || (where_ && !where_->is_read_alike(read->about().types)) ||
        !rows_.add(*read, out_.columns.size(), rows_read_))
      return false;
    rows_read_ += read->about().rows_read;
    if (request_.faults != nullptr) {
      request_.faults->read(read->about().rows_read);
      request_.faults->add(read->faults());
    }
    return true;
  }

  void read_here(const std::vector<stored_file>& files, size_t number) {
    const stored_file& file = files[number];
    std::unique_ptr<record_stream> from;
    try {
      from = open_table(spec_, request_, file,
                        {.texts = &texts_, .known = known_});
    } catch (const no_rows_error&) {
      if (number + 1 == files.size() && !begun_) // none has rows
        throw;
      return;
    }
    if ((begun_ || number + 1 < files.size()) && !from->has_rows())
      return; // another one says which columns there are
    for (std::string& note : notes_of_stream(*from, file.name))
      out_.notes.push_back(std::move(note));
    const row_faults* judge = begun_ ? nullptr : request_.faults;
    begun_ = true;
    // Where a file tells its types nothing more is to be known; elsewhere any
    // row may make a column one of text.
    std::function<void(bool)> chosen;
    if (tells_types(spec_.format))
      chosen = [&](bool text) { begin_apart(files, number + 1, text); };
    rows_read_ = stream_reader(file.name, *from, spec_, request_, out_,
                               where_ ? &*where_ : nullptr, rows_read_)
                     .read(rows_, judge, chosen);
    if (known_ == nullptr && request_.faults != nullptr)
      known_ = columns_used(*from->schema());
    if (const auto* graph = dynamic_cast<const graph_stream*>(from.get())) {
      out_.files = graph->files();
      out_.notes = graph->origins().notes();
      if (rows_read_ == 0 && request_.faults != nullptr)
        request_.faults->check(/*at_end=*/true);
      if (rows_read_ == 0)
        graph->refuse_no_rows();
    }
  }

  /// As the model sees them: a whole number may have a fraction later.
  std::shared_ptr<arrow::Schema> columns_used(const arrow::Schema& of) const {
    arrow::FieldVector out;
    for (const auto& field : of.fields())
      if (field->name() == out_.label ||
          std::ranges::count(out_.columns, field->name()) > 0)
        out.push_back(arrow::is_integer(field->type()->id())
                          ? field->WithType(arrow::float64())
                          : field);
    return arrow::schema(std::move(out));
  }

  std::string name() const {
    return printable(spec_.uri.empty() ? spec_.from : spec_.uri);
  }

  [[noreturn]] void refuse_none_left() const {
    const uint64_t wrong = left_out() - left_out_before_;
    if (spec_.where.empty())
      refuse_all_left_out();
    throw ballast_error(
        errc::invalid_data,
        request_.pointer + "/where: none of the " + counted(rows_read_, "row") +
            " of " + name() + " meets the condition" +
            (wrong == 0 ? ""
                        : ", and " + std::to_string(wrong) +
                              " of them are left out because something is "
                              "wrong with them"),
        request_.pointer + "/where");
  }

  [[noreturn]] void refuse_all_left_out() const {
    throw ballast_error(
        errc::invalid_data,
        request_.pointer + ": no row of " + name() +
            " is left: " + std::to_string(left_out() - left_out_before_) +
            " are left out because something is wrong with "
            "them; the last: " +
            request_.faults->found().last,
        request_.pointer);
  }

  const source_spec& spec_;
  const source_request& request_;
  std::optional<row_condition> where_;
  source_table out_;
  table_rows rows_;
  files_apart apart_;
  const uint64_t left_out_before_;
  text_cells texts_;
  std::shared_ptr<arrow::Schema> known_; // of the first file that has rows
  size_t without_rows_ = 0;              // files
  std::string first_without_;
  uint64_t rows_read_ = 0;
  bool begun_ = false; // a file that has rows
};

} // namespace

source_table read_table(const source_spec& spec,
                        const source_request& request) {
  return table_reader(spec, request).read();
}

table_fragment read_table_file(const source_spec& spec,
                               const source_request& request,
                               const stored_file& file,
                               const fragment_choice& choice) {
  table_fragment out;
  out.table.label = spec.label;
  out.table.columns = choice.columns;
  out.table.left_out.emplace(); // they are known
  table_rows rows(out.table, request);
  rows.expect_text_labels(choice.text_labels);
  text_cells texts;
  for (const fragment_choice::left_out& one : choice.texts) {
    texts.emplace(one.column, text_cell{one.text, one.file, one.row});
    out.table.left_out->push_back(one.column);
  }
  std::optional<row_condition> where = condition_of(spec, request);
  std::unique_ptr<record_stream> from;
  try {
    from = open_table(spec, request, file, {.texts = &texts});
  } catch (const no_rows_error&) { // others have some
    rows.finish(choice.columns.size(), false);
    return out;
  }
  if (!from->has_rows()) {
    rows.finish(choice.columns.size(), false);
    return out;
  }
  out.rows_read = stream_reader(file.name, *from, spec, request, out.table,
                                where ? &*where : nullptr, 0)
                      .read(rows);
  if (where)
    out.types = where->types_of(*from);
  const number_range range = rows.range();
  out.int16 = range.int16;
  out.uint8 = range.uint8;
  out.vocabulary = range.vocabulary;
  rows.finish(choice.columns.size(), false);
  return out;
}

} // namespace ballast::data
