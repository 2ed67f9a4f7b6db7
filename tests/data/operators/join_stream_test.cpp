// Goal: the rows of a join in the order of its left rows, the same whether the
// right side fits into memory or not. Method: tables, random rows against two
// nested loops, and 50 MB with 1 MiB of memory.
#include "data/operators/join_stream.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "tests/data/operators/little_memory.hpp"
#include "tests/data/operators/made_up_rows.hpp"

#include <stop_token>

namespace ballast::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr join_kind all_kinds[] = {join_kind::inner, join_kind::left,
                                   join_kind::right, join_kind::full,
                                   join_kind::semi,  join_kind::anti};

std::shared_ptr<arrow::RecordBatch> people() {
  return rows_of(
      {arrow::field("id", arrow::int64()), arrow::field("name", arrow::utf8())},
      R"([{"id":1,"name":"ada"},{"id":2,"name":"bob"},
                     {"id":null,"name":"nil"},{"id":1,"name":"ann"}])");
}

std::shared_ptr<arrow::RecordBatch> orders() {
  return with_origin(rows_of({arrow::field("id", arrow::int32()),
                              arrow::field("name", arrow::utf8()),
                              arrow::field("price", arrow::float64())},
                             R"([{"id":1,"name":"tea","price":2.5},
                  {"id":3,"name":"milk","price":1},
                  {"id":1,"name":"bread","price":4},
                  {"id":null,"name":"salt","price":3}])")
                         ->RemoveColumn(3)
                         .ValueOrDie(),
                     100);
}

std::vector<std::string> joined(join_kind kind, const spill_folder& folder,
                                uint64_t memory = 1 << 30) {
  return lines_of(
      *all_of(join_rows(stream_of(people(), 1), stream_of(orders(), 1),
                        {kind, {"id"}, {}}, folder.context(memory))));
}

TEST(join_stream, pairs_rows_whose_keys_are_equal) {
  const spill_folder folder;
  EXPECT_EQ(join_rows(stream_of(people()), stream_of(orders()),
                      {join_kind::inner, {"id"}, {}}, folder.context())
                ->schema()
                ->field_names(),
            (std::vector<std::string>{"id", "name", "name_right", "price",
                                      origin_column}));
  EXPECT_THAT(joined(join_kind::inner, folder),
              ElementsAre("1 ada tea 2.5 0", "1 ada bread 4 0",
                          "1 ann tea 2.5 3", "1 ann bread 4 3"));
}

TEST(join_stream, keeps_the_rows_that_its_kind_keeps) {
  const spill_folder folder;
  EXPECT_THAT(joined(join_kind::left, folder),
              ElementsAre("1 ada tea 2.5 0", "1 ada bread 4 0",
                          "2 bob null null 1", "null nil null null 2",
                          "1 ann tea 2.5 3", "1 ann bread 4 3"));
  EXPECT_THAT(joined(join_kind::right, folder),
              ElementsAre("1 ada tea 2.5 0", "1 ada bread 4 0",
                          "1 ann tea 2.5 3", "1 ann bread 4 3",
                          "3 null milk 1 101", "null null salt 3 103"));
  EXPECT_THAT(joined(join_kind::full, folder),
              ElementsAre("1 ada tea 2.5 0", "1 ada bread 4 0",
                          "2 bob null null 1", "null nil null null 2",
                          "1 ann tea 2.5 3", "1 ann bread 4 3",
                          "3 null milk 1 101", "null null salt 3 103"));
  EXPECT_THAT(joined(join_kind::semi, folder),
              ElementsAre("1 ada 0", "1 ann 3"));
  EXPECT_THAT(joined(join_kind::anti, folder),
              ElementsAre("2 bob 1", "null nil 2"));
}

TEST(join_stream, of_keys_with_two_names_has_both) {
  const spill_folder folder;
  const auto cities = rows_of({arrow::field("city", arrow::large_utf8()),
                               arrow::field("land", arrow::utf8())},
                              R"([{"city":"rome","land":"it"}])");
  const auto trips = rows_of(
      {arrow::field("to", arrow::dictionary(arrow::int8(), arrow::utf8()))},
      R"([{"to":"rome"},{"to":"oslo"}])");
  EXPECT_THAT(lines_of(*all_of(join_rows(stream_of(trips), stream_of(cities),
                                         {join_kind::full, {"to"}, {"city"}},
                                         folder.context()))),
              ElementsAre("rome rome it 0", "oslo null null 1"));
}

