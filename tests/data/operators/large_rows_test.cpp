// Goal: rows that are larger than an operator's memory, many files, and batches
// of all sizes change nothing. Method: every operator, with little memory, on
// such rows, against the same with much.
#include "data/operators/distinct_stream.hpp"
#include "data/operators/join_stream.hpp"
#include "data/operators/shuffle_stream.hpp"
#include "data/operators/sort_stream.hpp"

#include "tests/data/operators/made_up_rows.hpp"
#include "tests/data/operators/operator_tester.hpp"

#include <functional>
#include <sys/resource.h>

namespace ballast::data {
namespace {

using make_operator = std::function<std::unique_ptr<record_stream>(
    std::unique_ptr<record_stream>, operator_context)>;

/// `other`: the right side of joins.
std::vector<std::pair<std::string, make_operator>>
operators(const std::shared_ptr<arrow::RecordBatch>& other) {
  std::vector<std::pair<std::string, make_operator>> out = {
      {"sort",
       [](auto from, auto context) {
         return sort_rows(std::move(from), {{"t", true}, {"n"}}, context);
       }},
      {"distinct",
       [](auto from, auto context) {
         return distinct_rows(std::move(from), {"t"}, context);
       }},
      {"shuffle", [](auto from, auto context) {
         return shuffle_rows(std::move(from), context);
       }}};
  for (const join_kind kind :
       {join_kind::inner, join_kind::full, join_kind::semi, join_kind::anti})
    out.emplace_back("join " + std::to_string(int(kind)),
                     [other, kind](auto from, auto context) {
                       return join_rows(std::move(from), stream_of(other, 3),
                                        {kind, {"t"}, {}}, context);
                     });
  return out;
}

/// n: some number, t: a text of up to `longest` bytes.
std::shared_ptr<arrow::RecordBatch> texts(int64_t rows, uint64_t longest,
                                          uint64_t kinds, uint64_t seed) {
  dice random(seed);
  arrow::Int32Builder numbers;
  arrow::StringBuilder builder;
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_TRUE(numbers.Append(int32_t(random.below(3))).ok());
    const uint64_t kind = random.below(kinds);
    EXPECT_TRUE(builder
                    .Append(std::string(longest * kind / kinds, 'x') +
                            std::to_string(kind))
                    .ok());
  }
  return with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("n", arrow::int32()),
                     arrow::field("t", arrow::utf8())}),
      rows, {numbers.Finish().ValueOrDie(), builder.Finish().ValueOrDie()}));
}

void expect_same(const std::shared_ptr<arrow::RecordBatch>& rows,
                 const std::shared_ptr<arrow::RecordBatch>& other,
                 uint64_t memory, int64_t rows_at_once) {
  const spill_folder folder;
  for (const auto& [name, make] : operators(other))
    EXPECT_TRUE(same_rows(
        *all_of(make(stream_of(rows, rows_at_once), folder.context(memory))),
        *all_of(make(stream_of(rows), folder.context(1 << 30)))))
        << name;
}

TEST(large_rows, may_be_larger_than_the_memory) {
  expect_same(texts(60, 1 << 20, 40, 1), texts(40, 1 << 20, 40, 2), 1, 7);
}

TEST(large_rows, differ_in_size) {
  expect_same(texts(3000, 4000, 2000, 1), texts(2000, 4000, 2000, 2), 1 << 18,
              100);
}

TEST(large_rows, come_in_batches_of_one) {
  expect_same(texts(3000, 100, 500, 1), texts(2000, 100, 500, 2), 1, 1);
}

TEST(large_rows, need_few_open_files) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  // Some hundred runs.
  expect_same(texts(60'000, 500, 50'000, 1), texts(30'000, 500, 50'000, 2), 1,
              1000);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

} // namespace
} // namespace ballast::data
