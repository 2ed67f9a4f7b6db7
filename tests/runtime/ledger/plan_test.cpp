#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <nlohmann/json.hpp>

namespace ballast::ledger {
namespace {

using namespace ballast::testing;

/// Two workers: chunk 0 cut between them, chunk 1 whole.
plan small_plan() {
  return {plan_number{4},
          generation{2},
          {{worker_id{1}, plan_number{4}, 7, {{chunk_id{0}, 0, 6}}},
           {worker_id{2},
            plan_number{1},
            0,
            {{chunk_id{0}, 6, 10}, {chunk_id{1}, 0, 5}}}}};
}

manifest set_of(const std::vector<uint32_t>& chunk_rows) {
  manifest set;
  for (uint32_t id = 0; id < chunk_rows.size(); ++id) {
    chunk_info chunk;
    chunk.id = chunk_id{id};
    chunk.rows = chunk_rows[id];
    set.train.push_back(chunk);
    set.train_rows += chunk.rows;
  }
  return set;
}

TEST(partition_error, names_the_worker_chunk_and_rows) {
  const std::vector<uint32_t> chunks{10, 5};
  EXPECT_EQ(partition_error(small_plan(), chunks), std::nullopt);
  auto reason = [&](auto change) {
    plan p = small_plan();
    change(p);
    return partition_error(p, chunks).value_or("is a partition");
  };
  EXPECT_EQ(reason([](plan& p) { p.shares.clear(); }),
            "the plan names no workers");
  EXPECT_EQ(reason([](plan& p) { p.shares[0].worker = worker_id{0}; }),
            "a share belongs to worker 0, which is nobody");
  EXPECT_EQ(reason([](plan& p) { p.shares[0].worker = worker_id{2}; }),
            "worker 2 has two shares");
  EXPECT_EQ(reason([](plan& p) { p.shares[0].since = plan_number{5}; }),
            "worker 1 has its intervals since plan 5, later than this plan");
  EXPECT_EQ(reason([](plan& p) { p.shares[0].intervals.clear(); }),
            "nobody owns [0, 6) of chunk 0");
  EXPECT_EQ(reason([](plan& p) { p.shares[0].intervals.own()[0].end = 5; }),
            "nobody owns [5, 6) of chunk 0");
  EXPECT_EQ(reason([](plan& p) { p.shares[0].intervals.own()[0].end = 8; }),
            "two owners for [6, 8) of chunk 0");
  EXPECT_EQ(reason([](plan& p) { p.shares[1].intervals.own()[1].end = 4; }),
            "nobody owns [4, 5) of chunk 1");
  EXPECT_EQ(reason([](plan& p) { p.shares[1].intervals.own()[1].end = 6; }),
            "worker 2 owns [0, 6) of chunk 1, which is empty or outside its 5 "
            "rows");
  EXPECT_EQ(reason([](plan& p) {
              p.shares[1].intervals.own()[1].chunk = chunk_id{2};
            }),
            "worker 2 owns [0, 5) of chunk 2, but there are only 2 chunks");
  EXPECT_EQ(reason([](plan& p) {
              std::swap(p.shares[1].intervals.own()[0],
                        p.shares[1].intervals.own()[1]);
            }),
            "worker 2 owns [6, 10) of chunk 0 after [0, 5) of chunk 1: not "
            "sorted by chunk and begin");
}

TEST(partition_error, finds_every_small_damage_of_a_random_plan) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    auto chunks =
        chunks_of(random.between(1, 200), uint32_t(random.between(1, 20)));
    size_t world = random.between(1, 4);
    plan p =
        deal_pieces(cut_chunks(chunks, 3, random), workers_named(world),
                    std::vector<uint64_t>(world, 1), plan_number{1}, random);
    ASSERT_EQ(partition_error(p, chunks), std::nullopt);
    size_t rank = random.below(world);
    if (p.shares[rank].intervals.empty())
      continue;
    auto& parts = p.shares[rank].intervals.own();
    interval& piece = parts[random.below(parts.size())];
    switch (random.below(4)) {
    case 0:
      ++piece.begin;
      break;
    case 1:
      --piece.end;
      break;
    case 2:
      ++piece.end;
      break;
    case 3:
      parts.pop_back();
      break;
    }
    ASSERT_NE(partition_error(p, chunks), std::nullopt);
  }
}

