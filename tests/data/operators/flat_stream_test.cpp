// Goal: lists become rows and rows become lists, with what stands beside them,
// however the rows come in batches; what is wrong is named with its row.
// Method: small rows as JSON.
#include "data/operators/flat_stream.hpp"

#include "data/source/row_faults.hpp"
#include "tests/data/operators/made_up_rows.hpp"
#include "tests/data/source/stream_tester.hpp"

namespace ballast::data {
namespace {

using testing::ElementsAre;
using names = std::vector<std::string>;

const auto some_lists = [] {
  return rows_of({arrow::field("n", arrow::int64()),
                  arrow::field("a", arrow::list(arrow::utf8())),
                  arrow::field("b", arrow::list(arrow::int64()))},
                 R"([{"n": 1, "a": ["x", "y"], "b": [10, null]},
                     {"n": 2, "a": [], "b": null},
                     {"n": 3, "a": ["z"], "b": [30]},
                     {"n": 4, "a": null, "b": []}])");
};

TEST(flat_map, makes_a_row_of_each_item_and_repeats_the_rest) {
  const spill_folder folder;
  for (const int64_t at_once : {1, 3, 4096}) {
    const auto rows = all_of(flat_rows(stream_of(some_lists(), at_once),
                                       {"a", "b"}, false, folder.context()));
    EXPECT_THAT(lines_of(*rows),
                ElementsAre("1 x 10 0", "1 y null 0", "3 z 30 2"));
    EXPECT_TRUE(rows->schema()->field(1)->type()->Equals(arrow::utf8()));
  }
}

TEST(flat_map, keeps_rows_without_items_where_it_is_told_to) {
  const spill_folder folder;
  EXPECT_THAT(lines_of(*all_of(flat_rows(stream_of(some_lists()), {"a"}, true,
                                         folder.context()))),
              ElementsAre("1 x list<item: int64>[10, null] 0",
                          "1 y list<item: int64>[10, null] 0", "2 null null 1",
                          "3 z list<item: int64>[30] 2",
                          "4 null list<item: int64>[] 3"));
}

TEST(flat_map, gives_the_columns_that_are_wanted_in_their_order) {
  const spill_folder folder;
  const auto flat =
      flat_rows(stream_of(some_lists()), {"b"}, false, folder.context());
  flat->choose({2, 0, 2});
  EXPECT_THAT(lines_of(*all_of(flat)),
              ElementsAre("10 1 10", "null 1 null", "30 3 30"));
}

TEST(flat_map, takes_lists_of_every_kind) {
  const spill_folder folder;
  for (const auto& type : {arrow::large_list(arrow::int64()),
                           arrow::fixed_size_list(arrow::int64(), 2)}) {
    const auto rows =
        rows_of({arrow::field("a", type)}, R"([{"a": [1, 2]}, {"a": null},
                                               {"a": [3, 4]}])");
    EXPECT_THAT(lines_of(*all_of(flat_rows(stream_of(rows, 2), {"a"}, false,
                                           folder.context()))),
                ElementsAre("1 0", "2 0", "3 2", "4 2"));
  }
}

TEST(flat_map, refuses_lists_of_one_row_that_differ_in_length) {
  const spill_folder folder;
  const auto rows =
      rows_of({arrow::field("a", arrow::list(arrow::int64())),
               arrow::field("b", arrow::list(arrow::int64()))},
              R"([{"a": [1], "b": [1]}, {"a": [1, 2], "b": [1, 2, 3]}])");
  const auto flat =
      flat_rows(stream_of(rows), {"a", "b"}, false, folder.context());
  EXPECT_EQ(refusal_of([&] { all_of(flat); }),
            "input: row 2, column 'b': has 3 items, column 'a' has 2; expected "
            "equally many");
}

TEST(flat_map, leaves_such_rows_out_where_the_job_says_so) {
  const spill_folder folder;
  const auto rows = rows_of(
      {arrow::field("a", arrow::list(arrow::int64())),
       arrow::field("b", arrow::list(arrow::int64()))},
      R"([{"a": [1], "b": [1]}, {"a": [1, 2], "b": [3]}, {"a": [5], "b": [6]}])");
  row_faults faults;
  operator_context how = folder.context();
  how.faults = &faults;
  how.origins = std::make_shared<row_origins>(names{"in"});
  const auto flat = flat_rows(stream_of(rows), {"a", "b"}, false, how);
  EXPECT_THAT(lines_of(*all_of(flat)), ElementsAre("1 1 0", "5 6 2"));
  EXPECT_THAT(faults.found().lines,
              testing::HasSubstr(
                  R"("column":"b","operator":"the node","reason":"has 1 item, )"
                  R"(column 'a' has 2; expected equally many")"));
  EXPECT_EQ(faults.found().rows, 1u);
}

