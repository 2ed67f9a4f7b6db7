// What every collective backend must compute, by its declared capabilities.
// Ranks are threads here. Who may join, and what happens when something goes
// wrong, is in collective_trouble_test.cpp; what needs processes (kills, stops)
// in collective_faults_test.cpp.
#include "collectives/bfloat16.hpp"
#include "collectives/collective.hpp"
#include "gpu/collective_backends.hpp"
#include "tests/collectives/harness.hpp"
#include "tests/collectives/values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <numeric>

namespace ballast::collectives {
namespace {

using ballast::testing::check_sum;
using ballast::testing::complaints;
using ballast::testing::outcome;
using ballast::testing::random_bits;
using ballast::testing::rank_group;
using ballast::testing::sanitized;
using ballast::testing::small_sum;
using ballast::testing::small_value;
using ballast::testing::soon;

class collective_backends : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    if (GetParam() == "nccl") {
      const std::string reason = ballast::testing::why_no_nccl();
      if (!reason.empty())
        GTEST_SKIP() << reason;
    }
  }
};

// Goal: sums are right for every size that matters (none, one, odd, around
// segment borders, large) and every number of ranks, also for buffers at odd
// addresses.
TEST_P(collective_backends, all_reduce_sums_every_size_on_1_to_8_ranks) {
  const std::vector<size_t> counts = {
      0, 1, 2, 3, 7, 16, 63, 64, 65, 1000, 4097, 16384, 65537, 262144, 300001};
  for (int size = 1; size <= 8; size += sanitized && size > 2 ? 2 : 1) {
    rank_group ranks(GetParam(), size);
    auto out = ranks.run([&](collective& c) {
      for (size_t count : counts) {
        EXPECT_EQ(check_sum<float>(c, count, element_type::float32, 1), "")
            << "float32, rank " << c.rank() << " of " << size;
        EXPECT_EQ(check_sum<double>(c, count, element_type::float64, 1), "")
            << "float64, rank " << c.rank() << " of " << size;
      }
      c.barrier(soon());
    });
    ASSERT_EQ(complaints(out), "") << size << " ranks";
  }
}

TEST_P(collective_backends, all_reduce_sums_64_mebibytes) {
  rank_group ranks(GetParam(), 3);
  const size_t floats = size_t{sanitized ? 4u : 16u} << 20;
  auto out = ranks.run([&](collective& c) {
    EXPECT_EQ(check_sum<float>(c, floats + 5, element_type::float32), "");
  });
  EXPECT_EQ(complaints(out), "");
}

// Goal: what a rank gets is bit for bit what every other rank gets, with
// values whose sum depends on the order of the additions.
TEST_P(collective_backends, every_rank_ends_with_the_same_bits) {
  for (int size : {2, 3, 5, 8}) {
    if (sanitized && size % 2 == 0) {
      continue;
    }
    rank_group ranks(GetParam(), size);
    for (size_t count : {5u, 1000u, 40000u, 500000u}) {
      std::vector<std::vector<float>> all(static_cast<size_t>(size));
      std::vector<double> exact(count), magnitude(count);
      for (int r = 0; r < size; ++r) {
        all[r].resize(count);
        for (size_t i = 0; i < count; ++i) {
          uint64_t bits = random_bits(1234, static_cast<uint64_t>(r), i);
          all[r][i] = std::ldexp(static_cast<float>(bits >> 40),
                                 static_cast<int>(bits % 20) - 30);
          exact[i] += all[r][i];
          magnitude[i] += std::fabs(all[r][i]);
        }
      }
      auto out = ranks.run([&](collective& c) {
        c.all_reduce(all[c.rank()].data(), count, element_type::float32,
                     soon());
        c.barrier(soon());
      });
      ASSERT_EQ(complaints(out), "");
      for (int r = 1; r < size; ++r) {
        ASSERT_EQ(
            std::memcmp(all[0].data(), all[r].data(), count * sizeof(float)), 0)
            << "rank " << r << " of " << size << ", " << count << " elements";
      }
      for (size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(all[0][i], exact[i], magnitude[i] * size * 1.2e-7);
      }
    }
  }
}

