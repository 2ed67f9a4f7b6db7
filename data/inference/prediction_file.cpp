#include "data/inference/prediction_file.hpp"

#include "data/base/arrow_support.hpp"
#include "data/sink/partial_path.hpp"
#include "data/sink/record_writer.hpp"
#include "runtime/base/errors.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ballast::data {

namespace {

using array_pointer = std::shared_ptr<arrow::Array>;

template <class Builder>
array_pointer finished(Builder& builder) {
  return take_arrow(builder.Finish(), errc::internal, "a column of answers");
}

void add_to(const arrow::Status& status) {
  check_arrow(status, errc::internal, "a column of answers");
}

std::shared_ptr<arrow::Schema> schema_of(const trained_run& of) {
  arrow::FieldVector fields{arrow::field("row", arrow::int64(), false)};
  if (of.row.classes == 0)
    fields.push_back(arrow::field("value", arrow::float32(), false));
  else
    fields.push_back(arrow::field(
        "prediction", of.class_names.empty() ? arrow::int64() : arrow::utf8(),
        false));
  if (!has_probabilities(of.what.train.loss) && of.row.classes > 0)
    fields.push_back(arrow::field("score", arrow::float32(), false));
  else
    for (size_t i = 0; i < of.row.classes; ++i)
      fields.push_back(
          arrow::field("p_" + of.name_of_class(i), arrow::float32(), false));
  return arrow::schema(std::move(fields));
}

} // namespace

struct prediction_file::parts {
  parts(std::filesystem::path place, const trained_run& run)
      : of(run), classes(run.row.classes),
        columns(has_probabilities(run.what.train.loss) ? classes : 1),
        schema(schema_of(run)),
        made(std::move(place), partial_path::kind::file),
        writer(open_writer(made.place(), made.path(), schema)) {}

  array_pointer rows(size_t count) {
    arrow::Int64Builder out;
    add_to(out.Reserve(int64_t(count)));
    for (size_t i = 0; i < count; ++i)
      out.UnsafeAppend(int64_t(next + i));
    return finished(out);
  }

  array_pointer numbers(const std::vector<float>& answers,
                        size_t column) const {
    arrow::FloatBuilder out;
    add_to(out.Reserve(int64_t(answers.size() / columns)));
    for (size_t at = column; at < answers.size(); at += columns)
      out.UnsafeAppend(answers[at]);
    return finished(out);
  }

  size_t likeliest(const std::vector<float>& answers, size_t row) const {
    const float* first = answers.data() + row * columns;
    if (columns < classes) // a score
      return *first > 0 ? 1 : 0;
    return size_t(std::max_element(first, first + columns) - first);
  }

  array_pointer predictions(const std::vector<float>& answers,
                            size_t count) const {
    if (of.class_names.empty()) {
      arrow::Int64Builder out;
      for (size_t row = 0; row < count; ++row)
        add_to(out.Append(int64_t(likeliest(answers, row))));
      return finished(out);
    }
    arrow::StringBuilder out;
    for (size_t row = 0; row < count; ++row)
      add_to(out.Append(of.class_names.at(likeliest(answers, row))));
    return finished(out);
  }

  const trained_run& of;
  const size_t classes; // 0: a regression
  const size_t columns; // of numbers
  const std::shared_ptr<arrow::Schema> schema;
  partial_path made;
  const std::unique_ptr<record_writer> writer;
  uint64_t next = 0; // row
};

void prediction_file::check(const std::filesystem::path& place) {
  partial_path::remove_left_over(place);
  check_writable(place);
}

prediction_file::prediction_file(std::filesystem::path place,
                                 const trained_run& of)
    : parts_(std::make_unique<parts>(std::move(place), of)) {}

prediction_file::~prediction_file() = default;

void prediction_file::add(const std::vector<float>& answers) {
  parts& all = *parts_;
  const size_t count = answers.size() / all.columns;
  if (count == 0)
    return;
  arrow::ArrayVector out{all.rows(count)};
  if (all.classes > 0)
    out.push_back(all.predictions(answers, count));
  for (size_t column = 0; column < all.columns; ++column)
    out.push_back(all.numbers(answers, column));
  all.writer->write(
      arrow::RecordBatch::Make(all.schema, int64_t(count), std::move(out)));
  all.next += count;
}

void prediction_file::publish() {
  parts_->writer->finish();
  partial_path::publish({&parts_->made});
}

} // namespace ballast::data
