// What every collective backend must do, by its declared capabilities. Ranks
// are threads here; what needs processes (kills, stops) is in
// collective_faults_test.cpp.
#include "gpu/collective.hpp"
#include "gpu/collectives/bfloat16.hpp"
#include "runtime/random.hpp"
#include "tests/gpu/collective_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <mutex>
#include <numeric>

namespace ballast {
namespace {

using namespace std::chrono_literals;
using ballast::testing::complaints;
using ballast::testing::in;
using ballast::testing::outcome;
using ballast::testing::rank_group;
using ballast::testing::sanitized;
using ballast::testing::soon;

/// Small integers: exact in every type, so that sums are exact whatever the
/// order of the additions.
int small_value(int rank, size_t i) {
  return static_cast<int>((i * 7 + static_cast<size_t>(rank) * 13) % 11) - 5;
}

int small_sum(int size, size_t i) {
  int sum = 0;
  for (int r = 0; r < size; ++r) {
    sum += small_value(r, i);
  }
  return sum;
}

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t counter) {
  return counter_random(seed, stream).at(counter);
}

class collective_backends : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }
};

template <class T>
std::string check_sum(collective& c, size_t count, element_type type,
                      size_t shift = 0) {
  std::vector<T> data(count + shift + 1, T(77));
  for (size_t i = 0; i < count; ++i) {
    data[shift + i] = static_cast<T>(small_value(c.rank(), i));
  }
  c.all_reduce(data.data() + shift, count, type, soon());
  for (size_t i = 0; i < count; ++i) {
    if (data[shift + i] != static_cast<T>(small_sum(c.size(), i))) {
      return "element " + std::to_string(i) + " of " + std::to_string(count) +
             " is " + std::to_string(data[shift + i]) + ", expected " +
             std::to_string(small_sum(c.size(), i));
    }
  }
  return data.back() == T(77) ? "" : "wrote behind the end";
}

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

// -- who may join -------------------------------------------------------------

/// Every rank must refuse: the spoiled one and those that see its blob.
void expect_mismatch(const std::string& backend, const rank_group::edit& spoil,
                     const std::string& word) {
  rank_group ranks(backend, 3);
  auto out =
      ranks.run([](collective&) { ADD_FAILURE() << "joined"; }, spoil, in(10s));
  for (const outcome& o : out) {
    ASSERT_TRUE(o.has_value());
    EXPECT_EQ(o->code(), collective_errc::mismatch) << o->what();
    EXPECT_NE(std::string(o->what()).find(word), std::string::npos)
        << o->what();
  }
}

TEST_P(collective_backends, refuses_a_rank_of_another_generation) {
  expect_mismatch(
      GetParam(),
      [](collective_options& o) {
        o.generation = o.rank == 1 ? generation{3} : o.generation;
      },
      "generation");
}

TEST_P(collective_backends, refuses_a_rank_with_another_layout) {
  expect_mismatch(
      GetParam(),
      [](collective_options& o) { o.layout_hash += o.rank == 2 ? 1 : 0; },
      "layout");
}

TEST_P(collective_backends, refuses_a_rank_with_another_token) {
  expect_mismatch(
      GetParam(),
      [](collective_options& o) { o.token += o.rank == 0 ? "x" : ""; },
      "token");
}

TEST_P(collective_backends, refuses_a_rank_with_another_size) {
  expect_mismatch(
      GetParam(), [](collective_options& o) { o.size += o.rank == 1 ? 1 : 0; },
      "");
}

TEST_P(collective_backends, refuses_a_blob_that_is_none) {
  rank_group ranks(GetParam(), 2);
  auto open = ranks.prepare();
  for (const char* bad : {"", "{}", "127.0.0.1:1", "{\"version\":1}"}) {
    try {
      open[0]->connect({open[0]->address(), bad}, in(5s));
      ADD_FAILURE() << "joined '" << bad << "'";
    } catch (const collective_error& e) {
      EXPECT_EQ(e.code(), collective_errc::mismatch) << e.what();
      EXPECT_EQ(e.peer(), 1);
    }
  }
}