TEST(join_stream, compares_integers_as_numbers) {
  const spill_folder folder;
  const auto left = rows_of({arrow::field("n", arrow::uint64())},
                            R"([{"n":1},{"n":18446744073709551615}])");
  const auto right =
      rows_of({arrow::field("n", arrow::int8())}, R"([{"n":-1},{"n":1}])");
  EXPECT_THAT(lines_of(*all_of(join_rows(stream_of(left), stream_of(right),
                                         {join_kind::inner, {"n"}, {}},
                                         folder.context()))),
              ElementsAre("1 0"));
  EXPECT_THROW(join_rows(stream_of(left), stream_of(right),
                         {join_kind::full, {"n"}, {}}, folder.context()),
               ballast_error)
      << "no type holds -1 and 18446744073709551615";
}

std::string refusal(const join_terms& terms, const spill_folder& folder) {
  try {
    join_rows(stream_of(people()), stream_of(orders()), terms,
              folder.context());
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().pointer, "/data/graph/2");
    return e.what();
  }
  return "";
}

TEST(join_stream, refuses_terms_that_do_not_fit) {
  const spill_folder folder;
  EXPECT_THAT(refusal({join_kind::left, {"name"}, {"price"}}, folder),
              HasSubstr("'name' (string) with 'price' (double), which cannot "
                        "be compared; cast one of them"));
  EXPECT_THAT(refusal({join_kind::left, {"nam"}, {"name"}}, folder),
              HasSubstr("did you mean 'name'?"));
  EXPECT_THAT(refusal({join_kind::left, {"id"}, {"ids"}}, folder),
              HasSubstr("on its right side, by the column 'ids'"));
  EXPECT_THAT(refusal({join_kind::left, {"id", "name"}, {"id"}}, folder),
              HasSubstr("joins 2 columns of the left side with 1"));
  EXPECT_THAT(refusal({join_kind::left, {}, {}}, folder),
              HasSubstr("at least one"));
  EXPECT_THAT(refusal({join_kind::left, {"id"}, {}, ""}, folder),
              HasSubstr("two columns named 'name'"));
}

TEST(join_stream, hands_out_the_columns_that_are_chosen) {
  const spill_folder folder;
  for (const uint64_t memory : {uint64_t{1}, uint64_t{1} << 30}) {
    const auto join =
        join_rows(stream_of(people()), stream_of(orders()),
                  {join_kind::inner, {"id"}, {}}, folder.context(memory));
    join->choose({3, 1});
    EXPECT_THAT(lines_of(*all_of(join)),
                ElementsAre("2.5 ada", "4 ada", "2.5 ann", "4 ann"));
  }
}

TEST(join_stream, with_an_empty_side_keeps_the_other_or_nothing) {
  const spill_folder folder;
  for (const join_kind kind : all_kinds) {
    const auto rows = [&](int64_t left, int64_t right) {
      return all_of(join_rows(stream_of(people()->Slice(0, left)),
                              stream_of(orders()->Slice(0, right)),
                              {kind, {"id"}, {}}, folder.context()))
          ->num_rows();
    };
    const bool left = kind == join_kind::left || kind == join_kind::full ||
                      kind == join_kind::anti;
    const bool right = kind == join_kind::right || kind == join_kind::full;
    EXPECT_EQ(rows(0, 0), 0);
    EXPECT_EQ(rows(4, 0), left ? 4 : 0);
    EXPECT_EQ(rows(0, 4), right ? 4 : 0);
  }
}

