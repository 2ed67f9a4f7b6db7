#include "data/operators/counted_stream.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

class limit_stream final : public operator_stream {
public:
  limit_stream(stream_pointer from, uint64_t rows, uint64_t skip,
               operator_context context)
      : operator_stream(std::move(context)), from_(std::move(from)),
        skip_(skip), left_(rows) {
    set_schema(from_->schema());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    from_->choose(columns);
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    while (left_ > 0) {
      const std::shared_ptr<arrow::RecordBatch> rows = from_->next();
      if (rows == nullptr)
        return nullptr;
      const auto count = uint64_t(rows->num_rows());
      const uint64_t out = std::min(skip_, count);
      skip_ -= out;
      const uint64_t taken = std::min(left_, count - out);
      left_ -= taken;
      if (taken > 0)
        return rows->Slice(int64_t(out), int64_t(taken));
    }
    return nullptr;
  }

private:
  const stream_pointer from_;
  uint64_t skip_;
  uint64_t left_;
};

class repeat_stream final : public operator_stream {
public:
  repeat_stream(stream_pointer from, stream_maker again, uint64_t times,
                operator_context context)
      : operator_stream(std::move(context)), again_(std::move(again)),
        from_(std::move(from)), left_(times) {
    set_schema(from_->schema());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    columns_ = columns;
    from_->choose(columns_);
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    while (true) {
      if (std::shared_ptr<arrow::RecordBatch> rows = from_->next()) {
        is_empty_ = false;
        return rows;
      }
      if (--left_ == 0 || is_empty_)
        return nullptr;
      from_ = nullptr; // its files are closed first
      from_ = again_();
      from_->choose(columns_);
    }
  }

private:
  const stream_maker again_;
  stream_pointer from_;
  uint64_t left_;
  bool is_empty_ = true;
  std::vector<int> columns_;
};

} // namespace

stream_pointer limit_rows(stream_pointer from, uint64_t rows, uint64_t skip,
                          operator_context context) {
  return std::make_unique<limit_stream>(std::move(from), rows, skip,
                                        std::move(context));
}

stream_pointer repeat_rows(stream_pointer from, stream_maker again,
                           uint64_t times, operator_context context) {
  return std::make_unique<repeat_stream>(std::move(from), std::move(again),
                                         times, std::move(context));
}

} // namespace ballast::data