TEST_P(collective_backends, refuses_an_impossible_rank) {
  rank_group ranks(GetParam(), 1);
  for (auto [rank, size] : {std::pair{-1, 2}, {2, 2}, {0, 0}, {0, 100000}}) {
    collective_options options;
    options.rank = rank;
    options.size = size;
    EXPECT_THROW(ranks.backend(0).prepare(options), collective_error);
  }
}

// -- trouble ------------------------------------------------------------------

TEST_P(collective_backends, connect_gives_up_at_its_deadline) {
  rank_group ranks(GetParam(), 3);
  auto open = ranks.prepare();
  std::vector<std::string> addresses;
  for (auto& o : open) {
    addresses.push_back(o->address());
  }
  auto started = std::chrono::steady_clock::now();
  auto out = ranks.each_rank([&](int r) {
    if (r != 2) { // rank 2 never comes
      open[r]->connect(addresses, in(300ms));
    }
  });
  EXPECT_TRUE(out[0] && out[1]);
  EXPECT_LT(std::chrono::steady_clock::now() - started, 10s);
}

TEST_P(collective_backends, abort_of_an_opening_ends_its_connect) {
  rank_group ranks(GetParam(), 2);
  auto open = ranks.prepare();
  std::thread other([&] { open[0]->abort("a test says so"); });
  try {
    open[0]->connect({open[0]->address(), open[1]->address()}, in(30s));
    ADD_FAILURE() << "joined a rank that never came";
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::aborted) << e.what();
    EXPECT_NE(std::string(e.what()).find("a test says so"), std::string::npos);
  }
  other.join();
}

TEST_P(collective_backends, an_operation_gives_up_at_its_deadline) {
  rank_group ranks(GetParam(), 3);
  std::atomic<int> left{0};
  auto out = ranks.run([&](collective& c) {
    std::vector<float> data(50000);
    if (c.rank() == 1) { // comes to no operation, but is alive
      while (left < 2) {
        std::this_thread::yield();
      }
      return;
    }
    try {
      c.all_reduce(data.data(), data.size(), element_type::float32, in(200ms));
    } catch (...) {
      ++left;
      EXPECT_EQ(c.state(), collective_state::dead);
      throw;
    }
    ++left;
  });
  for (int r : {0, 2}) {
    ASSERT_TRUE(out[r].has_value());
    EXPECT_TRUE(out[r]->code() == collective_errc::timeout ||
                out[r]->code() == collective_errc::peer_lost)
        << out[r]->what();
  }
}

// Goal: abort on one rank frees every rank long before the deadline, where the
// backend says so; elsewhere everybody is out at the deadline.
TEST_P(collective_backends, abort_frees_every_rank) {
  const int size = 4;
  rank_group ranks(GetParam(), size);
  const bool abortable = ranks.can().abortable;
  const auto patience = abortable ? 30s : 2s;
  std::atomic<int> inside{0};
  std::mutex mutex;
  collective* victim = nullptr;
  std::atomic<bool> aborted{false};
  std::thread aborter([&] {
    while (inside < size - 1) {
      std::this_thread::yield();
    }
    std::lock_guard lock(mutex);
    victim->abort("a test says so");
    victim->abort("twice");
    aborted = true;
  });
  auto started = std::chrono::steady_clock::now();
  std::atomic<int> left{0};
  auto out = ranks.run([&](collective& c) {
    std::vector<float> data(200000);
    if (c.rank() == 0) {
      std::lock_guard lock(mutex);
      victim = &c;
    }
    c.barrier(soon());
    if (c.rank() == size - 1) { // never joins in: all others wait
      while (left < size - 1) {
        std::this_thread::yield();
      }
      return;
    }
    ++inside;
    try {
      c.all_reduce(data.data(), data.size(), element_type::float32,
                   in(patience));
      ADD_FAILURE() << "reduced without the last rank";
    } catch (...) {
      ++left;
      while (c.rank() == 0 && !aborted) { // it must outlive its aborter
        std::this_thread::yield();
      }
      throw;
    }
  });
  aborter.join();
  for (int r = 0; r < size - 1; ++r) {
    ASSERT_TRUE(out[r].has_value());
  }
  EXPECT_EQ(out[0]->code(), collective_errc::aborted) << out[0]->what();
  if (abortable) {
    EXPECT_LT(std::chrono::steady_clock::now() - started, 20s);
  }
}

