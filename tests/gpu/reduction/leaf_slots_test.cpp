// Goal: whatever leaves a worker has, and however many threads compute them,
// the parts that it ends with add up to the same bits. Method: leaves of a few
// random floats, against the tree walked by recursion.
#include "gpu/reduction/leaf_slots.hpp"

#include "collectives/zeroed_memory.hpp"
#include "gpu/reduction/leaf_team.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <utility>

namespace ballast::gpu {
namespace {

constexpr size_t width = 5;
using values = std::vector<float>;

/// Of sizes that make the order of a sum show in its bits.
values leaf_values(uint32_t leaf) {
  const counter_random random(7, leaf);
  values out;
  for (size_t i = 0; i < width; ++i)
    out.push_back(float((2 * random.unit(2 * i) - 1) *
                        (random.unit(2 * i + 1) > 0.5 ? 1e6 : 1e-3)));
  return out;
}

bool has_rows(uint32_t leaf, uint32_t leaves, uint64_t rows) {
  const ledger::step_rows of = ledger::rows_of({leaf, leaf + 1}, rows, leaves);
  return of.begin < of.end;
}

/// Empty: absent.
values oracle(ledger::tree_node node, uint32_t leaves, uint64_t rows) {
  if (node.leaves == 1)
    return has_rows(node.begin, leaves, rows) ? leaf_values(node.begin)
                                              : values{};
  const uint32_t half = node.leaves / 2;
  values low = oracle({node.begin, half}, leaves, rows);
  const values high = oracle({node.begin + half, half}, leaves, rows);
  if (low.empty() || high.empty())
    return low.empty() ? high : low;
  for (size_t i = 0; i < width; ++i)
    low[i] += high[i];
  return low;
}

/// The parts of a range, computed by so many threads; each leaf's floats are
/// added up as they come, last first, or when it is done.
std::vector<values> parts_of(ledger::leaf_range mine, uint32_t leaves,
                             uint64_t rows, size_t threads,
                             bool piecewise = false) {
  leaf_memory memory = lay_out_leaves(leaves, threads, width, 2);
  memory.values = collectives::zeroed_floats(memory.floats());
  leaf_slots slots(memory);
  leaf_team team(threads);
  slots.begin({mine}, leaves, rows, nullptr);
  team.run([&](size_t) {
    while (const auto at = slots.take(piecewise)) {
      const values of = leaf_values(at->leaf);
      std::copy(of.begin(), of.end(), at->gradients);
      std::fill_n(at->statistics, 2, float(at->leaf));
      slots.add_up(*at, 3, width - 3);
      slots.add_up(*at, 0, 3);
      slots.done(*at);
    }
  });
  std::vector<values> out;
  for (const ledger::tree_node& node : ledger::nodes_of(mine)) {
    const values expected = oracle(node, leaves, rows);
    if (expected.empty())
      continue;
    const float* from = memory.gradients_at(out.size());
    out.emplace_back(from, from + width);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), from,
                           [](float one, float other) {
                             return std::bit_cast<uint32_t>(one) ==
                                    std::bit_cast<uint32_t>(other);
                           }))
        << "leaves from " << node.begin << ", " << node.leaves << " of "
        << leaves << ", " << rows << " rows";
  }
  return out;
}

TEST(leaf_slots, end_with_the_sums_of_the_largest_nodes_of_any_range) {
  for (uint32_t leaves : {1U, 2U, 8U, 16U})
    for (uint32_t begin = 0; begin < leaves; ++begin)
      for (uint32_t end = begin + 1; end <= leaves; ++end)
        for (uint64_t rows : {uint64_t{leaves}, uint64_t{3}, uint64_t{1}})
          for (size_t threads : {1, 3})
            for (bool piecewise : {false, true})
              parts_of({begin, end}, leaves, rows, threads, piecewise);
}

TEST(leaf_slots, add_a_leaf_to_all_that_it_completes_at_once) {
  leaf_memory memory = lay_out_leaves(8, 1, width, 0);
  memory.values = collectives::zeroed_floats(memory.floats());
  leaf_slots slots(memory);
  slots.begin({{0, 8}}, 8, 8, nullptr);
  for (size_t sums : {0, 1, 0, 2, 0, 1, 0, 3}) {
    const auto at = slots.take(true);
    ASSERT_TRUE(at);
    EXPECT_EQ(at->beside.size(), sums) << "leaf " << at->leaf;
    slots.add_up(*at, 0, width);
    slots.done(*at);
  }
}

TEST(leaf_slots, keep_no_sum_that_a_leaf_was_being_added_to) {
  leaf_memory memory = lay_out_leaves(4, 1, width, 0);
  memory.values = collectives::zeroed_floats(memory.floats());
  leaf_slots slots(memory);
  slots.begin({{0, 4}}, 4, 4, nullptr);
  slots.done(*slots.take(true));
  EXPECT_EQ(slots.held().size(), 1u);
  const auto broken_off = slots.take(true);
  slots.add_up(*broken_off, 0, 2);
  EXPECT_TRUE(slots.held().empty());
}

TEST(leaf_slots, are_used_again_by_later_leaves) {
  EXPECT_LE(lay_out_leaves(1024, 2, width, 0).slots, 40u);
  for (bool piecewise : {false, true}) {
    parts_of({0, 1024}, 1024, 1024, 2, piecewise);
    parts_of({1, 1023}, 1024, 1024, 3, piecewise);
  }
}

TEST(leaf_slots, put_the_sum_of_all_where_a_lone_worker_wants_it) {
  leaf_memory memory = lay_out_leaves(8, 1, width, 0);
  memory.values = collectives::zeroed_floats(memory.floats());
  leaf_slots slots(memory);
  values sum(width);
  slots.begin({{0, 8}}, 8, 8, sum.data());
  while (const auto at = slots.take()) {
    const values of = leaf_values(at->leaf);
    std::copy(of.begin(), of.end(), at->gradients);
    slots.done(*at);
  }
  EXPECT_EQ(sum, oracle({0, 8}, 8, 8));
}

TEST(leaf_slots, hand_out_nothing_once_given_up) {
  leaf_memory memory = lay_out_leaves(8, 1, width, 0);
  memory.values = collectives::zeroed_floats(memory.floats());
  leaf_slots slots(memory);
  slots.begin({{0, 8}}, 8, 8, nullptr);
  EXPECT_TRUE(slots.take());
  slots.give_up();
  EXPECT_FALSE(slots.take());
}

TEST(leaf_team, does_the_work_on_each_thread_once_a_round) {
  leaf_team team(4);
  for (int round = 0; round < 50; ++round) {
    std::mutex mutex;
    std::multiset<size_t> seen;
    team.run([&](size_t i) {
      std::lock_guard lock(mutex);
      seen.insert(i);
    });
    EXPECT_EQ(seen, (std::multiset<size_t>{0, 1, 2, 3}));
  }
}

TEST(leaf_team, throws_what_a_thread_threw_when_all_have_ended) {
  leaf_team team(3);
  std::atomic<int> ended{0};
  EXPECT_THROW(team.run([&](size_t i) {
    ++ended;
    if (i == 2)
      throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(ended, 3);
  team.run([](size_t) {});
}

} // namespace
} // namespace ballast::gpu
