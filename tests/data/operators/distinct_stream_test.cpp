// Goal: the first of each kind of row stays, in the order of the input, the
// same whether the keys fit into memory or not. Method: tables, random rows
// against a search from the first row on, and 50 MB with 1 MiB of memory.
#include "data/operators/distinct_stream.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "tests/data/operators/little_memory.hpp"
#include "tests/data/operators/made_up_rows.hpp"

#include <map>
#include <stop_token>

namespace ballast::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> first_rows(const arrow::RecordBatch& rows,
                                const std::vector<std::string>& on) {
  std::map<std::vector<std::string>, int64_t> seen;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < rows.num_rows(); ++i) {
    std::vector<std::string> key;
    for (const std::string& name : on) {
      const cell one = cell_at(*rows.GetColumnByName(name), i);
      key.push_back(std::to_string(one.rank) + std::to_string(one.number) +
                    one.text);
    }
    if (seen.emplace(key, i).second)
      out.push_back(i);
  }
  return out;
}

TEST(distinct_stream, keeps_the_first_row_of_each) {
  const spill_folder folder;
  const auto rows = rows_of(
      {arrow::field("n", arrow::float64()), arrow::field("t", arrow::utf8())},
      R"([{"n":0,"t":"a"},{"n":null,"t":"a"},
                                {"n":-0.0,"t":"b"},{"n":null,"t":"a"},
                                {"n":0,"t":"a"}])");
  EXPECT_THAT(
      lines_of(*all_of(distinct_rows(stream_of(rows), {}, folder.context()))),
      ElementsAre("0 a 0", "null a 1", "-0 b 2"))
      << "by all columns but the origin";
  EXPECT_THAT(lines_of(*all_of(
                  distinct_rows(stream_of(rows), {"n"}, folder.context()))),
              ElementsAre("0 a 0", "null a 1"))
      << "-0.0 equals 0.0, null equals null";
}

TEST(distinct_stream, compares_columns_that_nobody_chose) {
  const spill_folder folder;
  const auto rows = rows_of(
      {arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8())},
      R"([{"n":2,"t":"b"},{"n":2,"t":"a"},{"n":3,"t":"b"}])");
  for (const uint64_t memory : {uint64_t{1}, uint64_t{1} << 30}) {
    const auto one =
        distinct_rows(stream_of(rows, 1), {"n"}, folder.context(memory));
    one->choose({1});
    EXPECT_THAT(lines_of(*all_of(one)), ElementsAre("b", "b"));
    const auto all = distinct_rows(stream_of(rows), {}, folder.context(memory));
    all->choose({});
    EXPECT_EQ(all->next()->num_rows(), 3);
  }
}

TEST(distinct_stream, leaves_out_what_is_in_a_second_input) {
  const spill_folder folder;
  const auto rows = rows_of(
      {arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8())},
      R"([{"n":1,"t":"a"},{"n":2,"t":"b"},{"n":2,"t":"b"},{"n":3,"t":"c"},
          {"n":null,"t":"d"}])");
  const auto others = rows_of(
      {arrow::field("t", arrow::utf8()), arrow::field("n", arrow::int64())},
      R"([{"t":"z","n":3},{"t":"z","n":3},{"t":"z","n":null},{"t":"z","n":9}])");
  for (const uint64_t memory : {uint64_t{1}, uint64_t{1} << 30})
    EXPECT_THAT(lines_of(*all_of(distinct_rows(stream_of(rows, 2), {"n"},
                                               folder.context(memory),
                                               stream_of(others, 1)))),
                ElementsAre("1 a 0", "2 b 1"))
        << memory << " bytes";
  try {
    distinct_rows(
        stream_of(rows), {"t"}, folder.context(),
        stream_of(rows_of({arrow::field("t", arrow::int64())}, "[]")));
    FAIL() << "of another type";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("/data/graph/2/on: column 't' is string "
                          "in the first input and int64 in the "
                          "second"));
  }
}

TEST(distinct_stream, agrees_with_a_search_for_two_inputs_in_little_memory) {
  const spill_folder folder;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    dice random(seed);
    const auto both = some_rows({arrow::int64(), arrow::utf8()},
                                2 + int64_t(random.below(3000)),
                                1 + random.below(900), random);
    const std::vector<std::string> on{both->schema()->field(0)->name()};
    const auto cut = int64_t(random.below(uint64_t(both->num_rows())));
    std::vector<int64_t> expected;
    for (const int64_t row : first_rows(*both, on))
      if (row >= cut)
        expected.push_back(row);
    for (const uint64_t memory : {uint64_t{1} << 14, uint64_t{1} << 28}) {
      const auto found = all_of(distinct_rows(
          stream_of(both->Slice(cut), int64_t(1 + random.below(400))), on,
          folder.context(memory), stream_of(both->Slice(0, cut), 100)));
      EXPECT_TRUE(same_rows(*found, *picked(both, expected)))
          << "seed " << seed << ", " << memory << " bytes";
    }
  }
}

