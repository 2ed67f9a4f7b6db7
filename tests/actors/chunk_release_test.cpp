// Goal: a worker forgets what others own now once a step under their plan is
// applied, and not a moment before. Method: a real store, plans by hand.
#include "actors/chunk_release.hpp"

#include "tests/data/some_chunks.hpp"

#include <gtest/gtest.h>

namespace ballast::actors {
namespace {

constexpr worker_id self{2};
const ledger::row_shape row = data::shape_of(ledger::stored_type::uint8, 4, 3);

class releasing : public testing::Test {
protected:
  releasing() {
    for (uint32_t id = 0; id < 6; ++id) {
      ledger::chunk_info about;
      about.id = chunk_id(id);
      about.rows = 10;
      set_.train.push_back(about);
      set_.test.push_back(about);
      for (data::data_part part :
           {data::data_part::train, data::data_part::test})
        store_.put(part, data::some_chunk<uint8_t>(id, 10, row));
    }
  }

  /// Worker 1 owns chunks 0 to `border`, `self` the rest; of so many workers.
  static ledger::plan split_at(uint64_t number, uint32_t border,
                               uint32_t world = 2) {
    ledger::plan out{plan_number{number}, generation{1}, {}};
    for (uint32_t rank = 0; rank < world; ++rank)
      out.shares.push_back({worker_id{rank + 1}, out.number, 0, {}, rank});
    for (uint32_t id = 0; id < 6; ++id)
      out.shares[id < border ? 0 : 1].intervals.push_back(
          {chunk_id(id), 0, 10});
    return out;
  }

  size_t step_under(uint64_t number, const ledger::plan* next = nullptr) {
    ledger::step_record record;
    record.plan = plan_number{number};
    return release_.applied({record}, next, self, set_, store_);
  }

  std::string held(data::data_part part = data::data_part::train) const {
    std::string out;
    for (const ledger::chunk_info& one : set_.train)
      if (store_.find(part, one.id))
        out += to_string(one.id);
    return out;
  }

  ledger::manifest set_;
  data::chunk_store store_{1 << 20};
  chunk_release release_;
};

TEST_F(releasing, waits_for_a_step_under_the_plan) {
  release_.in_force(split_at(7, 2));
  EXPECT_EQ(step_under(6), 0u) << "of the plan before";
  EXPECT_EQ(held(), "012345") << "a fence may fall back to it";
  EXPECT_EQ(step_under(7), 2u + 3u);
  EXPECT_EQ(held(), "2345");
  EXPECT_EQ(held(data::data_part::test), "135")
      << "rank 1 of 2 evaluates these";
  EXPECT_EQ(step_under(7), 0u) << "once";
}

TEST_F(releasing, forgets_what_a_newcomer_owns_now) {
  release_.in_force(split_at(2, 0, 3));
  step_under(2);
  EXPECT_EQ(held(), "012345");
  EXPECT_EQ(held(data::data_part::test), "14") << "rank 1 of 3";
}

TEST_F(releasing, does_nothing_for_a_plan_that_never_had_a_step) {
  release_.in_force(split_at(7, 2));
  release_.in_force(split_at(8, 4)); // a fence came, and another plan
  EXPECT_EQ(step_under(7), 0u);
  EXPECT_EQ(step_under(8), 4u + 3u);
  EXPECT_EQ(held(), "45");
}

TEST_F(releasing, keeps_what_the_next_generation_needs) {
  ledger::plan next = split_at(9, 1);
  release_.in_force(split_at(8, 4));
  step_under(8, &next);
  EXPECT_EQ(held(), "12345");
}

TEST_F(releasing, keeps_what_was_fetched_for_a_later_plan) {
  fetch_order order;
  order.number = plan_number{9};
  order.sources = {{"w1", "", {{chunk_id{0}, 0, 10}, {chunk_id{3}, 0, 5}}}};
  release_.in_force(split_at(8, 4));
  release_.fetching(order);
  step_under(8);
  EXPECT_EQ(held(), "0345");
  // Its plan is in force, or was dropped and another one is.
  release_.in_force(split_at(10, 5));
  step_under(10);
  EXPECT_EQ(held(), "5");
}

} // namespace
} // namespace ballast::actors