TEST(flat_map, names_what_is_no_column_of_lists) {
  const spill_folder folder;
  const auto refusal = [&](const names& columns) {
    return refusal_of([&] {
      flat_rows(stream_of(some_lists()), columns, false, folder.context());
    });
  };
  EXPECT_EQ(refusal({"n"}), "/data/graph/2/columns: column 'n' has the type "
                            "int64; expected lists");
  EXPECT_THAT(refusal({"aa"}), testing::HasSubstr("did you mean 'a'?"));
  EXPECT_EQ(refusal({"a", "a"}), "/data/graph/2/columns: 'a' is there twice");
}

TEST(flat_map, hands_out_long_lists_in_parts) {
  const spill_folder folder;
  // 64 KiB beside each of 4000 items: 256 MiB, if all were there at once.
  arrow::StringBuilder texts;
  arrow::ListBuilder lists(arrow::default_memory_pool(),
                           std::make_shared<arrow::Int64Builder>());
  ASSERT_TRUE(texts.Append(std::string(64 << 10, 'a')).ok());
  ASSERT_TRUE(lists.Append().ok());
  for (int64_t i = 0; i < 4000; ++i)
    ASSERT_TRUE(static_cast<arrow::Int64Builder*>(lists.value_builder())
                    ->Append(i)
                    .ok());
  const auto rows = with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("t", arrow::utf8()),
                     arrow::field("a", arrow::list(arrow::int64()))}),
      1, {texts.Finish().ValueOrDie(), lists.Finish().ValueOrDie()}));
  const auto flat = flat_rows(stream_of(rows), {"a"}, false, folder.context());
  int64_t at = 0;
  while (const auto batch = flat->next()) {
    EXPECT_LE(batch->num_rows() * (64 << 10), 20 << 20);
    for (int64_t i = 0; i < batch->num_rows(); ++i, ++at)
      ASSERT_EQ(
          static_cast<const arrow::Int64Array&>(*batch->column(1)).Value(i),
          at);
  }
  EXPECT_EQ(at, 4000);
}

TEST(batch, makes_lists_of_rows_whatever_the_batches_that_came) {
  const spill_folder folder;
  const auto rows = rows_of(
      {arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8())},
      R"([{"n": 1, "t": "a"}, {"n": null, "t": "b"},
                                {"n": 3, "t": null}, {"n": 4, "t": "d"},
                                {"n": 5, "t": "e"}])");
  for (const int64_t at_once : {1, 2, 3, 4096}) {
    EXPECT_THAT(
        lines_of(*all_of(batched_rows(stream_of(rows, at_once), 2, false,
                                      folder.context()))),
        ElementsAre("list<item: int64>[1, null] list<item: string>[a, b] 0",
                    "list<item: int64>[3, 4] list<item: string>[null, d] 2",
                    "list<item: int64>[5] list<item: string>[e] 4"));
    EXPECT_EQ(all_of(batched_rows(stream_of(rows, at_once), 2, true,
                                  folder.context()))
                  ->num_rows(),
              2);
  }
}

TEST(batch, and_unbatch_give_the_same_rows) {
  const spill_folder folder;
  dice random(3);
  const auto rows = some_rows({arrow::int64(), arrow::utf8(), arrow::float64()},
                              30'000, 99, random);
  for (const uint64_t size : {1, 7, 5000, 65536}) {
    const auto again = all_of(unbatched_rows(
        batched_rows(stream_of(rows, 1000), size, false, folder.context()), {},
        folder.context()));
    ASSERT_EQ(again->num_rows(), rows->num_rows()) << size;
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(again->column(i)->Equals(
          rows->column(i), arrow::EqualOptions::Defaults().nans_equal(true)))
          << size << " " << i;
  }
}

TEST(batch, refuses_rows_that_are_too_many_for_its_memory) {
  const spill_folder folder;
  const auto rows = many_rows(50'000, 100);
  const auto batched =
      batched_rows(stream_of(rows), 50'000, false, folder.context(1 << 20));
  EXPECT_THAT(refusal_of([&] { all_of(batched); }),
              has_all({"/data/graph/2/rows: the first ", " of 50000 rows",
                       "more than 1 MiB; expected fewer rows"}));
}

TEST(unbatch, needs_lists) {
  const spill_folder folder;
  const auto rows = rows_of({arrow::field("n", arrow::int64())}, "[]");
  EXPECT_EQ(
      refusal_of(
          [&] { unbatched_rows(stream_of(rows), {}, folder.context()); }),
      "/data/graph/2: none of the columns of 'the node' holds lists; expected "
      "what `batch` gives");
}

} // namespace
} // namespace ballast::data
