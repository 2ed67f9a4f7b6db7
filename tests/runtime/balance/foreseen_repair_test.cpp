// Goal: a repair that was made beforehand is the one that would be made now.
// Method: random plans, the loss of each worker, both ways.
#include "runtime/balance/foreseen_repair.hpp"

#include "runtime/balance/repair.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <gtest/gtest.h>

namespace ballast::balance {
namespace {

/// Three workers whose rows are not mixed.
ledger::manifest some_set(size_t chunks) {
  testing::set_builder out(3);
  for (size_t rank = 0; rank < 3; ++rank)
    for (size_t i = 0; i < chunks; ++i)
      out.add(rank, {4 + 10 * rank, 20 - 5 * rank, 7 + i % 3});
  return out.set;
}

place_shares without(const ledger::plan& before, size_t lost) {
  place_shares out{next(before.generation), plan_number{17}, {}, before};
  for (size_t rank = 0; rank < before.shares.size(); ++rank)
    if (rank != lost)
      out.workers.push_back(before.shares[rank].worker);
  return out;
}

void expect_same(const placed_shares& a, const placed_shares& b) {
  EXPECT_EQ(a.what, b.what);
  ASSERT_EQ(a.shares.size(), b.shares.size());
  for (size_t rank = 0; rank < a.shares.size(); ++rank) {
    EXPECT_EQ(a.shares[rank].worker, b.shares[rank].worker);
    EXPECT_EQ(a.shares[rank].rows_owned, b.shares[rank].rows_owned);
    EXPECT_EQ(a.shares[rank].skew_tv, b.shares[rank].skew_tv);
  }
  EXPECT_EQ(a.lacks.lacking_bytes, b.lacks.lacking_bytes);
}

TEST(foreseen_repair, is_the_repair_that_is_made_after_the_loss) {
  for (size_t chunks : {10, 4'000}) { // pieces, and groups of them
    const ledger::manifest set = some_set(chunks);
    const chunk_labels labels(set);
    const ledger::plan now = testing::placed(set);
    for (size_t lost = 0; lost < now.shares.size(); ++lost) {
      const foreseen_repair known = foresee(set, labels, 0.1, now, lost);
      const place_shares asked = without(now, lost);
      ASSERT_TRUE(answers(known, asked));
      expect_same(place(set, labels, known, asked),
                  place(set, labels, 0.1, asked));
    }
  }
}

TEST(foreseen_repair, keeps_to_the_limits_that_are_asked_for) {
  const ledger::manifest set = some_set(10);
  const chunk_labels labels(set);
  const ledger::plan now = testing::placed(set);
  const foreseen_repair known = foresee(set, labels, 0.1, now, 1);
  place_shares asked = without(now, 1);
  for (uint64_t of_all : {2, 3}) { // too little, and enough
    asked.limits = {labels.bytes() * of_all / 5, labels.bytes() * of_all / 5};
    expect_same(place(set, labels, known, asked),
                place(set, labels, 0.1, asked));
  }
}

TEST(foreseen_repair, answers_nothing_else) {
  const ledger::manifest set = some_set(10);
  const ledger::plan now = testing::placed(set);
  const foreseen_repair known = foresee(set, chunk_labels(set), 0.1, now, 1);
  EXPECT_TRUE(answers(known, without(now, 1)));
  EXPECT_FALSE(answers(known, without(now, 2))) << "another loss";
  place_shares newcomer = without(now, 1);
  newcomer.workers.push_back(worker_id{77});
  EXPECT_FALSE(answers(known, newcomer));
  place_shares other = without(now, 1);
  other.before.number = next(now.number);
  EXPECT_FALSE(answers(known, other)) << "of another plan";
}

TEST(foreseen_repair, is_not_made_where_all_would_take_much_memory_or_nobody) {
  ledger::plan now{plan_number{1}, generation{1}, {}};
  for (uint32_t rank = 0; rank < 64; ++rank)
    now.shares.push_back({worker_id{rank + 1}, plan_number{1}, 1, {}, rank});
  now.shares[0].intervals = std::vector<ledger::interval>(62'500);
  EXPECT_TRUE(may_foresee(now));
  now.shares[1].intervals = std::vector<ledger::interval>(1);
  EXPECT_FALSE(may_foresee(now));
  now.shares.resize(1);
  EXPECT_FALSE(may_foresee(now)) << "there is nobody to take over";
}

} // namespace
} // namespace ballast::balance