// Goal: the exact mean of unequal takes is the sum of gradient sums over the
// sum of counts, the count travelling in an operation of its own.
TEST_P(collective_backends, mean_with_unequal_counts_is_exact) {
  const std::vector<int> rows = {7, 0, 25, 1};
  rank_group ranks(GetParam(), 4);
  auto out = ranks.run([&](collective& c) {
    std::vector<float> sums(1001);
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] = static_cast<float>(rows[c.rank()] * small_value(0, i));
    }
    std::vector<float> trailer(16, 0.0f);
    trailer[0] = static_cast<float>(rows[c.rank()]);
    c.all_reduce(sums.data(), sums.size(), element_type::float32, soon());
    c.all_reduce(trailer.data(), trailer.size(), element_type::float32, soon());
    EXPECT_EQ(trailer[0], 33.0f);
    for (size_t i = 0; i < sums.size(); ++i) {
      EXPECT_EQ(sums[i] / trailer[0], static_cast<float>(small_value(0, i)));
    }
  });
  EXPECT_EQ(complaints(out), "");
}

TEST_P(collective_backends, bfloat16_is_added_or_refused_by_name) {
  rank_group ranks(GetParam(), 3);
  auto out = ranks.run([&](collective& c) {
    std::vector<uint16_t> data(2001);
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] = to_bfloat16(static_cast<float>(small_value(c.rank(), i)));
    }
    c.all_reduce(data.data(), data.size(), element_type::bfloat16, soon());
    for (size_t i = 0; i < data.size(); ++i) {
      ASSERT_EQ(from_bfloat16(data[i]), static_cast<float>(small_sum(3, i)));
    }
  });
  if (ranks.can().bfloat16) {
    EXPECT_EQ(complaints(out), "");
  } else {
    for (const outcome& o : out) {
      ASSERT_TRUE(o.has_value());
      EXPECT_EQ(o->code(), collective_errc::unsupported);
    }
  }
}

TEST_P(collective_backends, broadcast_copies_the_bytes_of_any_root) {
  for (int size : {1, 2, 3, 6}) {
    rank_group ranks(GetParam(), size);
    auto out = ranks.run([&](collective& c) {
      for (int root = 0; root < size; root += sanitized ? 2 : 1) {
        for (size_t bytes : {0u, 1u, 64u, 100003u, 2000001u}) {
          std::string data(bytes, static_cast<char>('a' + c.rank()));
          c.broadcast(data.data(), bytes, root, soon());
          EXPECT_EQ(data, std::string(bytes, static_cast<char>('a' + root)));
        }
      }
    });
    EXPECT_EQ(complaints(out), "");
  }
}

TEST_P(collective_backends, who_lacks_bytes_gets_them_from_who_holds_them) {
  for (int size : {1, 2, 3, 6}) {
    rank_group ranks(GetParam(), size);
    auto out = ranks.run([&](collective& c) {
      for (int holder = 0; holder < size; ++holder) {
        for (size_t bytes : {0u, 1u, 100003u, 2000001u}) {
          std::vector<bytes_here> have;
          for (int r = 0; r < size; ++r) {
            have.push_back(r == holder || r % 3 == 0 ? bytes_here::all
                           : r % 3 == 1              ? bytes_here::none
                                                     : bytes_here::unused);
          }
          const bytes_here mine = have[static_cast<size_t>(c.rank())];
          std::string data(bytes, mine == bytes_here::all ? 'a' : 'x');
          c.fill_lacking(data.data(), bytes, have, soon());
          if (mine != bytes_here::unused) {
            EXPECT_EQ(data, std::string(bytes, 'a'));
          }
        }
      }
    });
    EXPECT_EQ(complaints(out), "");
  }
}

