#include "data/operators/map_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/ordered_work.hpp"
#include "data/operators/operator_call.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/row_batches.hpp"
#include "data/operators/user_library.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

constexpr int64_t repeated_bytes_max = int64_t{1} << 30;

/// A column of the output: one that came in, or one that the operator made.
struct mapped_column {
  int input = -1;
  int made = -1;
};

class map_stream final : public operator_stream {
public:
  map_stream(stream_pointer from, map_terms terms, operator_context context)
      : operator_stream(std::move(context)), terms_(std::move(terms)),
        in_(std::move(from), this->context()) {
    const std::string& pointer = this->context().pointer;
    const user_library& library = user_library::load(terms_.library, pointer);
    const ballast_operator& what =
        library.find(terms_.function, terms_.library, pointer);
    arrow::FieldVector given;
    for (const std::string& name : names_given()) {
      given_.push_back(find_column(*in_.schema(), name, pointer + "/columns"));
      given.push_back(in_.schema()->field(given_.back()));
    }
    given_schema_ = arrow::schema(std::move(given));
    call_ = std::make_unique<operator_call>(
        what, terms_.library, terms_.options, given_schema_, this->context());
    set_schema(plain_schema(schema_of_output()));
  }

protected:
  void begin(const std::vector<int>& columns) override {
    const int origin = in_.schema()->num_fields() - 1;
    std::vector<int> place;
    std::vector<int> read = with_keys({}, given_, given_at_);
    read = with_keys(std::move(read), {origin}, place);
    origin_at_ = place[0];
    for (int column : columns) {
      const mapped_column& one = columns_[size_t(column)];
      if (one.made < 0) {
        read = with_keys(std::move(read), {one.input}, place);
        kept_at_.push_back(place[0]);
      }
      wanted_.push_back(
          {one.made < 0 ? int(kept_at_.size()) - 1 : -1, one.made});
    }
    in_.choose(read);
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    return take_arrow(pieces_.next([this] { return mapped(); }),
                      errc::invalid_data, printable(context().name));
  }

private:
  using rows_pointer = std::shared_ptr<arrow::RecordBatch>;

  std::vector<std::string> names_given() const {
    if (!terms_.columns.empty())
      return terms_.columns;
    return without_origin(*in_.schema())->field_names();
  }

  std::shared_ptr<arrow::Schema> schema_of_output() {
    const arrow::Schema& made = *call_->output();
    const int origin = in_.schema()->num_fields() - 1;
    arrow::FieldVector fields;
    std::vector<bool> placed(size_t(made.num_fields()));
    for (int i = 0; terms_.keep && i < origin; ++i) {
      const auto& field = in_.schema()->field(i);
      const int instead = made.GetFieldIndex(field->name());
      if (instead >= 0)
        placed[size_t(instead)] = true;
      columns_.push_back({instead < 0 ? i : -1, instead});
      fields.push_back(instead < 0 ? field : made.field(instead));
    }
    for (int i = 0; i < made.num_fields(); ++i)
      if (!placed[size_t(i)]) {
        columns_.push_back({-1, i});
        fields.push_back(made.field(i));
      }
    columns_.push_back({origin, -1});
    fields.push_back(in_.schema()->field(origin));
    return arrow::schema(std::move(fields));
  }

  /// Null at the end of the input.
  rows_pointer given() {
    if (large_ == nullptr) {
      large_ = in_.next();
      large_at_ = 0;
    }
    if (large_ == nullptr)
      return nullptr;
    rows_pointer out = large_->Slice(large_at_, int64_t(terms_.rows));
    large_at_ += out->num_rows();
    if (large_at_ == large_->num_rows())
      large_ = nullptr;
    return out;
  }

  /// What comes of the next rows, which may be none; null at the end.
  rows_pointer mapped() {
    const size_t threads = terms_.threads > 0 ? terms_.threads : work_threads();
    if (!call_->concurrent() || threads == 1) {
      const rows_pointer rows = given();
      return rows == nullptr ? nullptr : made_of(rows, count(*rows));
    }
    if (!work_)
      work_.emplace(threads, "bl-operator");
    while (!all_given_ && work_->under_way() < work_->wanted()) {
      const rows_pointer rows = given();
      all_given_ = rows == nullptr;
      if (rows != nullptr)
        work_->give([this, rows, first = count(*rows)] {
          return made_of(rows, first);
        });
    }
    return work_->under_way() == 0 ? nullptr : work_->take();
  }

  /// Of the first of these rows, in what came in.
  int64_t count(const arrow::RecordBatch& rows) {
    return std::exchange(rows_in_, rows_in_ + rows.num_rows());
  }

  std::string place_in(const arrow::RecordBatch& rows, int64_t first,
                       int64_t row) const {
    if (context().origins == nullptr)
      return "row " + std::to_string(first + row + 1);
    return context().origins->place_of(
        numbers_in(rows, origin_at_)[size_t(row)]);
  }

  /// Any thread.
  rows_pointer made_of(const rows_pointer& rows, int64_t first) const {
    arrow::ArrayVector given;
    for (int place : given_at_)
      given.push_back(rows->column(place));
    const operator_call::made made =
        call_->apply(*arrow::RecordBatch::Make(given_schema_, rows->num_rows(),
                                               std::move(given)),
                     [&](int64_t row) { return place_in(*rows, first, row); });
    const rows_pointer kept = repeated(rows, made.from);
    arrow::ArrayVector out;
    arrow::FieldVector fields;
    for (const mapped_column& one : wanted_) {
      out.push_back(one.made < 0 ? kept->column(one.input)
                                 : made.rows->column(one.made));
      fields.push_back(arrow::field("", out.back()->type()));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                    made.rows->num_rows(), std::move(out));
  }

  /// The columns that go on, of these rows.
  rows_pointer repeated(const rows_pointer& rows,
                        const std::vector<uint32_t>& from) const {
    const rows_pointer kept =
        take_arrow(rows->SelectColumns(kept_at_), errc::internal,
                   printable(context().name));
    if (row_meter(*kept).that_fit(from, int64_t(from.size()),
                                  repeated_bytes_max) < from.size())
      throw source_error(context().pointer + ": " + printable(context().name) +
                             " makes " + std::to_string(from.size()) +
                             " rows of " + std::to_string(rows->num_rows()) +
                             ", which have more than 1 GiB with the columns "
                             "that go on beside them; say fewer \"rows\", or "
                             "drop columns before",
                         context().pointer, "");
    return taken(kept, from, context());
  }

  const map_terms terms_;
  operator_input in_;
  std::vector<int> given_; // columns of the input
  std::shared_ptr<arrow::Schema> given_schema_;
  std::unique_ptr<const operator_call> call_;
  std::vector<mapped_column> columns_; // of the output
  // Where they are in what is read.
  std::vector<int> given_at_;
  std::vector<int> kept_at_;
  int origin_at_ = 0;
  std::vector<mapped_column> wanted_; // `input`: in kept_at_
  rows_pointer large_;                // is given in parts
  int64_t large_at_ = 0;
  int64_t rows_in_ = 0;
  bool all_given_ = false;
  batch_pieces pieces_;
  std::optional<ordered_work<rows_pointer>> work_; // ends first
};

} // namespace

stream_pointer map_rows(stream_pointer from, const map_terms& terms,
                        operator_context context) {
  return std::make_unique<map_stream>(std::move(from), terms,
                                      std::move(context));
}

} // namespace ballast::data
