#include "data/source/batch_slices.hpp"

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/util/byte_size.h>

namespace ballast::data {

void batch_slices::add(const std::shared_ptr<arrow::RecordBatch>& rows) {
  if (rows->num_rows() > 0)
    cut(rows);
}

// In halves, because rows may differ in size.
void batch_slices::cut(const std::shared_ptr<arrow::RecordBatch>& rows) {
  const int64_t bytes = arrow::util::ReferencedBufferSize(*rows).ValueOr(
      arrow::util::TotalBufferSize(*rows));
  if (bytes <= bytes_max_ || rows->num_rows() == 1) {
    slices_.push_back(rows);
    return;
  }
  const int64_t half = rows->num_rows() / 2;
  cut(rows->Slice(0, half));
  cut(rows->Slice(half));
}

std::shared_ptr<arrow::RecordBatch> batch_slices::next() {
  if (slices_.empty())
    return nullptr;
  std::shared_ptr<arrow::RecordBatch> out = std::move(slices_.front());
  slices_.pop_front();
  before_ = rows_;
  rows_ += out->num_rows();
  return out;
}

} // namespace ballast::data
