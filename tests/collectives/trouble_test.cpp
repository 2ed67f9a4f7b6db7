// Who may join a generation of any backend, and what the ranks are told when
// something goes wrong, by declared capabilities. Ranks are threads here.
#include "collectives/collective.hpp"
#include "tests/collectives/harness.hpp"
#include "tests/collectives/values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

namespace ballast::collectives {
namespace {

using namespace std::chrono_literals;
using ballast::testing::check_sum;
using ballast::testing::complaints;
using ballast::testing::in;
using ballast::testing::outcome;
using ballast::testing::random_bits;
using ballast::testing::rank_group;
using ballast::testing::soon;

class collective_trouble : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }
};

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

TEST_P(collective_trouble, refuses_a_rank_of_another_generation) {
  expect_mismatch(
      GetParam(),
      [](collective_options& o) {
        o.generation = o.rank == 1 ? generation{3} : o.generation;
      },
      "generation");
}

TEST_P(collective_trouble, refuses_a_rank_with_another_layout) {
  expect_mismatch(
      GetParam(),
      [](collective_options& o) { o.layout_hash += o.rank == 2 ? 1 : 0; },
      "layout");
}

TEST_P(collective_trouble, refuses_a_rank_with_another_token) {
  expect_mismatch(
      GetParam(),
      [](collective_options& o) { o.token += o.rank == 0 ? "x" : ""; },
      "token");
}

TEST_P(collective_trouble, refuses_a_rank_with_another_size) {
  expect_mismatch(
      GetParam(), [](collective_options& o) { o.size += o.rank == 1 ? 1 : 0; },
      "");
}

TEST_P(collective_trouble, refuses_a_blob_that_is_none) {
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

TEST_P(collective_trouble, refuses_an_impossible_rank) {
  rank_group ranks(GetParam(), 1);
  for (auto [rank, size] : {std::pair{-1, 2}, {2, 2}, {0, 0}, {0, 100000}}) {
    collective_options options;
    options.rank = rank;
    options.size = size;
    EXPECT_THROW(ranks.backend(0).prepare(options), collective_error);
  }
}

// -- trouble ------------------------------------------------------------------

TEST_P(collective_trouble, connect_gives_up_at_its_deadline) {
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

TEST_P(collective_trouble, abort_of_an_opening_ends_its_connect) {
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

TEST_P(collective_trouble, an_operation_gives_up_at_its_deadline) {
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
TEST_P(collective_trouble, abort_frees_every_rank) {
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

// Goal: a fence, which aborts every rank at about the same time, frees each of
// them, though all peers live and one is silent. Method: several sizes, as
// what a rank waits for just then is chance; a hang is what fails.
TEST_P(collective_trouble, abort_frees_its_rank_while_its_peers_live) {
  const int size = 3;
  for (int round = 0; round < 4; ++round) {
    rank_group ranks(GetParam(), size);
    std::atomic<int> inside{0};
    std::atomic<int> left{0};
    auto out = ranks.run([&](collective& c) {
      std::vector<float> data(size_t(1) << (10 + 4 * round));
      c.barrier(soon());
      if (c.rank() == size - 1) { // alive, connected, and silent
        while (left < size - 1)
          std::this_thread::yield();
        return;
      }
      ++inside;
      std::thread aborter([&] {
        while (inside < size - 1)
          std::this_thread::yield();
        c.abort("a fence");
      });
      outcome end;
      try {
        c.all_reduce(data.data(), data.size(), element_type::float32,
                     in(std::chrono::hours(1)));
        ADD_FAILURE() << "reduced without the last rank";
      } catch (const collective_error& e) {
        end = e;
      }
      aborter.join();
      ++left;
      throw *end;
    });
    for (int r = 0; r < size - 1; ++r) {
      ASSERT_TRUE(out[r].has_value());
      EXPECT_TRUE(out[r]->code() == collective_errc::aborted ||
                  out[r]->code() == collective_errc::peer_lost)
          << out[r]->what();
    }
  }
}

TEST_P(collective_trouble, nothing_works_after_a_failure_but_a_new_generation) {
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
TEST_P(collective_trouble, ranks_that_call_differently_are_told) {
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
TEST_P(collective_trouble, two_generations_of_a_process_work_at_once) {
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
TEST_P(collective_trouble, an_arena_may_go_after_its_collective) {
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
TEST_P(collective_trouble, a_dropped_rank_ends_the_others) {
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

TEST_P(collective_trouble, opens_and_closes_many_generations) {
  rank_group ranks(GetParam(), 3);
  for (int k = 0; k < 25; ++k) {
    auto out = ranks.run([&](collective& c) {
      EXPECT_EQ(check_sum<float>(c, 1000, element_type::float32), "");
      c.close(soon());
    });
    ASSERT_EQ(complaints(out), "") << "generation " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(all, collective_trouble,
                         ::testing::ValuesIn(ballast::testing::suite_names()),
                         ballast::testing::suite_test_name);

} // namespace
} // namespace ballast::collectives
