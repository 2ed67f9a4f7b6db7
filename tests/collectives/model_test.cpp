// The pure parts of the ring: who shares a host, and which algorithm is chosen.
#include "collectives/cost_model.hpp"
#include "collectives/host_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ballast::collectives {
namespace {

using ranks = std::vector<int>;

TEST(host_map, ranks_with_one_id_share_a_host) {
  host_map hosts = map_hosts({"a", "b", "a", "b", "c"}, 3, 64);
  EXPECT_EQ(hosts.local, (ranks{1, 3}));
  EXPECT_EQ(hosts.leaders, (ranks{0, 1, 4}));
  EXPECT_EQ(hosts.host_of, (ranks{0, 1, 0, 1, 2}));
}

TEST(host_map, an_empty_id_shares_with_nobody) {
  host_map hosts = map_hosts({"", "", "a", "a"}, 0, 64);
  EXPECT_EQ(hosts.local, (ranks{0}));
  EXPECT_EQ(hosts.leaders, (ranks{0, 1, 2}));
}

TEST(host_map, a_crowded_host_shares_nothing) {
  host_map hosts = map_hosts({"a", "a", "a", "b", "b"}, 0, 2);
  EXPECT_EQ(hosts.local, (ranks{0}));
  EXPECT_EQ(hosts.leaders, (ranks{0, 1, 2, 3}));
}

TEST(host_map, every_rank_computes_the_same_hosts) {
  std::vector<std::string> ids = {"x", "", "y", "x", "y", "", "x"};
  host_map first = map_hosts(ids, 0, 64);
  for (int r = 1; r < 7; ++r) {
    host_map other = map_hosts(ids, r, 64);
    EXPECT_EQ(other.leaders, first.leaders);
    EXPECT_EQ(other.host_of, first.host_of);
    EXPECT_NE(std::find(other.local.begin(), other.local.end(), r),
              other.local.end());
  }
}

TEST(cost_model, latency_decides_small_and_bandwidth_large_operations) {
  link_cost cost{50e-6, 1e-9};
  for (int n : {2, 3, 4, 7, 8, 64}) {
    EXPECT_EQ(choose_way(cost, n, 64), reduce_way::doubling) << n;
  }
  // With two ranks both move as much, in one step or in two.
  for (int n : {4, 7, 8, 64}) {
    EXPECT_EQ(choose_way(cost, n, 64u << 20), reduce_way::ring) << n;
  }
}

TEST(cost_model, two_ranks_add_half_as_much_where_the_line_is_slow) {
  const link_cost gigabit{100e-6, 8e-9};
  EXPECT_EQ(choose_way(gigabit, 2, 64u << 10), reduce_way::doubling);
  EXPECT_EQ(choose_way(gigabit, 2, 4u << 20), reduce_way::ring);
  const link_cost loopback{20e-6, 0.4e-9};
  EXPECT_EQ(choose_way(loopback, 2, 64u << 20), reduce_way::doubling);
}

TEST(cost_model, a_rank_sleeps_through_packets_of_a_slow_line_only) {
  EXPECT_EQ(wake_bytes({100e-6, 8e-9}), size_t{512} << 10);
  EXPECT_EQ(wake_bytes({20e-6, 0.4e-9}), 1u);
}

TEST(cost_model, the_choice_changes_once_with_the_size) {
  for (int n : {3, 4, 5, 8, 16, 100}) {
    link_cost cost{30e-6, 0.7e-9};
    bool ring = false;
    for (size_t bytes = 4; bytes < (size_t{1} << 28); bytes *= 2) {
      bool now = choose_way(cost, n, bytes) == reduce_way::ring;
      EXPECT_TRUE(!ring || now) << n << " ranks, " << bytes << " bytes";
      ring = now;
    }
    EXPECT_TRUE(ring);
  }
}

TEST(cost_model, one_shot_pays_longer_when_meeting_is_dear) {
  size_t limit = 1 << 20;
  size_t cheap = one_shot_limit({2e-6, 0.1e-9}, 4, limit);
  size_t dear = one_shot_limit({60e-6, 0.1e-9}, 4, limit);
  EXPECT_LT(cheap, dear);
  EXPECT_LE(dear, limit);
  EXPECT_GE(one_shot_limit({0, 1}, 64, limit), 4096u);
}

TEST(cost_model, finds_the_numbers_that_made_the_times) {
  // A ring of 4: 6 steps; 3/2 of the bytes cross each link.
  double small = 6 * 40e-6, large = small + 1.5 * 1e6 * 2e-9;
  link_cost cost = fit_link_cost(small, large, 1e6, 6, 1.5);
  EXPECT_NEAR(cost.latency_s, 40e-6, 1e-9);
  EXPECT_NEAR(cost.byte_s, 2e-9, 1e-12);
  // Times that contradict each other still give a usable model.
  EXPECT_GT(fit_link_cost(1e-3, 1e-4, 1e6, 6, 1.5).byte_s, 0);
}

} // namespace
} // namespace ballast::collectives
