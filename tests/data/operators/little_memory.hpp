/// How much an operator holds, and that it gives the same in little memory.
#pragma once

#include "tests/data/operators/operator_tester.hpp"

namespace ballast::data {

/// The most that Arrow's pool held while a stream was read, beyond what it held
/// before.
class memory_seen {
public:
  memory_seen() : before_(arrow::default_memory_pool()->bytes_allocated()) {}
  void look() {
    most_ = std::max(most_,
                     arrow::default_memory_pool()->bytes_allocated() - before_);
  }
  int64_t most() const { return most_; }

private:
  int64_t before_;
  int64_t most_ = 0;
};

/// An operator, which `make` makes of a stream and a context, gives `expected`
/// row by row with 1 MiB, and keeps to it.
template <class Make>
void expect_in_little_memory(const std::shared_ptr<arrow::RecordBatch>& rows,
                             const arrow::RecordBatch& expected,
                             const Make& make, int64_t rows_at_once = 4096) {
  const spill_folder folder;
  memory_seen memory;
  auto from = std::make_unique<batches_stream>(rows, rows_at_once);
  from->before_next = [&](int64_t) { memory.look(); };
  const auto made = make(std::move(from), folder.context(1 << 20));
  int64_t at = 0;
  while (const auto batch = made->next()) {
    memory.look();
    ASSERT_TRUE(same_rows(*batch, *expected.Slice(at, batch->num_rows())))
        << "from row " << at;
    at += batch->num_rows();
  }
  EXPECT_EQ(at, expected.num_rows());
  EXPECT_LT(memory.most(), 3 << 19) << "bytes";
}

} // namespace ballast::data