TEST(first_plan, is_the_placement_where_the_workers_are_as_many) {
  manifest set = set_of({256, 256, 100});
  set.placement = {{chunk_id{2}, chunk_id{0}}, {chunk_id{1}}, {}};
  plan p = first_plan(set, workers_named(3, 4), generation{1}, plan_number{1});
  plan expected{
      plan_number{1},
      generation{1},
      {{worker_id{4},
        plan_number{1},
        356,
        {{chunk_id{0}, 0, 256}, {chunk_id{2}, 0, 100}}},
       {worker_id{5}, plan_number{1}, 256, {{chunk_id{1}, 0, 256}}, 1},
       {worker_id{6}, plan_number{1}, 0, {}, 2}}};
  EXPECT_EQ(p, expected);
}

TEST(first_plan, deals_whole_chunks_in_runs_to_any_other_number) {
  manifest set = set_of({256, 256, 256, 256, 256, 256, 256, 40});
  set.placement = {{chunk_id{0}}};
  plan p = first_plan(set, workers_named(3), generation{1}, plan_number{1});
  std::vector<std::vector<uint32_t>> ids;
  for (const share& part : p.shares) {
    ids.emplace_back();
    for (const interval& piece : part.intervals)
      ids.back().push_back(value(piece.chunk));
  }
  EXPECT_EQ(ids,
            (std::vector<std::vector<uint32_t>>{{0, 1, 2}, {3, 4, 7}, {5, 6}}));
}

TEST(first_plan, is_a_partition_and_differs_by_at_most_one_chunk) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    uint32_t longest = uint32_t(random.between(1, 300));
    std::vector<uint32_t> chunks;
    for (uint64_t i = random.between(1, 40); i > 0; --i)
      chunks.push_back(random.one_in(4) ? uint32_t(random.between(1, longest))
                                        : longest);
    manifest set = set_of(chunks);
    set.placement.resize(50);
    size_t world = random.between(1, 12);
    plan p =
        first_plan(set, workers_named(world), generation{1}, plan_number{1});
    ASSERT_EQ(partition_error(p, chunks), std::nullopt);
    uint64_t most = 0, least = UINT64_MAX;
    for (const share& part : p.shares) {
      ASSERT_EQ(part.batch_weight, rows(part));
      most = std::max(most, rows(part));
      least = std::min(least, rows(part));
    }
    ASSERT_LE(most - least, longest);
  }
}

TEST(plan, survives_json) {
  plan p = small_plan();
  p.shares[0].batch_weight = UINT64_MAX;
  nlohmann::json text = p;
  EXPECT_EQ(nlohmann::json::parse(text.dump()).get<plan>(), p);
  EXPECT_EQ(text["shares"][1]["intervals"].dump(), "[[0,6,10],[1,0,5]]");
}

TEST(plan, of_many_chunks_in_a_row_is_short_in_json) {
  plan before = small_plan();
  std::vector<interval>& own = before.shares[0].intervals.own();
  own.clear();
  for (uint32_t id = 0; id < 100'000; ++id)
    own.push_back({chunk_id(id), 0, id == 70'000 ? 32u : 64u});
  own.push_back({chunk_id(200'000), 0, 64});
  const nlohmann::json text = before;
  EXPECT_LT(text.dump().size(), 1000u);
  EXPECT_EQ(text["shares"][0]["intervals"][0],
            nlohmann::json({0, 0, 64, 70'000}));
  EXPECT_EQ(text.get<plan>(), before);
}

TEST(plan, refuses_runs_that_no_plan_has) {
  nlohmann::json text = small_plan();
  nlohmann::json& first = text["shares"][0]["intervals"][0];
  for (const nlohmann::json& wrong :
       {nlohmann::json{0, 0, 64, 0}, nlohmann::json{0, 0, 64, -1},
        nlohmann::json{0, 0, 64, uint64_t{1} << 30},
        nlohmann::json{UINT32_MAX, 0, 64, 2}, nlohmann::json{0, 0, 64, 2, 1}}) {
    first = wrong;
    EXPECT_THROW(text.get<plan>(), nlohmann::json::exception) << wrong;
  }
}

TEST(plan, refuses_json_with_numbers_that_do_not_fit) {
  nlohmann::json good = small_plan();
  for (const auto& [pointer, bad] :
       std::vector<std::pair<std::string, nlohmann::json>>{
           {"/number", -1},
           {"/generation", 1.5},
           {"/shares/0/worker", 1ULL << 32},
           {"/shares/0/since", "1"},
           {"/shares/0/batch_weight", -7},
           {"/shares/0/intervals/0", {0, 1}},
           {"/shares/0/intervals/0/2", 1ULL << 32}}) {
    nlohmann::json text = good;
    text[nlohmann::json::json_pointer(pointer)] = bad;
    EXPECT_THROW(text.get<plan>(), nlohmann::json::exception) << pointer;
  }
  good.erase("shares");
  EXPECT_THROW(good.get<plan>(), nlohmann::json::exception);
}

} // namespace
} // namespace ballast::ledger