TEST_P(collective_backends,
       nothing_works_after_a_failure_but_a_new_generation) {
  rank_group ranks(GetParam(), 2);
  for (int round = 0; round < 3; ++round) {
    auto out = ranks.run([&](collective& c) {
      float x = 1;
      c.all_reduce(&x, 1, element_type::float32, soon());
      EXPECT_EQ(x, 2.0f);
      c.barrier(soon());
      c.abort("the end of this generation");
      EXPECT_EQ(c.state(), collective_state::dead);
      EXPECT_THROW(c.all_reduce(&x, 1, element_type::float32, soon()),
                   collective_error);
      EXPECT_THROW(c.broadcast(&x, 4, 0, soon()), collective_error);
      EXPECT_THROW(c.barrier(soon()), collective_error);
    });
    EXPECT_EQ(complaints(out), "");
  }
}

// Goal: whoever calls something else than the others learns it; nobody is
// given a wrong sum, and nobody waits for ever.
TEST_P(collective_backends, ranks_that_call_differently_are_told) {
  const int size = 4;
  if (!rank_group(GetParam(), 1).can().checks_calls) {
    GTEST_SKIP() << GetParam() << " does not compare calls";
  }
  std::vector<double> data(40000);
  using odd_call = std::function<void(collective&, bool odd, double*)>;
  const std::pair<const char*, odd_call> calls[] = {
      {"small counts",
       [](collective& c, bool odd, double* x) {
         c.all_reduce(x, odd ? 3 : 4, element_type::float32, in(20s));
       }},
      {"large counts",
       [](collective& c, bool odd, double* x) {
         c.all_reduce(x, odd ? 39999 : 40000, element_type::float64, in(20s));
       }},
      {"types of one size",
       [](collective& c, bool odd, double* x) {
         c.all_reduce(x, odd ? 500 : 1000,
                      odd ? element_type::float64 : element_type::float32,
                      in(20s));
       }},
      {"roots", [](collective& c, bool odd,
                   double* x) { c.broadcast(x, 1000, odd ? 1 : 0, in(20s)); }},
      {"operations",
       [](collective& c, bool odd, double* x) {
         odd ? c.barrier(in(20s))
             : c.all_reduce(x, 1000, element_type::float32, in(20s));
       }},
  };
  for (const auto& [what, call] : calls) {
    rank_group ranks(GetParam(), size);
    std::vector<std::vector<double>> all(size, data);
    auto started = std::chrono::steady_clock::now();
    auto out = ranks.run([&, &call = call](collective& c) {
      call(c, c.rank() == 2, all[c.rank()].data());
      c.barrier(in(20s)); // a broadcast's root may be done before it is told
    });
    int told = 0;
    for (const outcome& o : out) {
      ASSERT_TRUE(o.has_value()) << what;
      told += o->code() == collective_errc::mismatch;
    }
    EXPECT_GE(told, 1) << what << "\n" << complaints(out);
    EXPECT_LT(std::chrono::steady_clock::now() - started, 15s) << what;
  }
}

// Goal: the next generation opens, and works, while the last one is in use;
// neither disturbs the other.
TEST_P(collective_backends, two_generations_of_a_process_work_at_once) {
  const int size = 3;
  rank_group ranks(GetParam(), size);
  auto open = ranks.prepare();
  std::vector<std::string> addresses;
  for (auto& o : open) {
    addresses.push_back(o->address());
  }
  auto reduce_some = [](collective& c) {
    for (int k = 0; k < 40; ++k) {
      ASSERT_EQ(
          check_sum<float>(c, k % 4 == 0 ? 70000 : 100, element_type::float32),
          "");
    }
    c.barrier(soon());
  };
  std::vector<std::string> trouble(size);
  auto out = ranks.run([&](collective& old) {
    std::thread next([&] {
      try {
        auto joined = open[old.rank()]->connect(addresses, soon());
        reduce_some(*joined);
        joined->close(soon());
      } catch (const std::exception& e) {
        trouble[old.rank()] = e.what();
      }
    });
    reduce_some(old);
    next.join();
  });
  EXPECT_EQ(complaints(out), "");
  for (const std::string& t : trouble) {
    EXPECT_EQ(t, "");
  }
}

