#include "data/resampling/resampled_file.hpp"

#include "data/graph/graph_sources.hpp"
#include "data/graph/graph_stream.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/operators/row_batches.hpp"
#include "data/resampling/labelled_table.hpp"
#include "data/resampling/memory_room.hpp"
#include "data/resampling/resample.hpp"
#include "data/resampling/resampled_batch.hpp"
#include "data/sink/partial_path.hpp"
#include "data/sink/record_writer.hpp"
#include "data/sink/source_versions.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

namespace ballast::data {

namespace {

/// All rows in memory.
std::shared_ptr<arrow::RecordBatch> rows_read(const job& what,
                                              const resampling_request& request,
                                              const work_terms& how) {
  graph_terms terms;
  terms.seed = request.seed;
  terms.stop = how.stop;
  graph_stream from(what.data, request.node, terms);
  const std::shared_ptr<arrow::Schema> schema = from.choose_all();
  find_column(*schema, request.label, "--label"); // before a row is read
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  // They are put together, and their numbers side by side.
  const feature_reading reading = reading_of(request.order);
  const uint64_t copies = reading.numbers || reading.categories ? 2 : 1;
  constexpr uint64_t looked_at_every = uint64_t{16} << 20;
  uint64_t bytes = 0, rows = 0, looked_at = 0;
  while (auto batch = from.next()) {
    batches.push_back(first_columns(batch, size_t(schema->num_fields())));
    bytes += uint64_t(bytes_of(*batches.back()));
    rows += uint64_t(batch->num_rows());
    if (bytes - looked_at < looked_at_every)
      continue;
    looked_at = bytes;
    check_room(copies * bytes,
               printable(request.source) +
                   ": resampling holds all rows in memory; already the first " +
                   std::to_string(rows));
  }
  operator_context context;
  context.name = request.node;
  return together(schema, std::move(batches), context);
}

void count(const labelled_rows& rows, const resampled_rows& after,
           resampling_report& out) {
  for (const std::string& name : rows.names)
    out.classes.push_back({.name = name});
  for (const uint32_t one : rows.of_row)
    ++out.classes[one].before;
  for (const uint32_t row : after.kept)
    ++out.classes[rows.of_row[row]].after;
  for (const made_row& one : after.made)
    ++out.classes[one.of_class].after;
  out.made = after.made.size();
  out.rows = after.kept.size() + after.made.size();
}

} // namespace

resampling_report
resample_file(const job& what, const resampling_request& request,
              const work_terms& how,
              const std::function<void(const std::string&)>& progress) {
  const auto tell = [&progress](const std::string& line) {
    if (progress)
      progress(line);
  };
  partial_path::remove_left_over(request.file);
  check_writable(request.file);
  const source_versions sources(what.data, {request.node}, how.stop);
  tell("reading");
  const auto all = rows_read(what, request, how);
  const labelled_table table(
      all, find_column(*all->schema(), request.label, "--label"),
      reading_of(request.order), {request.source});
  resampled_schema(table, request.with_source); // refuses a name that is taken
  const labelled_rows rows = table.rows();
  tell(to_string(request.order.what) + " of " +
       std::to_string(rows.of_row.size()) + " rows");
  resampling_report out;
  const auto begin = std::chrono::steady_clock::now();
  const resampled_rows after = resample(rows, request.order, request.seed, how);
  check_room(uint64_t(double(bytes_of(*all)) / double(all->num_rows()) *
                      double(after.kept.size() + after.made.size())),
             "the rows of " + printable(request.file));
  const auto batches = resampled_batches(table, after, request.with_source);
  out.resample_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  count(rows, after, out);
  tell("writing " + std::to_string(out.rows) + " rows");
  partial_path made(request.file, partial_path::kind::file);
  const auto writer = open_writer(request.file, made.path(),
                                  resampled_schema(table, request.with_source));
  for (const auto& batch : batches) {
    store::check_stop(how.stop);
    writer->write(batch);
  }
  sources.check_unchanged();
  writer->finish();
  partial_path::publish({&made});
  return out;
}

} // namespace ballast::data
