// Goal: rows come in the order of their keys, equal ones as they came, the same
// whether they fit into memory or not. Method: tables, random rows against
// std::stable_sort, and 50 MB with 1 MiB of memory.
#include "data/operators/sort_stream.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "tests/data/operators/little_memory.hpp"
#include "tests/data/operators/made_up_rows.hpp"

#include <numeric>
#include <stop_token>

namespace ballast::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> reference_order(const arrow::RecordBatch& rows,
                                     const std::vector<sort_key>& by) {
  std::vector<std::vector<cell>> cells;
  for (const sort_key& key : by) {
    cells.emplace_back();
    for (int64_t i = 0; i < rows.num_rows(); ++i)
      cells.back().push_back(cell_at(*rows.GetColumnByName(key.column), i));
  }
  std::vector<int64_t> out(size_t(rows.num_rows()));
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(), [&](int64_t a, int64_t b) {
    for (size_t k = 0; k < by.size(); ++k) {
      const cell& x = cells[k][size_t(a)];
      const cell& y = cells[k][size_t(b)];
      if (x.rank != y.rank)
        return x.rank < y.rank;
      if (x == y)
        continue;
      const bool less =
          x.number != y.number ? x.number < y.number : x.text < y.text;
      return by[k].descending ? !less : less;
    }
    return false;
  });
  return out;
}

TEST(sort_stream, puts_rows_in_order) {
  const spill_folder folder;
  const auto rows = rows_of(
      {arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8())},
      R"([{"n":3,"t":"c"},{"n":-1,"t":"a"},
                                {"n":null,"t":"n"},{"n":3,"t":"b"}])");
  EXPECT_THAT(
      lines_of(*all_of(sort_rows(stream_of(rows), {{"n"}}, folder.context()))),
      ElementsAre("-1 a 1", "3 c 0", "3 b 3", "null n 2"));
  EXPECT_THAT(lines_of(*all_of(
                  sort_rows(stream_of(rows), {{"n", true}}, folder.context()))),
              ElementsAre("3 c 0", "3 b 3", "-1 a 1", "null n 2"))
      << "equal rows stay in order, nulls last";
  EXPECT_THAT(lines_of(*all_of(sort_rows(stream_of(rows), {{"n", true}, {"t"}},
                                         folder.context()))),
              ElementsAre("3 b 3", "3 c 0", "-1 a 1", "null n 2"));
}

TEST(sort_stream, hands_out_the_columns_that_are_chosen) {
  const spill_folder folder;
  const auto rows = rows_of(
      {arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8())},
      R"([{"n":2,"t":"b"},{"n":1,"t":"a"}])");
  const auto sorted = sort_rows(stream_of(rows), {{"n"}}, folder.context());
  sorted->choose({2, 1, 2});
  const auto out = sorted->next();
  EXPECT_THAT(lines_of(*out), ElementsAre("1 a 1", "0 b 0"));
  EXPECT_EQ(sorted->place_of(1), "the node: row 2");
  EXPECT_EQ(sorted->next(), nullptr);

  const auto counted = sort_rows(stream_of(rows), {{"n"}}, folder.context());
  counted->choose({});
  EXPECT_EQ(counted->next()->num_rows(), 2) << "no column, but its rows";
}

TEST(sort_stream, of_no_rows_has_none) {
  const spill_folder folder;
  const auto none = rows_of({arrow::field("n", arrow::int64())}, "[]");
  const auto sorted = sort_rows(stream_of(none), {{"n"}}, folder.context());
  EXPECT_EQ(sorted->next(), nullptr);
  EXPECT_EQ(sorted->next(), nullptr);
}