// Goal: reduce_scatter then all_gather is an all_reduce; a backend without the
// one refuses it as unsupported and stays usable.
TEST_P(collective_backends, reduce_scatter_and_all_gather_work_or_are_refused) {
  for (int size : {1, 2, 3, 5}) {
    for (size_t count : {0u, 2u, 1003u, 300001u}) {
      rank_group ranks(GetParam(), size);
      auto out = ranks.run([&](collective& c) {
        std::vector<float> data(count);
        for (size_t i = 0; i < count; ++i) {
          data[i] = static_cast<float>(small_value(c.rank(), i));
        }
        slice mine = slice_of(count, c.rank(), size);
        bool scattered = false;
        try {
          c.reduce_scatter(data.data(), count, element_type::float32, soon());
          scattered = true;
        } catch (const collective_error& e) {
          if (e.code() != collective_errc::unsupported) {
            throw;
          }
        }
        for (size_t i = mine.begin; scattered && i < mine.end; ++i) {
          ASSERT_EQ(data[i], static_cast<float>(small_sum(size, i)));
        }
        for (size_t i = mine.begin; i < mine.end; ++i) {
          data[i] = static_cast<float>(i % 1000);
        }
        c.all_gather(data.data(), count, element_type::float32, soon());
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(data[i], static_cast<float>(i % 1000)) << i;
        }
        c.barrier(soon());
      });
      EXPECT_EQ(complaints(out), "");
    }
  }
}

TEST_P(collective_backends, send_and_receive_work_or_are_refused) {
  rank_group ranks(GetParam(), 3);
  auto out = ranks.run([&](collective& c) {
    const int next = (c.rank() + 1) % 3, before = (c.rank() + 2) % 3;
    for (size_t bytes : {0u, 1u, 777u, 3000000u}) {
      std::string data(bytes, static_cast<char>('a' + c.rank()));
      std::string got(bytes, '?');
      if (c.rank() == 0) {
        c.send(data.data(), bytes, next, soon());
        c.receive(got.data(), bytes, before, soon());
      } else {
        c.receive(got.data(), bytes, before, soon());
        c.send(data.data(), bytes, next, soon());
      }
      ASSERT_EQ(got, std::string(bytes, static_cast<char>('a' + before)));
    }
    c.barrier(soon());
  });
  if (ranks.can().point_to_point) {
    EXPECT_EQ(complaints(out), "");
  } else {
    for (const outcome& o : out) {
      ASSERT_TRUE(o.has_value());
      EXPECT_EQ(o->code(), collective_errc::unsupported);
    }
  }
}

// Goal: many operations of mixed sizes one after another, without a barrier
// between them, ranks at different paces.
TEST_P(collective_backends, operations_follow_each_other_at_uneven_paces) {
  const int size = 4;
  rank_group ranks(GetParam(), size);
  auto out = ranks.run([&](collective& c) {
    for (uint64_t k = 0; k < 120; ++k) {
      uint64_t bits = random_bits(99, k, 0);
      size_t count = bits % 5 == 0 ? bits % 90000 : bits % 300;
      if (random_bits(7, k, static_cast<uint64_t>(c.rank())) % 4 == 0) {
        std::this_thread::yield();
      }
      if (bits % 7 == 0) {
        std::vector<char> data(count, static_cast<char>(c.rank()));
        c.broadcast(data.data(), count, static_cast<int>(bits % size), soon());
        ASSERT_TRUE(count == 0 || data[count - 1] == char(bits % size));
      } else if (bits % 11 == 0) {
        c.barrier(soon());
      } else {
        ASSERT_EQ(check_sum<float>(c, count, element_type::float32), "");
      }
    }
  });
  EXPECT_EQ(complaints(out), "");
}

// Goal: nobody leaves a barrier before everybody has entered it.
TEST_P(collective_backends, barrier_holds_everyone_until_the_last_one_comes) {
  const int size = 5;
  rank_group ranks(GetParam(), size);
  std::atomic<int> entered{0};
  auto out = ranks.run([&](collective& c) {
    for (int round = 1; round <= 30; ++round) {
      ++entered;
      c.barrier(soon());
      EXPECT_GE(entered.load(), round * size);
      c.barrier(soon());
    }
  });
  EXPECT_EQ(complaints(out), "");
}

