// Goal: a prefetch gives the same rows and the same error, is no further ahead
// than it was told, and ends whenever it is not wanted any more. Method: a
// stream that counts how far it was read, and waits where a test says so.
#include "data/operators/timed_stream.hpp"

#include "data/operators/kept_rows.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/operators/made_up_rows.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace ballast::data {
namespace {

class prefetch_test : public testing::Test {
protected:
  prefetch_test() {
    dice random(5);
    rows_ = some_rows({arrow::int64(), arrow::utf8()}, 40'000, 999, random);
  }
  /// Calls `look` with the number of batches that were read before.
  std::unique_ptr<record_stream> batches(std::function<void(int64_t)> look) {
    auto out = std::make_unique<batches_stream>(rows_, 1000);
    out->before_next = [look = std::move(look)](int64_t at) {
      look(at / 1000);
    };
    return out;
  }

  const spill_folder folder_;
  std::shared_ptr<arrow::RecordBatch> rows_;
};

TEST_F(prefetch_test, gives_the_rows_as_they_are) {
  for (const uint64_t ahead : {1, 4, 64})
    EXPECT_TRUE(same_rows(*all_of(prefetched_rows(stream_of(rows_, 1000), ahead,
                                                  folder_.context())),
                          *rows_));
  const auto some =
      prefetched_rows(stream_of(rows_, 1000), 4, folder_.context());
  some->choose({1});
  EXPECT_TRUE(all_of(some)->column(0)->Equals(rows_->column(1)));
}

TEST_F(prefetch_test, is_ahead_by_what_it_was_told_and_no_more) {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t read = 0;
  const auto ahead = prefetched_rows(batches([&](int64_t before) {
                                       const std::lock_guard lock(mutex);
                                       read = before;
                                       changed.notify_all();
                                     }),
                                     3, folder_.context());
  for (int64_t taken = 1; taken <= 30; ++taken) {
    ASSERT_NE(ahead->next(), nullptr);
    // So far it comes without being asked: three lie there, one more is read.
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return read >= taken + 3; });
    EXPECT_LE(read, taken + 4);
  }
}

TEST_F(prefetch_test, throws_an_error_behind_the_rows_before_it) {
  const auto ahead =
      prefetched_rows(batches([](int64_t before) {
                        if (before == 7)
                          throw ballast_error(errc::invalid_data, "row 7001");
                      }),
                      64, folder_.context());
  for (int i = 0; i < 7; ++i)
    ASSERT_NE(ahead->next(), nullptr);
  EXPECT_EQ(refusal_of([&] { ahead->next(); }), "row 7001");
}

TEST_F(prefetch_test, ends_when_nobody_wants_more) {
  for (const int64_t taken : {0, 1, 5}) {
    const auto ahead =
        prefetched_rows(stream_of(rows_, 1000), 2, folder_.context());
    for (int64_t i = 0; i < taken; ++i)
      ASSERT_NE(ahead->next(), nullptr);
  }
}

TEST_F(prefetch_test, reads_kept_rows_beside_another_reader) {
  for (const uint64_t memory : {uint64_t{1}, uint64_t{1} << 30}) {
    const auto kept = std::make_shared<kept_rows>(
        stream_of(rows_, 1000), folder_.context(memory), late_readers::none);
    const auto here = kept_rows::reader(kept);
    const auto ahead =
        prefetched_rows(kept_rows::reader(kept), 2, folder_.context());
    int64_t rows = 0;
    while (const auto one = here->next()) {
      const auto other = ahead->next();
      ASSERT_NE(other, nullptr);
      EXPECT_TRUE(same_rows(*one, *other));
      rows += one->num_rows();
    }
    EXPECT_EQ(ahead->next(), nullptr);
    EXPECT_EQ(rows, rows_->num_rows());
  }
}

TEST(cache, gives_the_rows_as_they_are) {
  const spill_folder folder;
  dice random(5);
  const auto rows = some_rows({arrow::int64()}, 5000, 99, random);
  const auto cached = cached_rows(stream_of(rows), folder.context());
  EXPECT_TRUE(same_rows(*all_of(cached), *rows));
}

} // namespace
} // namespace ballast::data
