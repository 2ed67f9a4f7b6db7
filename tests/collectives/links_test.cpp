// What the links between hosts take and what they do not: lateness is no fault,
// silence of a whole host is.
#include "collectives/socket.hpp"
#include "tests/collectives/harness.hpp"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace ballast::collectives {
namespace {

using ballast::testing::complaints;
using ballast::testing::outcome;
using ballast::testing::rank_group;
using ballast::testing::soon;
using namespace std::chrono_literals;

rank_group impatient_ranks(int size, std::chrono::milliseconds link_timeout) {
  return {[=](int) {
            ring_config config;
            config.share_memory = false;
            config.link_timeout = link_timeout;
            return make_ring_backend("ring-tcp", config);
          },
          size};
}

// Goal: who waits for a slow rank with full buffers waits as long as it lives.
TEST(ring_links, a_late_rank_is_waited_for_longer_than_a_link_may_be_silent) {
  const size_t floats = size_t{8} << 20; // more than the kernel buffers
  rank_group ranks = impatient_ranks(2, 500ms);
  auto out = ranks.run([&](collective& c) {
    std::vector<float> data(floats, 1.0f);
    if (c.rank() == 1) { // computes
      const auto until = std::chrono::steady_clock::now() + 3s;
      std::this_thread::sleep_until(until);
    }
    c.all_reduce(data.data(), floats, element_type::float32, soon());
    EXPECT_EQ(data[floats - 1], 2.0f);
    c.barrier(soon());
  });
  EXPECT_EQ(complaints(out), "");
}

// Goal: ranks that sleep through packets, as on a slow line, never sleep
// through the last ones. Method: every operation, in sizes that leave a rest,
// in which each rank waits for what the one before it has received.
TEST(ring_links, a_rank_that_sleeps_through_packets_wakes_for_the_rest) {
  rank_group ranks({[](int) {
                      ring_config config;
                      config.share_memory = false;
                      config.costs.emplace();
                      config.costs->stream = {100e-6, 8e-9};
                      return make_ring_backend("ring-tcp", config);
                    },
                    3});
  auto out = ranks.run([](collective& c) {
    for (size_t floats : {1u, 1000u, 131073u, 400001u, 1u << 20}) {
      std::vector<float> data(floats, 1.0f);
      c.all_reduce(data.data(), floats, element_type::float32, soon());
      EXPECT_EQ(data[floats / 2], 3.0f);
      EXPECT_EQ(data[floats - 1], 3.0f);
      data.back() = float(c.rank());
      c.broadcast(data.data(), floats * sizeof(float), 1, soon());
      EXPECT_EQ(data[floats - 1], 1.0f);
      c.all_gather(data.data(), floats, element_type::float32, soon());
      if (c.rank() == 0) {
        c.send(data.data(), floats * sizeof(float), 2, soon());
      } else if (c.rank() == 2) {
        data.assign(floats, 0.0f);
        c.receive(data.data(), floats * sizeof(float), 0, soon());
        EXPECT_EQ(data[floats - 1], 1.0f);
      }
      c.barrier(soon());
    }
  });
  EXPECT_EQ(complaints(out), "");
}

/// Turns the loopback of this thread's network namespace on or off.
bool loopback(bool up) {
  unique_fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = static_cast<short>(up ? IFF_UP | IFF_RUNNING : 0);
  return ::ioctl(any.get(), SIOCSIFFLAGS, &request) == 0;
}

// Goal: a cable that is cut in mid-operation sends no goodbye and no reset;
// both sides notice all the same, whether they send, receive or both. The
// threads of this test have a network namespace, and so a cable, of their own.
TEST(ring_links, a_cut_cable_is_noticed_on_both_sides) {
  std::string refused;
  std::vector<outcome> out;
  std::chrono::steady_clock::time_point cut_at, noticed;
  std::thread world([&] {
    if (::unshare(CLONE_NEWNET) != 0 || !loopback(true)) {
      refused = std::strerror(errno);
      return;
    }
    rank_group ranks = impatient_ranks(2, 1000ms);
    std::atomic<int> done{0};
    std::thread cutter([&] { // inherits the namespace
      while (done < 20) {
        std::this_thread::yield();
      }
      cut_at = std::chrono::steady_clock::now();
      loopback(false);
    });
    out = ranks.run([&](collective& c) {
      std::vector<float> data(size_t{1} << 20);
      while (true) {
        c.all_reduce(data.data(), data.size(), element_type::float32, soon());
        ++done;
      }
    });
    noticed = std::chrono::steady_clock::now();
    cutter.join();
  });
  world.join();
  if (!refused.empty()) {
    GTEST_SKIP() << "no network namespace of its own (needs root): " << refused;
  }
  for (const outcome& o : out) {
    ASSERT_TRUE(o.has_value());
    EXPECT_EQ(o->code(), collective_errc::peer_lost) << o->what();
  }
  EXPECT_LT(noticed - cut_at, 20s);
}

} // namespace
} // namespace ballast::collectives