TEST_P(collective_backends, states_go_from_ready_over_close_to_closed) {
  rank_group ranks(GetParam(), 3);
  auto out = ranks.run([&](collective& c) {
    EXPECT_EQ(c.state(), collective_state::ready);
    float x = 1;
    c.all_reduce(&x, 1, element_type::float32, soon());
    c.close(soon());
    EXPECT_EQ(c.state(), collective_state::closed);
    c.abort("too late");
    EXPECT_EQ(c.state(), collective_state::closed);
    EXPECT_THROW(c.barrier(soon()), collective_error);
  });
  EXPECT_EQ(complaints(out), "");
}

TEST_P(collective_backends, counts_the_bytes_it_sends) {
  rank_group ranks(GetParam(), 2);
  auto out = ranks.run([&](collective& c) {
    std::vector<float> data(100000);
    c.all_reduce(data.data(), data.size(), element_type::float32, soon());
    EXPECT_GE(c.bytes_sent(), 200000u);
    c.barrier(soon());
  });
  EXPECT_EQ(complaints(out), "");
}

// Goal: an arena may hold the data of an operation, and outlives the backend.
TEST_P(collective_backends, reduces_in_an_arena) {
  const int size = 3;
  const size_t floats = 300000;
  std::vector<std::shared_ptr<float[]>> arenas;
  {
    rank_group ranks(GetParam(), size);
    for (int r = 0; r < size; ++r) {
      arenas.push_back(ranks.backend(r).allocate_arena(floats));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(arenas[r].get()) % 64, 0u);
      ASSERT_EQ(arenas[r][floats - 1], 0.0f);
    }
    for (int round = 0; round < 3; ++round) {
      auto out = ranks.run([&](collective& c) {
        float* bucket = arenas[c.rank()].get() + 1001;
        for (size_t count : {10u, 1000u, 250001u}) {
          for (size_t i = 0; i < count; ++i) {
            bucket[i] = static_cast<float>(small_value(c.rank(), i));
          }
          c.all_reduce(bucket, count, element_type::float32, soon());
          for (size_t i = 0; i < count; ++i) {
            ASSERT_EQ(bucket[i], static_cast<float>(small_sum(size, i))) << i;
          }
        }
        c.barrier(soon());
      });
      ASSERT_EQ(complaints(out), "");
    }
  }
  EXPECT_EQ(arenas[0][1001], static_cast<float>(small_sum(size, 0)));
}

// Ranks are threads here: each takes a GPU of its own.
INSTANTIATE_TEST_SUITE_P(on_gpus, collective_backends,
                         ::testing::Values("nccl"),
                         ballast::testing::suite_test_name);

INSTANTIATE_TEST_SUITE_P(all, collective_backends,
                         ::testing::ValuesIn(ballast::testing::suite_names()),
                         ballast::testing::suite_test_name);

TEST(collective_backend, slices_cover_everything_once) {
  for (size_t count : {0u, 1u, 5u, 8u, 1000003u}) {
    for (int size : {1, 2, 3, 8, 17}) {
      size_t at = 0;
      for (int r = 0; r < size; ++r) {
        slice s = slice_of(count, r, size);
        EXPECT_EQ(s.begin, at);
        EXPECT_LE(s.end - s.begin, count / size + 1);
        at = s.end;
      }
      EXPECT_EQ(at, count);
    }
  }
}

TEST(collective_backend, an_unknown_name_is_refused_with_the_known_ones) {
  try {
    gpu::make_backend("carrier-pigeon");
    FAIL();
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::unsupported);
    for (const std::string& name : gpu::backend_names()) {
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos);
    }
  }
  EXPECT_NO_THROW(gpu::make_backend("auto"));
}

TEST(collective_backend, bfloat16_rounds_to_the_nearest_even) {
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0f)), 1.0f);
  EXPECT_EQ(to_bfloat16(1.0f + 1.0f / 256), to_bfloat16(1.0f)); // tie, down
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0f + 3.0f / 256)),
            1.0f + 4.0f / 256); // tie, up to even
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(NAN))));
  EXPECT_TRUE(std::isinf(from_bfloat16(to_bfloat16(INFINITY))));
  EXPECT_TRUE(std::isinf(from_bfloat16(to_bfloat16(3.4e38f))));
}

} // namespace
} // namespace ballast::collectives