/// Line by line, by two nested loops.
std::vector<std::string> reference(const arrow::RecordBatch& left,
                                   const arrow::RecordBatch& right,
                                   join_kind kind, int keys) {
  std::vector<std::vector<cell>> cells[2];
  const arrow::RecordBatch* sides[2] = {&left, &right};
  for (int side = 0; side < 2; ++side)
    for (int64_t row = 0; row < sides[side]->num_rows(); ++row) {
      cells[side].emplace_back();
      for (int k = 0; k < keys; ++k)
        cells[side].back().push_back(cell_at(*sides[side]->column(k), row));
    }
  const auto has_null = [](const std::vector<cell>& key) {
    return std::any_of(key.begin(), key.end(),
                       [](const cell& one) { return one.rank == 2; });
  };
  std::vector<bool> seen(cells[1].size());
  std::vector<std::string> out;
  const auto add = [&](int64_t l, int64_t r) {
    out.push_back(std::to_string(l) + " " + std::to_string(r));
  };
  for (size_t l = 0; l < cells[0].size(); ++l) {
    bool any = false;
    for (size_t r = 0; r < cells[1].size(); ++r) {
      if (has_null(cells[0][l]) || cells[0][l] != cells[1][r])
        continue;
      any = true;
      seen[r] = true;
      if (kind != join_kind::semi && kind != join_kind::anti)
        add(int64_t(l), int64_t(r));
    }
    if (any ? kind == join_kind::semi
            : kind == join_kind::left || kind == join_kind::full ||
                  kind == join_kind::anti)
      add(int64_t(l), -1);
  }
  if (kind == join_kind::right || kind == join_kind::full)
    for (size_t r = 0; r < cells[1].size(); ++r)
      if (!seen[r])
        add(-1, int64_t(r));
  return out;
}

/// The numbers of the rows of both sides, which their columns "l" and "r" have.
std::vector<std::string> numbers_of(const arrow::RecordBatch& rows) {
  const auto text = [&](const char* name, int64_t row) {
    const auto column = rows.GetColumnByName(name);
    return column == nullptr || column->IsNull(row)
               ? std::string("-1")
               : column->GetScalar(row).ValueOrDie()->ToString();
  };
  std::vector<std::string> out;
  for (int64_t row = 0; row < rows.num_rows(); ++row)
    out.push_back(text("l", row) + " " + text("r", row));
  return out;
}

/// Keys first, then the row's number in a column of this name.
std::shared_ptr<arrow::RecordBatch>
some_side(const arrow::DataTypeVector& types, const char* name, int64_t rows,
          uint64_t kinds, dice& random) {
  const auto made = some_rows(types, rows, kinds, random);
  const int at = made->num_columns() - 1;
  return made
      ->AddColumn(at, arrow::field(name, arrow::uint64()), made->column(at))
      .ValueOrDie();
}

TEST(join_stream, agrees_with_nested_loops_over_random_rows) {
  const spill_folder folder;
  const arrow::DataTypeVector types = {
      arrow::int64(), arrow::float64(), arrow::utf8(),
      arrow::dictionary(arrow::int32(), arrow::utf8()), arrow::int32()};
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    dice random(seed);
    arrow::DataTypeVector keys;
    for (uint64_t k = 0; k <= random.below(2); ++k)
      keys.push_back(types[random.below(types.size())]);
    const uint64_t kinds = 1 + random.below(150);
    const auto left =
        some_side(keys, "l", int64_t(random.below(300)), kinds, random);
    const auto right =
        some_side(keys, "r", int64_t(random.below(300)), kinds, random);
    join_terms terms;
    terms.kind = all_kinds[seed % 6];
    for (size_t k = 0; k < keys.size(); ++k)
      terms.on_left.emplace_back(1, char('a' + k));
    EXPECT_EQ(
        numbers_of(
            *all_of(join_rows(stream_of(left, int64_t(1 + random.below(100))),
                              stream_of(right, int64_t(1 + random.below(100))),
                              terms, folder.context()))),
        reference(*plain(left), *plain(right), terms.kind, int(keys.size())))
        << "seed " << seed;
  }
}