TEST(sort_stream, refuses_a_column_that_is_not_there_or_has_no_order) {
  const spill_folder folder;
  const auto rows = rows_of({arrow::field("amount", arrow::int64()),
                             arrow::field("tags", arrow::list(arrow::int8()))},
                            "[]");
  try {
    sort_rows(stream_of(rows), {{"amout"}}, folder.context());
    FAIL() << "no error";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::invalid_data);
    EXPECT_EQ(e.what_failed().pointer, "/data/graph/2");
    EXPECT_EQ(e.what_failed().message,
              "/data/graph/2: the node sorts by the column 'amout', which its "
              "input lacks; did you mean 'amount'?");
  }
  try {
    sort_rows(stream_of(rows), {{"tags"}}, folder.context());
    FAIL() << "no error";
  } catch (const ballast_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("'tags', whose type is list<"));
  }
}

TEST(sort_stream, agrees_with_a_stable_sort_of_random_rows) {
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
    std::vector<sort_key> by;
    std::vector<std::string> names = rows->schema()->field_names();
    for (uint64_t k = 0; k <= random.below(3); ++k) {
      const size_t at = random.below(names.size() - 1); // no origin
      by.push_back({names[at], random.below(2) == 0});
      names.erase(names.begin() + int64_t(at));
    }
    const auto expected =
        picked(plain(rows), reference_order(*plain(rows), by));
    const int64_t at_once = int64_t(1 + random.below(400));
    EXPECT_TRUE(same_rows(
        *all_of(sort_rows(stream_of(rows, at_once), by, folder.context())),
        *expected))
        << "seed " << seed;
    EXPECT_TRUE(same_rows(
        *all_of(sort_rows(stream_of(rows, at_once), by, folder.context(1))),
        *expected))
        << "seed " << seed << ", little memory";
  }
}

TEST(sort_stream, sorts_many_times_its_memory_on_disk) {
  const spill_folder folder;
  const auto rows = many_rows(700'000, 100'000);
  for (const std::vector<sort_key>& by :
       {std::vector<sort_key>{{"a"}}, {{"c", true}, {"b"}}, {{"b"}}}) {
    const auto expected =
        all_of(sort_rows(stream_of(rows), by, folder.context(1 << 30)));
    EXPECT_EQ(expected->num_rows(), rows->num_rows());
    expect_in_little_memory(rows, *expected,
                            [&](auto from, const operator_context& context) {
                              return sort_rows(std::move(from), by, context);
                            });
  }
}

TEST(sort_stream, keeps_a_thousand_equal_keys_in_order_on_disk) {
  const spill_folder folder;
  dice random(1);
  const auto rows =
      some_rows({arrow::int64(), arrow::utf8()}, 30'000, 3, random);
  EXPECT_TRUE(
      same_rows(*all_of(sort_rows(stream_of(rows), {{"a"}}, folder.context(1))),
                *picked(rows, reference_order(*rows, {{"a"}}))));
}

TEST(sort_stream, says_that_the_disk_is_full) {
  const spill_folder folder;
  const auto rows = many_rows(30'000, 1000);
  for (const char* point : {"spill.write=enospc@3", "spill.open=enospc@2"}) {
    ASSERT_STREQ(arm_fault_points(point), "");
    try {
      all_of(sort_rows(stream_of(rows), {{"a"}}, folder.context(1 << 18)));
      ADD_FAILURE() << "no error";
    } catch (const ballast_error& e) {
      EXPECT_EQ(e.what_failed().code, errc::disk_full);
      EXPECT_THAT(e.what(), HasSubstr(folder.path().string()));
      EXPECT_THAT(e.what(), HasSubstr("make room there"));
    }
    arm_fault_points("");
    EXPECT_EQ(folder.files(), 0);
  }
}

TEST(sort_stream, ends_soon_when_it_is_told_to_and_leaves_no_file) {
  const spill_folder folder;
  const auto rows = many_rows(100'000, 1000);
  std::stop_source stop;
  operator_context context = folder.context(1 << 20);
  context.stop = stop.get_token();
  auto from = std::make_unique<batches_stream>(rows);
  from->before_next = [&](int64_t done) {
    if (done > 70'000)
      stop.request_stop();
  };
  const auto sorted = sort_rows(std::move(from), {{"a"}}, context);
  try {
    sorted->next();
    FAIL() << "no error";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::stopped);
  }
}

} // namespace
} // namespace ballast::data
