// Goal: what the shard manager is asked for when a worker dies is there, if
// there was time to make it, and never one of another plan. Method: the thread
// itself, and patience.
#include "actors/foreseen_repairs.hpp"

#include "runtime/balance/repair.hpp"

#include <chrono>
#include <gtest/gtest.h>

namespace ballast::actors {
namespace {

class foreseen : public ::testing::Test {
protected:
  foreseen() {
    set_ = std::make_shared<ledger::manifest>();
    set_->row.classes = 2;
    for (uint32_t i = 0; i < 24; ++i) {
      ledger::chunk_info& one = set_->train.emplace_back();
      one.id = chunk_id{i};
      one.label_histogram = {10 + i, 20};
      one.rows = 30 + i;
      one.bytes = 100 * one.rows;
      set_->train_rows += one.rows;
    }
    labels_ = std::make_shared<balance::chunk_labels>(*set_);
    now_ = first_plan(*set_, {worker_id{1}, worker_id{2}, worker_id{3}},
                      generation{1}, plan_number{1});
  }
  balance::place_shares without(size_t lost) const {
    balance::place_shares out{next(now_.generation), plan_number{9}, {}, now_};
    for (size_t rank = 0; rank < now_.shares.size(); ++rank)
      if (rank != lost)
        out.workers.push_back(now_.shares[rank].worker);
    return out;
  }
  /// Asked for again and again: what is asked for ends what is being made.
  std::optional<balance::foreseen_repair> in_time(foreseen_repairs& from,
                                                  size_t lost) const {
    using clock = std::chrono::steady_clock;
    const auto until = clock::now() + std::chrono::seconds(30);
    while (clock::now() < until) {
      from.in_force(now_, 0.1);
      const auto soon = clock::now() + std::chrono::milliseconds(20);
      while (clock::now() < soon)
        std::this_thread::yield();
      if (auto found = from.take(without(lost)))
        return found;
    }
    return std::nullopt;
  }

  std::shared_ptr<ledger::manifest> set_;
  std::shared_ptr<balance::chunk_labels> labels_;
  ledger::plan now_;
};

TEST_F(foreseen, repairs_are_those_that_would_be_made_then) {
  foreseen_repairs all(set_, labels_);
  for (size_t lost = 0; lost < 3; ++lost) {
    const auto found = in_time(all, lost);
    ASSERT_TRUE(found);
    EXPECT_EQ(place(*set_, *labels_, *found, without(lost)).what,
              place(*set_, *labels_, 0.1, without(lost)).what);
  }
}

TEST_F(foreseen, repairs_of_another_plan_are_forgotten) {
  foreseen_repairs all(set_, labels_);
  ASSERT_TRUE(in_time(all, 0));
  const balance::place_shares asked = without(1);
  now_.number = next(now_.number);
  all.in_force(now_, 0.1);
  EXPECT_FALSE(all.take(asked));
}

TEST_F(foreseen, repairs_are_none_before_a_plan_is_in_force) {
  foreseen_repairs all(set_, labels_);
  EXPECT_FALSE(all.take(without(0)));
}

} // namespace
} // namespace ballast::actors
