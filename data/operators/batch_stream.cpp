#include "data/base/arrow_support.hpp"
#include "data/operators/flat_stream.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/row_batches.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <limits>
#include <utility>

namespace ballast::data {

namespace {

class batch_stream final : public operator_stream {
public:
  batch_stream(stream_pointer from, uint64_t rows, bool drop_rest,
               operator_context context)
      : operator_stream(std::move(context)),
        in_(std::move(from), this->context()), rows_(int64_t(rows)),
        drop_rest_(drop_rest) {
    arrow::FieldVector fields = in_.schema()->fields();
    for (size_t i = 0; i + 1 < fields.size(); ++i)
      fields[i] =
          arrow::field(fields[i]->name(), arrow::list(fields[i]->type()));
    set_schema(arrow::schema(std::move(fields)));
  }

protected:
  void begin(const std::vector<int>& columns) override {
    for (int column : columns)
      is_origin_.push_back(column + 1 == in_.schema()->num_fields());
    in_.choose(columns);
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    while (!ended_ && held_rows_ < rows_) {
      const std::shared_ptr<arrow::RecordBatch> rows = in_.next();
      ended_ = rows == nullptr;
      if (rows != nullptr)
        hold(rows);
    }
    const int64_t whole = held_rows_ / rows_;
    const int64_t all =
        whole + (ended_ && !drop_rest_ && held_rows_ % rows_ > 0 ? 1 : 0);
    return all == 0 ? nullptr : batches(all);
  }

private:
  void hold(const std::shared_ptr<arrow::RecordBatch>& rows) {
    held_rows_ += rows->num_rows();
    held_bytes_ += bytes_of(*rows);
    held_.push_back(rows);
    // Of one row of the output; what came last may hold the next ones, too.
    if (held_bytes_ > memory_of(context()) && held_rows_ < rows_)
      throw ballast_error(errc::invalid_data,
                          context().pointer + "/rows: the first " +
                              std::to_string(held_rows_) + " of " +
                              std::to_string(rows_) + " rows of a batch of '" +
                              printable(context().name) + "' have more than " +
                              std::to_string(memory_of(context()) >> 20) +
                              " MiB; expected fewer rows",
                          context().pointer + "/rows");
  }

  /// So many, of the rows that are held.
  std::shared_ptr<arrow::RecordBatch> batches(int64_t count) {
    const auto rows =
        together(in_.chosen(), std::exchange(held_, {}), context());
    const int64_t used = std::min(count * rows_, rows->num_rows());
    arrow::Int32Builder ends;
    row_indices firsts;
    const auto put = [this](const arrow::Status& status) {
      check_arrow(status, errc::device_failed, printable(context().name));
    };
    for (int64_t i = 0; i < count; ++i) {
      firsts.push_back(uint32_t(i * rows_));
      put(ends.Append(int32_t(i * rows_)));
    }
    put(ends.Append(int32_t(used)));
    const auto offsets = take_arrow(ends.Finish(), errc::device_failed,
                                    printable(context().name));
    const auto first = taken(rows, firsts, context());
    arrow::ArrayVector out;
    arrow::FieldVector fields;
    for (int i = 0; i < rows->num_columns(); ++i) {
      const auto values = rows->column(i)->Slice(0, used);
      out.push_back(
          is_origin_[size_t(i)]
              ? first->column(i)
              : take_arrow(arrow::ListArray::FromArrays(*offsets, *values),
                           errc::invalid_data, printable(context().name)));
      fields.push_back(arrow::field("", out.back()->type()));
    }
    held_rows_ = rows->num_rows() - used;
    held_bytes_ = 0;
    if (held_rows_ > 0) {
      held_.push_back(rows->Slice(used));
      held_bytes_ = bytes_of(*held_.back());
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), count,
                                    std::move(out));
  }

  operator_input in_;
  const int64_t rows_; // of a batch
  const bool drop_rest_;
  std::vector<bool> is_origin_; // by column that is read
  std::vector<std::shared_ptr<arrow::RecordBatch>> held_;
  int64_t held_rows_ = 0;
  int64_t held_bytes_ = 0;
  bool ended_ = false;
};

} // namespace

stream_pointer batched_rows(stream_pointer from, uint64_t rows, bool drop_rest,
                            operator_context context) {
  return std::make_unique<batch_stream>(std::move(from), rows, drop_rest,
                                        std::move(context));
}

} // namespace ballast::data
