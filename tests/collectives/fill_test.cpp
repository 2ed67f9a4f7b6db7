// Bytes that some ranks lack come from all who hold them: which way they go, in
// how many copies, and what happens where one of those who send them dies.
#include "collectives/fault_point.hpp"
#include "collectives/fill_route.hpp"
#include "tests/collectives/harness.hpp"
#include "tests/collectives/values.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace ballast::collectives {
namespace {

using ballast::testing::complaints;
using ballast::testing::outcome;
using ballast::testing::random_bits;
using ballast::testing::rank_group;
using ballast::testing::soon;
using ranks = std::vector<int>;

constexpr bytes_here holds = bytes_here::all, lacks = bytes_here::none,
                     unused = bytes_here::unused;
constexpr size_t mebibyte = size_t{1} << 20;

std::vector<char> content(size_t bytes) {
  std::vector<char> out(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<char>(random_bits(7, 0, i / 8) >> (i % 8 * 8));
  }
  return out;
}

/// `hosts`: by rank, the name of its host.
rank_group on_hosts(const std::vector<std::string>& hosts) {
  std::signal(SIGPIPE, SIG_IGN);
  return {[hosts](int rank) {
            ring_config config;
            config.host_id = hosts[static_cast<size_t>(rank)];
            return make_ring_backend("ring", config);
          },
          static_cast<int>(hosts.size())};
}

/// Fills; checks that all have the bytes. By rank, how many it sent.
std::vector<uint64_t> bytes_sent(rank_group ranks, size_t bytes,
                                 const std::vector<bytes_here>& have) {
  const std::vector<char> wanted = content(bytes);
  std::vector<uint64_t> out(have.size());
  const std::vector<outcome> outcomes = ranks.run([&](collective& c) {
    const auto rank = static_cast<size_t>(c.rank());
    std::vector<char> mine = wanted;
    if (have[rank] != holds) {
      mine.assign(bytes, 'x');
    }
    const uint64_t before = c.bytes_sent();
    c.fill_lacking(mine.data(), bytes, have, soon());
    out[rank] = c.bytes_sent() - before;
    if (have[rank] != unused) {
      EXPECT_TRUE(mine == wanted) << "rank " << rank;
    }
    c.barrier(soon());
  });
  EXPECT_EQ(complaints(outcomes), "");
  return out;
}

TEST(fill_route, one_rank_of_each_host_that_holds_gives) {
  const host_map hosts = map_hosts({"a", "a", "b", "c", "c", "d"}, 3, 64);
  const std::vector<bytes_here> have = {lacks, holds, holds,
                                        lacks, lacks, unused};
  const fill_route route = route_of(hosts, have);
  EXPECT_EQ(route.givers, (ranks{1, 2}));
  EXPECT_EQ(route.takers, (ranks{3}));
  EXPECT_EQ(route.near_root, 3) << "the other one here copies from it";
  EXPECT_FALSE(route.held_here);
  const fill_route of_giver =
      route_of(map_hosts({"a", "a", "b", "c", "c", "d"}, 0, 64), have);
  EXPECT_EQ(of_giver.givers, route.givers);
  EXPECT_EQ(of_giver.takers, route.takers);
  EXPECT_EQ(of_giver.near_root, 1);
  EXPECT_TRUE(of_giver.held_here);
}

TEST(fill_route, nobody_copies_where_nobody_lacks_anything) {
  const host_map hosts = map_hosts({"a", "a", "b", "b"}, 0, 64);
  const std::vector<bytes_here> all(4, holds);
  const fill_route route = route_of(hosts, all);
  EXPECT_EQ(route.takers, ranks{});
  EXPECT_EQ(route.near_root, -1);
}

TEST(fill_route, stripes_are_all_of_the_bytes_and_meet_at_pages) {
  for (size_t bytes : {size_t{1}, size_t{300'001}, 64 * mebibyte + 3})
    for (int stripes : {1, 2, 3, 7}) {
      size_t end = 0;
      for (int i = 0; i < stripes; ++i) {
        const slice part = stripe_of(bytes, i, stripes);
        EXPECT_EQ(part.begin, end);
        EXPECT_TRUE(part.begin % 4096 == 0 || part.begin == bytes);
        end = part.end;
      }
      EXPECT_EQ(end, bytes);
    }
}

TEST(fill_route, few_bytes_come_in_few_stripes) {
  fill_route route;
  for (int r = 0; r < 100; ++r) {
    route.givers.push_back(r);
  }
  route.takers = {100, 101, 102};
  EXPECT_EQ(route.stripes(1), 1);
  EXPECT_EQ(route.stripes(mebibyte), 8);
  EXPECT_EQ(route.stripes(100 * mebibyte), 100);
  EXPECT_EQ(route.entries(1), 1);
  EXPECT_EQ(route.entries(100 * mebibyte), 3);
}

TEST(fill, each_holder_sends_its_part_once) {
  const size_t bytes = 12 * mebibyte;
  const auto sent = bytes_sent(on_hosts({"a", "b", "c", "d"}), bytes,
                               {holds, holds, lacks, holds});
  for (size_t giver : {0, 1, 3}) {
    EXPECT_NEAR(double(sent[giver]), double(bytes) / 3, 10'000) << giver;
  }
  EXPECT_EQ(sent[2], 0U);
}

// Goal: a chain through all ranks, as a broadcast is one, has every holder send
// every byte once. It must not be more now, however many lack them.
TEST(fill, no_holder_sends_more_than_all_bytes_once) {
  const size_t bytes = 6 * mebibyte + 12'345;
  for (size_t givers : {1, 2, 3})
    for (size_t takers : {1, 2, 3, 5}) {
      SCOPED_TRACE(std::to_string(givers) + " to " + std::to_string(takers));
      std::vector<std::string> hosts;
      std::vector<bytes_here> have;
      for (size_t r = 0; r < givers + takers; ++r) {
        hosts.push_back("host " + std::to_string(r));
        have.push_back(r % 2 == 1 && r / 2 < givers ? holds : lacks);
      }
      for (size_t r = 0; std::ranges::count(have, holds) < ptrdiff_t(givers);
           r += 2) {
        have[r] = holds;
      }
      uint64_t all = 0;
      for (uint64_t one : bytes_sent(on_hosts(hosts), bytes, have)) {
        EXPECT_LE(one, bytes + 20'000);
        all += one;
      }
      EXPECT_NEAR(double(all), double(bytes * takers), 100'000)
          << "nothing goes to who has it";
    }
}

TEST(fill, hosts_that_hold_the_bytes_fill_their_own_ranks) {
  const size_t bytes = 4 * mebibyte;
  const auto sent = bytes_sent(on_hosts({"a", "b", "a", "b"}), bytes,
                               {holds, lacks, lacks, holds});
  EXPECT_EQ(sent, (std::vector<uint64_t>{bytes, 0, 0, bytes}))
      << "once, to the memory of the host";
}

TEST(fill, several_ranks_of_several_hosts_get_all) {
  const std::vector<std::string> hosts = {"a", "b", "c", "a", "b",
                                          "c", "d", "d", "e"};
  for (size_t bytes : {size_t{1000}, size_t{300'000}, 5 * mebibyte + 1}) {
    bytes_sent(
        on_hosts(hosts), bytes,
        {lacks, holds, lacks, holds, holds, lacks, unused, lacks, unused});
    bytes_sent(on_hosts(hosts), bytes,
               {lacks, lacks, lacks, lacks, lacks, lacks, lacks, holds, lacks});
  }
}

TEST(fill, is_refused_where_nobody_holds_the_bytes) {
  std::vector<char> data(mebibyte);
  auto out = on_hosts({"a", "b"}).run([&](collective& c) {
    const std::vector<bytes_here> have(2, lacks);
    c.fill_lacking(data.data(), data.size(), have, soon());
  });
  for (const outcome& one : out) {
    ASSERT_TRUE(one);
    EXPECT_EQ(one->code(), collective_errc::mismatch) << one->what();
  }
}

// Goal: one of those who send is gone in the middle: everybody is out at once,
// so that the generation can begin anew without it.
TEST(fill, ends_for_all_when_one_of_those_who_send_is_gone) {
  for (int victim : {0, 2, 3}) {
    std::atomic<int> reached{0};
    set_fault_hook([&](fault_point at, int rank) {
      if (at == fault_point::segment && rank == victim && ++reached == 3) {
        throw collective_error(collective_errc::aborted, "killed", victim);
      }
    });
    const size_t bytes = 32 * mebibyte;
    auto out = on_hosts({"a", "b", "c", "d", "e"}).run([&](collective& c) {
      const std::vector<bytes_here> have = {holds, lacks, holds, holds, lacks};
      std::vector<char> mine(bytes);
      c.fill_lacking(mine.data(), bytes, have, soon());
      c.barrier(soon());
    });
    set_fault_hook({});
    EXPECT_GE(reached, 3);
    for (const outcome& one : out) {
      ASSERT_TRUE(one) << "after the end of rank " << victim;
      EXPECT_TRUE(one->code() == collective_errc::aborted ||
                  one->code() == collective_errc::peer_lost)
          << one->what();
    }
  }
}

} // namespace
} // namespace ballast::collectives
