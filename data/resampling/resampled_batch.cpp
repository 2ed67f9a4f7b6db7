#include "data/resampling/resampled_batch.hpp"

#include "data/base/arrow_support.hpp"
#include "data/operators/row_batches.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

namespace ballast::data {

namespace {

constexpr const char* source_column = "source_row";
constexpr size_t rows_of_a_batch = 64 << 10;
/// Rows that follow one another as in the input are not copied from so many on.
constexpr size_t rows_of_a_slice = 4 << 10;

/// How many rows at the beginning follow one another, one batch at most.
size_t run_of(std::span<const uint32_t> rows) {
  size_t count = 1;
  while (count < std::min(rows.size(), rows_of_a_batch) &&
         rows[count] == rows[0] + count)
    ++count;
  return count;
}

/// Where the rows come from, from 1.
std::shared_ptr<arrow::Array> sources_of(std::span<const uint32_t> rows) {
  arrow::Int64Builder out;
  for (const uint32_t row : rows)
    check_arrow(out.Append(int64_t{row} + 1), errc::device_failed,
                source_column);
  return take_arrow(out.Finish(), errc::device_failed, source_column);
}

/// Numbers as the column has them.
std::shared_ptr<arrow::Array> typed(std::vector<double> numbers,
                                    const arrow::Field& field) {
  const arrow::Type::type type = field.type()->id();
  const bool whole = type != arrow::Type::DOUBLE && type != arrow::Type::FLOAT;
  for (double& one : numbers)
    one = whole ? std::nearbyint(one) : one;
  const auto count = int64_t(numbers.size());
  const auto out = std::make_shared<arrow::DoubleArray>(
      count, arrow::Buffer::FromVector(std::move(numbers)));
  if (type == arrow::Type::DOUBLE)
    return out;
  const auto how = whole ? arrow::compute::CastOptions::Safe(field.type())
                         : arrow::compute::CastOptions::Unsafe(field.type());
  return take_arrow(arrow::compute::Cast(arrow::Datum(out), how),
                    errc::invalid_data,
                    "column '" + printable(field.name()) + "'")
      .make_array();
}

/// The cells of these rows of a column of the input.
std::shared_ptr<arrow::Array> cells_of(const labelled_table& from, int column,
                                       std::vector<uint32_t> rows) {
  const auto count = int64_t(rows.size());
  const arrow::UInt32Array indices(count,
                                   arrow::Buffer::FromVector(std::move(rows)));
  return take_arrow(
      arrow::compute::Take(*from.all().column(column), indices),
      errc::invalid_data,
      "column '" + printable(from.all().schema()->field(column)->name()) + "'");
}

std::shared_ptr<arrow::Array> labels_of(const labelled_table& from,
                                        std::span<const made_row> rows) {
  std::vector<uint32_t> examples;
  for (const made_row& one : rows)
    examples.push_back(from.example(one.of_class));
  return cells_of(from, from.label(), std::move(examples));
}

/// Made rows [first, first + count).
std::shared_ptr<arrow::RecordBatch>
made_batch(const labelled_table& from, const resampled_rows& all, size_t first,
           size_t some, const std::shared_ptr<arrow::Schema>& schema) {
  const auto rows = std::span<const made_row>(all.made).subspan(first, some);
  const double* values = all.values.data() + first * from.columns().size();
  const uint32_t* codes =
      all.codes.data() + first * from.categories().columns().size();
  const std::vector<int>& columns = from.columns();
  const auto count = int64_t(rows.size());
  arrow::ArrayVector out(size_t(from.all().num_columns()));
  const auto target = all.targets.begin() + std::ptrdiff_t(first);
  out[size_t(from.label())] =
      all.targets.empty() ? labels_of(from, rows)
                          : typed({target, target + std::ptrdiff_t(some)},
                                  *schema->field(from.label()));
  for (size_t c = 0; c < columns.size(); ++c) {
    std::vector<double> numbers(rows.size());
    for (size_t i = 0; i < rows.size(); ++i)
      numbers[i] = values[i * columns.size() + c];
    out[size_t(columns[c])] =
        typed(std::move(numbers), *schema->field(columns[c]));
  }
  const std::vector<int>& categories = from.categories().columns();
  for (size_t c = 0; c < categories.size(); ++c) {
    std::vector<uint32_t> examples(rows.size());
    for (size_t i = 0; i < rows.size(); ++i)
      examples[i] =
          from.categories().example(c, codes[i * categories.size() + c]);
    out[size_t(categories[c])] =
        cells_of(from, categories[c], std::move(examples));
  }
  if (schema->num_fields() > from.all().num_columns())
    out.push_back(take_arrow(arrow::MakeArrayOfNull(arrow::int64(), count),
                             errc::device_failed, source_column));
  return arrow::RecordBatch::Make(schema, count, std::move(out));
}

} // namespace

std::shared_ptr<arrow::Schema> resampled_schema(const labelled_table& from,
                                                bool with_source) {
  std::shared_ptr<arrow::Schema> schema = from.all().schema();
  if (!with_source)
    return schema;
  if (schema->GetFieldIndex(source_column) >= 0)
    throw ballast_error(errc::usage,
                        std::string("--with-source: there is a column '") +
                            source_column + "' already; rename it first");
  return take_arrow(
      schema->AddField(schema->num_fields(),
                       arrow::field(source_column, arrow::int64())),
      errc::internal, source_column);
}

std::vector<std::shared_ptr<arrow::RecordBatch>>
resampled_batches(const labelled_table& from, const resampled_rows& rows,
                  bool with_source) {
  const std::shared_ptr<arrow::Schema> schema =
      resampled_schema(from, with_source);
  operator_context context;
  context.name = "resample";
  std::vector<std::shared_ptr<arrow::RecordBatch>> out;
  const std::span<const uint32_t> kept = rows.kept;
  for (size_t i = 0, count = 0; i < kept.size(); i += count) {
    const size_t run = run_of(kept.subspan(i));
    count = run >= rows_of_a_slice ? run
                                   : std::min(rows_of_a_batch, kept.size() - i);
    const auto some = kept.subspan(i, count);
    const auto taken_rows = run >= rows_of_a_slice
                                ? from.batch()->Slice(some[0], int64_t(count))
                                : taken(from.batch(), some, context);
    arrow::ArrayVector columns = taken_rows->columns();
    if (with_source)
      columns.push_back(sources_of(some));
    out.push_back(arrow::RecordBatch::Make(schema, int64_t(some.size()),
                                           std::move(columns)));
  }
  for (size_t i = 0; i < rows.made.size(); i += rows_of_a_batch)
    out.push_back(made_batch(from, rows, i,
                             std::min(rows_of_a_batch, rows.made.size() - i),
                             schema));
  return out;
}

} // namespace ballast::data