TEST(distinct_stream, of_no_rows_has_none) {
  const spill_folder folder;
  const auto none = rows_of({arrow::field("n", arrow::int64())}, "[]");
  EXPECT_EQ(distinct_rows(stream_of(none), {}, folder.context())->next(),
            nullptr);
}

TEST(distinct_stream, refuses_a_column_that_is_not_there) {
  const spill_folder folder;
  const auto rows = rows_of({arrow::field("user", arrow::int64())}, "[]");
  try {
    distinct_rows(stream_of(rows), {"usr"}, folder.context());
    FAIL() << "no error";
  } catch (const ballast_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'user'?"));
    EXPECT_EQ(e.what_failed().pointer, "/data/graph/2");
  }
}

TEST(distinct_stream, agrees_with_a_search_in_random_rows) {
  const spill_folder folder;
  const arrow::DataTypeVector types = {
      arrow::int64(),   arrow::float64(),
      arrow::utf8(),    arrow::boolean(),
      arrow::float32(), arrow::dictionary(arrow::int32(), arrow::utf8()),
      arrow::uint8(),   arrow::int32()};
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    dice random(seed);
    const auto rows = some_rows(types, int64_t(random.below(3000)),
                                1 + random.below(400), random);
    std::vector<std::string> on;
    std::vector<std::string> names = rows->schema()->field_names();
    for (uint64_t k = 0; k <= random.below(3); ++k) {
      const size_t at = random.below(names.size() - 1); // no origin
      on.push_back(names[at]);
      names.erase(names.begin() + int64_t(at));
    }
    const auto expected = picked(plain(rows), first_rows(*plain(rows), on));
    EXPECT_TRUE(same_rows(
        *all_of(distinct_rows(stream_of(rows, int64_t(1 + random.below(400))),
                              on, folder.context())),
        *expected))
        << "seed " << seed;
  }
}

TEST(distinct_stream, does_many_times_its_memory_on_disk) {
  const spill_folder folder;
  const auto rows = many_rows(700'000, 300'000);
  for (const std::vector<std::string>& on :
       {std::vector<std::string>{"a"}, {"c"}, {"a", "c"}, {}, {"b"}}) {
    const auto expected =
        all_of(distinct_rows(stream_of(rows), on, folder.context(1 << 30)));
    expect_in_little_memory(
        rows, *expected, [&](auto from, const operator_context& context) {
          return distinct_rows(std::move(from), on, context);
        });
  }
}

TEST(distinct_stream, of_a_single_key_needs_no_disk) {
  const spill_folder folder;
  ASSERT_STREQ(arm_fault_points("spill.open=enospc"), "");
  dice random(1);
  const auto rows = some_rows({arrow::uint8()}, 100'000, 1, random);
  EXPECT_EQ(all_of(distinct_rows(stream_of(rows), {"a"}, folder.context(1)))
                ->num_rows(),
            2);
  arm_fault_points("");
}

TEST(distinct_stream, says_that_the_disk_is_full_and_leaves_no_file) {
  const spill_folder folder;
  const auto rows = many_rows(60'000, 50'000);
  for (const char* point : {"spill.write=enospc@9", "spill.open=edquot@20"}) {
    ASSERT_STREQ(arm_fault_points(point), "");
    try {
      all_of(distinct_rows(stream_of(rows), {}, folder.context(1 << 18)));
      ADD_FAILURE() << "no error";
    } catch (const ballast_error& e) {
      EXPECT_EQ(e.what_failed().code, errc::disk_full);
    }
    arm_fault_points("");
    EXPECT_EQ(folder.files(), 0);
  }
}

TEST(distinct_stream, ends_soon_when_it_is_told_to) {
  const spill_folder folder;
  std::stop_source stop;
  operator_context context = folder.context(1 << 20);
  context.stop = stop.get_token();
  const auto distinct =
      distinct_rows(stream_of(many_rows(200'000, 150'000)), {"a"}, context);
  int batches = 0;
  try {
    while (distinct->next() != nullptr)
      if (++batches == 3)
        stop.request_stop();
    FAIL() << "no error";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::stopped);
    EXPECT_EQ(batches, 3);
  }
}

} // namespace
} // namespace ballast::data
