#include "data/source/stream_table.hpp"

#include "data/graph/graph_stream.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/database_source.hpp"
#include "data/source/file_name_stream.hpp"
#include "data/source/file_text.hpp"
#include "data/source/files_apart.hpp"
#include "data/source/ipc_stream.hpp"
#include "data/source/jsonl_stream.hpp"
#include "data/source/orc_stream.hpp"
#include "data/source/parquet_stream.hpp"
#include "data/source/row_condition.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/stream_reader.hpp"
#include "runtime/base/check.hpp"
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
  terms.nodes = request.nodes;
  return std::make_unique<graph_stream>(*request.data, spec.from,
                                        std::move(terms));
}

std::unique_ptr<record_stream> open_table(const source_spec& spec,
                                          const source_request& request,
                                          const stored_file& file,
                                          const table_terms& how) {
  const std::string pointer = request.pointer + "/uri";
  const auto opened = [&]() -> stream_input {
    return {open_file(file, pointer), file.name, request.pointer, request.stop};
  };
  switch (spec.format) {
  case source_format::csv:
    return std::make_unique<csv_stream>(
        file.name, text_of_file(file, pointer, request.stop),
        csv_stream::terms{request.pointer, request.stop, spec.null_values,
                          how.texts, how.typing, types_stated(spec),
                          request.faults != nullptr});
  case source_format::parquet:
    return open_parquet(opened());
  case source_format::jsonl:
    return open_jsonl_stream(opened(), how.like,
                             {types_stated(spec),
                              how.typing == cell_typing::exact,
                              request.faults != nullptr});
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
    return find_files(spec.uri, request.pointer + "/uri", request.stop);
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

} // namespace

source_table read_table(const source_spec& spec,
                        const source_request& request) {
  source_table out;
  out.label = spec.label;
  table_rows rows(out, request);
  text_cells texts;
  const std::optional<row_condition> where = condition_of(spec, request);
  uint64_t rows_read = 0;
  const std::vector<stored_file> files = stored_files(spec, request);
  files_apart apart(request.fragments);
  for (size_t i = 0; i < files.size(); ++i) {
    const stored_file& file = files[i];
    out.files.push_back({file.name, rows_read});
    if (i > 0 && apart.can_begin() && is_decided(out, rows, request))
      apart.begin(files, i, choice_of(out, rows, texts));
    if (const auto read = apart.take(i);
        read && rows.add(*read, out.columns.size(), rows_read)) {
      rows_read += read->about().rows_read;
      if (request.faults != nullptr) {
        request.faults->read(read->about().rows_read);
        request.faults->add(read->faults());
        request.faults->check();
      }
      continue;
    }
    const std::unique_ptr<record_stream> from =
        open_table(spec, request, file, {.texts = &texts});
    rows_read = stream_reader(file.name, *from, spec, request, out,
                              where ? &*where : nullptr, rows_read)
                    .read(rows, i == 0 ? request.faults : nullptr);
    if (request.faults != nullptr)
      request.faults->check();
    if (const auto* graph = dynamic_cast<const graph_stream*>(from.get()))
      out.files = graph->files();
  }
  if (request.faults != nullptr)
    request.faults->check(/*at_end=*/true);
  if (out.labels.empty() && out.targets.empty() && rows_read > 0)
    throw ballast_error(errc::invalid_data,
                        request.pointer + "/where: none of the " +
                            std::to_string(rows_read) + " rows of " +
                            printable(spec.uri.empty() ? spec.from : spec.uri) +
                            " meets the condition",
                        request.pointer + "/where");
  rows.finish(out.columns.size());
  return out;
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
  for (const fragment_choice::left_out& one : choice.texts)
    texts.emplace(one.column, text_cell{one.text, one.file, one.row});
  const std::optional<row_condition> where = condition_of(spec, request);
  const std::unique_ptr<record_stream> from =
      open_table(spec, request, file, {.texts = &texts});
  out.rows_read = stream_reader(file.name, *from, spec, request, out.table,
                                where ? &*where : nullptr, 0)
                      .read(rows);
  const number_range range = rows.range();
  out.int16 = range.int16;
  out.uint8 = range.uint8;
  out.vocabulary = range.vocabulary;
  rows.finish(choice.columns.size(), false);
  return out;
}

} // namespace ballast::data