// Goal: once a rank's collective is gone its buffers are its own again, while
// others may still be in the operation that used them.
TEST_P(collective_backends, an_arena_may_go_after_its_collective) {
  const int size = 3;
  const size_t floats = 200000;
  if (!rank_group(GetParam(), 1).can().abortable) {
    GTEST_SKIP() << GetParam() << " cannot be left in mid-operation";
  }
  for (uint64_t round = 0; round < 12; ++round) {
    rank_group ranks(GetParam(), size);
    std::vector<std::shared_ptr<float[]>> arenas;
    for (int r = 0; r < size; ++r) {
      arenas.push_back(ranks.backend(r).allocate_arena(floats));
    }
    auto open = ranks.prepare();
    std::vector<std::string> addresses;
    for (auto& o : open) {
      addresses.push_back(o->address());
    }
    std::atomic<uint64_t> done{0};
    auto out = ranks.each_rank([&](int r) {
      auto joined = open[r]->connect(addresses, soon());
      std::thread aborter([&] {
        while (r == 0 && done < random_bits(5, round, 0) % 30) {
          std::this_thread::yield();
        }
        if (r == 0) {
          joined->abort("enough");
        }
      });
      outcome end;
      try {
        while (true) {
          joined->all_reduce(arenas[r].get(), floats, element_type::float32,
                             soon());
          ++done;
        }
      } catch (const collective_error& e) {
        end = e;
      }
      aborter.join();
      joined.reset();
      std::fill_n(arenas[r].get(), floats, 1.0f);
      arenas[r].reset();
      throw *end;
    });
    for (int r = 0; r < size; ++r) {
      ASSERT_TRUE(out[r]->code() == collective_errc::aborted ||
                  out[r]->code() == collective_errc::peer_lost)
          << complaints(out);
    }
  }
}

// Goal: a rank whose object is dropped in mid-run does not leave the others
// waiting for ever.
TEST_P(collective_backends, a_dropped_rank_ends_the_others) {
  rank_group ranks(GetParam(), 3);
  const auto patience = ranks.can().sees_peer_death ? 30s : 2s;
  auto started = std::chrono::steady_clock::now();
  auto out = ranks.run([&](collective& c) {
    c.barrier(soon());
    if (c.rank() == 1) {
      return;
    }
    std::vector<float> data(100000);
    c.all_reduce(data.data(), data.size(), element_type::float32, in(patience));
    ADD_FAILURE() << "reduced without rank 1";
  });
  EXPECT_TRUE(out[0] && out[2]);
  if (ranks.can().sees_peer_death) {
    EXPECT_EQ(out[0]->code(), collective_errc::peer_lost) << out[0]->what();
    EXPECT_LT(std::chrono::steady_clock::now() - started, 20s);
  }
}

TEST_P(collective_backends, opens_and_closes_many_generations) {
  rank_group ranks(GetParam(), 3);
  for (int k = 0; k < 25; ++k) {
    auto out = ranks.run([&](collective& c) {
      EXPECT_EQ(check_sum<float>(c, 1000, element_type::float32), "");
      c.close(soon());
    });
    ASSERT_EQ(complaints(out), "") << "generation " << k;
  }
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

INSTANTIATE_TEST_SUITE_P(all, collective_backends,
                         ::testing::ValuesIn(ballast::testing::suite_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

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
    make_backend("carrier-pigeon");
    FAIL();
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::unsupported);
    for (const std::string& name : backend_names()) {
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos);
    }
  }
  EXPECT_NO_THROW(make_backend("auto"));
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
} // namespace ballast