TEST(join_stream, does_many_times_its_memory_on_disk) {
  const spill_folder folder;
  const auto left = many_rows(400'000, 250'000);
  const auto right = many_rows(400'000, 250'000)->Slice(100'000);
  for (const join_kind kind : all_kinds) {
    const join_terms terms{kind, {"a", "b"}, {}};
    const auto expected = all_of(join_rows(stream_of(left), stream_of(right),
                                           terms, folder.context(1 << 30)));
    memory_seen memory;
    auto from = std::make_unique<batches_stream>(right);
    from->before_next = [&](int64_t) { memory.look(); };
    const auto join = join_rows(stream_of(left), std::move(from), terms,
                                folder.context(1 << 20));
    int64_t at = 0;
    while (const auto batch = join->next()) {
      memory.look();
      ASSERT_TRUE(same_rows(*batch, *expected->Slice(at, batch->num_rows())))
          << "from row " << at;
      at += batch->num_rows();
    }
    EXPECT_EQ(at, expected->num_rows());
    EXPECT_GT(at, 50'000);
    EXPECT_LT(memory.most(), 3 << 19) << "bytes";
  }
}

TEST(join_stream, joins_block_by_block_where_most_rows_have_one_key) {
  const spill_folder folder;
  dice random(3);
  arrow::DataTypeVector types = {arrow::int32()};
  const auto right = some_side(types, "r", 40'000, 1, random);
  for (const join_kind kind : all_kinds) {
    // Few pairs: a key that no left row has, and one that three have.
    auto left = some_side(types, "l", 3, 1, random);
    for (const uint64_t kinds : {1, 1000}) {
      if (kinds == 1000)
        left = some_side(types, "l", 50, kinds, random);
      const join_terms terms{kind, {"a"}, {}};
      const auto expected = all_of(join_rows(stream_of(left), stream_of(right),
                                             terms, folder.context()));
      EXPECT_TRUE(same_rows(*all_of(join_rows(stream_of(left), stream_of(right),
                                              terms, folder.context(1 << 18))),
                            *expected))
          << "kind " << int(kind);
    }
  }
}

TEST(join_stream, says_that_the_disk_is_full_and_leaves_no_file) {
  const spill_folder folder;
  const auto rows = many_rows(60'000, 50'000);
  for (const char* point : {"spill.write=enospc@9", "spill.open=edquot@20",
                            "spill.open=enospc@40"}) {
    ASSERT_STREQ(arm_fault_points(point), "");
    try {
      all_of(join_rows(stream_of(rows), stream_of(rows),
                       {join_kind::inner, {"a"}, {}}, folder.context(1 << 18)));
      ADD_FAILURE() << "no error";
    } catch (const ballast_error& e) {
      EXPECT_EQ(e.what_failed().code, errc::disk_full);
    }
    arm_fault_points("");
    EXPECT_EQ(folder.files(), 0);
  }
}

TEST(join_stream, ends_soon_when_it_is_told_to_and_leaves_no_file) {
  const spill_folder folder;
  const auto rows = many_rows(60'000, 50'000);
  std::stop_source stop;
  operator_context context = folder.context(1 << 18);
  context.stop = stop.get_token();
  auto left = std::make_unique<batches_stream>(rows);
  left->before_next = [&](int64_t done) {
    if (done > 30'000)
      stop.request_stop();
  };
  const auto join = join_rows(std::move(left), stream_of(rows),
                              {join_kind::inner, {"a"}, {}}, context);
  try {
    join->next();
    FAIL() << "no error";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::stopped);
  }
}

TEST(join_stream, compares_whole_numbers_with_fractions_as_numbers) {
  const spill_folder folder;
  const auto whole =
      rows_of({arrow::field("n", arrow::int64())},
              R"([{"n":2},{"n":9007199254740993},{"n":9223372036854775807}])");
  const auto fractions = rows_of({arrow::field("n", arrow::float64())},
                                 R"([{"n":2},{"n":2.5},{"n":9007199254740992},
                  {"n":9223372036854775808}])");
  for (const uint64_t memory : {uint64_t{1}, uint64_t{1} << 30}) {
    EXPECT_THAT(lines_of(*all_of(join_rows(
                    stream_of(whole), stream_of(fractions),
                    {join_kind::inner, {"n"}, {}}, folder.context(memory)))),
                ElementsAre("2 0"))
        << "no float64 is 2^53 + 1, or 2^63 - 1";
    EXPECT_THAT(lines_of(*all_of(join_rows(
                    stream_of(fractions), stream_of(whole),
                    {join_kind::inner, {"n"}, {}}, folder.context(memory)))),
                ElementsAre("2 0"));
  }
}

} // namespace
} // namespace ballast::data
