// Sums in a fixed order: whatever ranks hold the leaves of a step, the result
// has the bits of one rank that adds up all of them. Ranks are threads here.
#include "collectives/add.hpp"
#include "collectives/fault_point.hpp"
#include "collectives/ordered_sum.hpp"
#include "tests/collectives/harness.hpp"
#include "tests/collectives/values.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <mutex>

namespace ballast::collectives {
namespace {

using namespace std::chrono_literals;
using ballast::testing::complaints;
using ballast::testing::in;
using ballast::testing::outcome;
using ballast::testing::random_bits;
using ballast::testing::rank_group;
using ballast::testing::sanitized;
using ballast::testing::soon;
using ledger::fixed_sum;
using ledger::leaf_range;
using ledger::tree_node;

/// What leaves contribute repeats itself: drawing it anew takes longer than all
/// sums. A prime, so that no other place of a block or slice has the same.
constexpr size_t period = 4099;

/// Element i of what a leaf contributes; its sums depend on their order, and on
/// zeros that are none: -0.0.
float leaf_value(uint32_t leaf, size_t i) {
  const uint64_t bits = random_bits(77, leaf, i);
  if (bits % 5 == 0) {
    return -0.0F;
  }
  const float value =
      std::ldexp(static_cast<float>(bits >> 40), int(bits % 20) - 30);
  return bits % 2 == 0 ? value : -value;
}

/// A step: how it is cut, and what must come out.
struct step {
  std::vector<leaf_range> ranges; // by rank
  uint32_t leaves;
  uint64_t rows;

  int ranks() const { return static_cast<int>(ranges.size()); }
  fixed_sum how() const { return ledger::sum_of_ranks(ranges, leaves, rows); }

  bool has_rows(tree_node n) const {
    const auto of =
        ledger::rows_of({n.begin, n.begin + n.leaves}, rows, leaves);
    return of.begin < of.end;
  }

  /// The tree, element by element.
  float sum(tree_node n, size_t i) const {
    if (n.leaves == 1) {
      return leaf_value(n.begin, i);
    }
    const tree_node low{n.begin, n.leaves / 2};
    const tree_node high{n.begin + n.leaves / 2, n.leaves / 2};
    return !has_rows(high)  ? sum(low, i)
           : !has_rows(low) ? sum(high, i)
                            : sum(low, i) + sum(high, i);
  }

  /// Of `count` elements.
  std::vector<float> sums(tree_node n, size_t count) const {
    std::vector<float> out(count);
    for (size_t i = 0; i < count; ++i) {
      out[i] = i < period ? sum(n, i) : out[i - period];
    }
    return out;
  }

  /// Those of a rank, `stride` apart.
  std::vector<float> parts(int rank, size_t count, size_t stride) const {
    std::vector<float> out;
    for (const tree_node& n : nodes_of(ranges[static_cast<size_t>(rank)])) {
      if (has_rows(n)) {
        const std::vector<float> part = sums(n, count);
        out.insert(out.end(), part.begin(), part.end());
        out.resize(out.size() + stride - count, 1e30F);
      }
    }
    return out;
  }

  /// The sum of all leaves.
  std::vector<float> right(size_t count) const {
    return sums({0, leaves}, count);
  }
};

/// "" if `data` has the bits of the first `count` of `right`.
std::string check(const float* data, const std::vector<float>& right,
                  size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (std::bit_cast<uint32_t>(data[i]) != std::bit_cast<uint32_t>(right[i])) {
      return "element " + std::to_string(i) + " of " + std::to_string(count) +
             " is " + std::to_string(data[i]) + ", expected " +
             std::to_string(right[i]);
    }
  }
  return "";
}

/// The leaves cut at random places; some ranks may have none.
step random_step(int ranks, uint32_t leaves, uint64_t rows, uint64_t seed) {
  std::vector<uint32_t> cuts{0, leaves};
  for (int r = 1; r < ranks; ++r) {
    cuts.push_back(static_cast<uint32_t>(
        random_bits(seed, leaves, static_cast<uint64_t>(r)) % (leaves + 1)));
  }
  std::sort(cuts.begin(), cuts.end());
  step out{{}, leaves, rows};
  for (int r = 0; r < ranks; ++r) {
    out.ranges.push_back({cuts[size_t(r)], cuts[size_t(r) + 1]});
  }
  return out;
}

step even_step(int ranks, uint32_t leaves) {
  const std::vector<uint64_t> weights(static_cast<size_t>(ranks));
  return {ledger::split_leaves(leaves, weights), leaves, 1000};
}

/// Where parts and results lie.
enum class memory { arena, heap, mixed };

std::shared_ptr<float[]> floats_of(rank_group& group, int rank, memory where,
                                   bool result, size_t count) {
  const bool arena =
      where == memory::arena ||
      (where == memory::mixed && (rank % 2 == 0) != (result && rank % 4 < 2));
  return arena ? group.backend(rank).allocate_arena(count)
               : std::shared_ptr<float[]>(new float[count]());
}

/// One sum of each of `counts`, one after another in the same memory.
std::string sum_steps(rank_group& group, const step& of,
                      const std::vector<size_t>& counts, memory where) {
  const size_t largest = *std::max_element(counts.begin(), counts.end());
  const size_t stride = largest + 16;
  const std::vector<float> right = of.right(largest);
  const fixed_sum how = of.how();
  std::vector<std::shared_ptr<float[]>> parts, results;
  for (int r = 0; r < of.ranks(); ++r) {
    const size_t mine = how.parts[size_t(r)];
    parts.push_back(floats_of(group, r, where, false, mine * stride + 1));
    results.push_back(floats_of(group, r, where, true, largest + 2));
    const std::vector<float> values = of.parts(r, largest, stride);
    std::copy(values.begin(), values.end(), parts.back().get());
  }
  std::mutex mutex;
  std::string text;
  auto out = group.run([&](collective& c) {
    const auto me = static_cast<size_t>(c.rank());
    for (size_t count : counts) {
      float* result = results[me].get() + 1;
      std::fill_n(result, largest + 1, 3e33F);
      c.sum_in_order(how, parts[me].get(), stride, result, count, soon());
      std::string wrong = check(result, right, count);
      wrong += result[count] == 3e33F ? "" : "wrote behind the end";
      std::lock_guard lock(mutex);
      if (!wrong.empty()) {
        text += "rank " + std::to_string(me) + ": " + wrong + "\n";
      }
    }
    c.barrier(soon());
  });
  return text + complaints(out);
}

class ordered_sums : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    if (!rank_group(GetParam(), 1).can().ordered_sums) {
      GTEST_SKIP() << GetParam() << " does not offer them";
    }
  }
};

TEST_P(ordered_sums, have_the_bits_of_one_rank_for_every_number_of_ranks) {
  const std::vector<size_t> counts = {0, 1, 2, 3, 7, 65, 1000, 4097, 40001};
  for (int ranks = 1; ranks <= 7; ranks += sanitized && ranks > 2 ? 2 : 1) {
    rank_group group(GetParam(), ranks);
    for (uint32_t leaves : {1U, 8U, 32U}) {
      ASSERT_EQ(
          sum_steps(group, even_step(ranks, leaves), counts, memory::arena), "")
          << ranks << " ranks, " << leaves << " leaves";
    }
  }
}

TEST_P(ordered_sums, have_the_same_bits_with_uneven_ranges_and_spare_ranks) {
  for (int ranks : {2, 3, 5}) {
    rank_group group(GetParam(), ranks);
    for (uint64_t seed = 1; seed <= (sanitized ? 2 : 6); ++seed) {
      const step of = random_step(ranks, 16, 640, seed);
      ASSERT_EQ(sum_steps(group, of, {5, 3001, 20000}, memory::arena), "")
          << ranks << " ranks, seed " << seed;
    }
  }
}

// Goal: an absent leaf is not added as zero.
TEST_P(ordered_sums, have_the_same_bits_where_leaves_have_no_rows) {
  for (int ranks : {1, 3, 4}) {
    rank_group group(GetParam(), ranks);
    for (uint64_t rows : {1, 3, 5, 12}) {
      const step of = random_step(ranks, 16, rows, rows);
      ASSERT_EQ(sum_steps(group, of, {100, 9001}, memory::arena), "")
          << ranks << " ranks, " << rows << " rows";
    }
  }
}

TEST_P(ordered_sums, need_no_memory_of_the_backend) {
  for (memory where : {memory::heap, memory::mixed}) {
    for (int ranks : {2, 3, 4}) {
      rank_group group(GetParam(), ranks);
      const step of = random_step(ranks, 32, 640, 3);
      ASSERT_EQ(sum_steps(group, of, {1, 9000, 300001}, where), "")
          << ranks << " ranks";
    }
  }
}

TEST_P(ordered_sums, add_up_large_parts) {
  for (memory where : {memory::arena, memory::heap}) {
    rank_group group(GetParam(), 3);
    const step of{{{0, 3}, {3, 7}, {7, 8}}, 8, 64};
    const size_t floats = (size_t{sanitized ? 1U : 3U} << 20) + 5;
    ASSERT_EQ(sum_steps(group, of, {floats}, where), "");
  }
}

// Goal: sums and other operations one after another, ranks at other paces.
TEST_P(ordered_sums, follow_other_operations) {
  const int ranks = 4;
  rank_group group(GetParam(), ranks);
  const step of = even_step(ranks, 8);
  const fixed_sum how = of.how();
  const size_t count = 5000;
  const std::vector<float> right = of.right(count);
  auto out = group.run([&](collective& c) {
    const auto parts = of.parts(c.rank(), count, count);
    std::vector<float> result(count);
    for (uint64_t k = 0; k < 60; ++k) {
      if (random_bits(7, k, static_cast<uint64_t>(c.rank())) % 4 == 0) {
        std::this_thread::yield();
      }
      const size_t some = random_bits(8, k, 0) % count;
      c.sum_in_order(how, parts.data(), count, result.data(), some, soon());
      ASSERT_EQ(check(result.data(), right, some), "");
      ASSERT_EQ(ballast::testing::check_sum<float>(
                    c, random_bits(9, k, 0) % 9000, element_type::float32),
                "");
    }
    c.barrier(soon());
  });
  EXPECT_EQ(complaints(out), "");
}

TEST_P(ordered_sums, of_ranks_that_call_differently_are_refused) {
  const int ranks = 3;
  const step even = even_step(ranks, 8);
  const step other{{{0, 2}, {2, 5}, {5, 8}}, 8, 1000};
  using odd_call =
      std::function<void(collective&, bool odd, const float*, float*)>;
  const std::pair<const char*, odd_call> calls[] = {
      {"orders",
       [&](collective& c, bool odd, const float* parts, float* out) {
         c.sum_in_order(odd ? other.how() : even.how(), parts, 9000, out, 9000,
                        in(20s));
       }},
      {"small counts",
       [&](collective& c, bool odd, const float* parts, float* out) {
         c.sum_in_order(even.how(), parts, 9000, out, odd ? 3 : 4, in(20s));
       }},
      {"large counts",
       [&](collective& c, bool odd, const float* parts, float* out) {
         c.sum_in_order(even.how(), parts, 90000, out, odd ? 89999 : 90000,
                        in(20s));
       }},
      {"operations",
       [&](collective& c, bool odd, const float* parts, float* out) {
         if (odd) {
           c.all_reduce(out, 1000, element_type::float32, in(20s));
         } else {
           c.sum_in_order(even.how(), parts, 1000, out, 1000, in(20s));
         }
       }},
  };
  for (const auto& [what, call] : calls) {
    rank_group group(GetParam(), ranks);
    auto started = std::chrono::steady_clock::now();
    auto out = group.run([&, &call = call](collective& c) {
      const std::vector<float> parts(4 * 90000);
      std::vector<float> result(90000);
      call(c, c.rank() == 2, parts.data(), result.data());
      c.barrier(in(20s));
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

TEST_P(ordered_sums, of_no_order_or_into_their_own_parts_are_refused) {
  const step even = even_step(2, 4);
  std::vector<fixed_sum> bad(5, even.how());
  bad[0].terms.clear();
  bad[1].terms.pop_back();
  bad[2].terms[1] = bad[2].terms[0]; // the same part again
  bad[3].parts.push_back(0);         // a rank more than there are
  for (size_t i = 0; i < bad.size(); ++i) {
    rank_group group(GetParam(), 2);
    auto out = group.run([&](collective& c) {
      std::vector<float> parts(100), result(100);
      float* place = i == 4 ? parts.data() + 99 : result.data();
      c.sum_in_order(bad[i], parts.data(), 100, place, 100, in(20s));
    });
    for (const outcome& o : out) {
      ASSERT_TRUE(o.has_value()) << i;
      EXPECT_TRUE(o->code() == collective_errc::mismatch ||
                  o->code() == collective_errc::aborted ||
                  o->code() == collective_errc::peer_lost)
          << o->what();
    }
  }
}

TEST_P(ordered_sums, end_when_a_rank_aborts_or_is_gone) {
  const int ranks = 4;
  for (bool aborts : {true, false}) {
    for (size_t count : {size_t{10}, size_t{400000}}) {
      rank_group group(GetParam(), ranks);
      const step of = even_step(ranks, 8);
      const fixed_sum how = of.how();
      auto started = std::chrono::steady_clock::now();
      auto out = group.run([&](collective& c) {
        const std::vector<float> parts(2 * count);
        std::vector<float> result(count);
        for (int k = 0; k < 1000; ++k) {
          if (c.rank() == 1 && k == 3) {
            if (aborts) {
              c.abort("a test says so");
            }
            return; // and its object is dropped
          }
          c.sum_in_order(how, parts.data(), count, result.data(), count,
                         in(30s));
        }
      });
      for (int r : {0, 2, 3}) {
        ASSERT_TRUE(out[r].has_value()) << count;
        EXPECT_EQ(out[r]->code() == collective_errc::aborted ||
                      out[r]->code() == collective_errc::peer_lost,
                  true)
            << out[r]->what();
      }
      EXPECT_LT(std::chrono::steady_clock::now() - started, 20s);
    }
  }
}

/// Runs `at` where a rank reaches a fault point, for its own lifetime.
struct fault_hook {
  explicit fault_hook(const std::function<void(fault_point, int)>& at) {
    set_fault_hook(at);
  }
  ~fault_hook() { set_fault_hook({}); }
};

// Goal: an end in any phase of a sum reaches every rank, and no rank takes a
// sum that it cut short for a result.
TEST_P(ordered_sums, end_in_every_phase) {
  if (GetParam() == "local") {
    GTEST_SKIP() << "the ranks of 'local' have no phases";
  }
  const int ranks = 3;
  const step of = even_step(ranks, 8);
  const fixed_sum how = of.how();
  const size_t count = 300001;
  const std::vector<float> right = of.right(count);
  for (fault_point where :
       {fault_point::operation, fault_point::segment,
        fault_point::between_phases, fault_point::finished}) {
    for (memory kind : {memory::arena, memory::heap}) {
      rank_group group(GetParam(), ranks);
      std::vector<std::shared_ptr<float[]>> parts;
      for (int r = 0; r < ranks; ++r) {
        const std::vector<float> values = of.parts(r, count, count);
        parts.push_back(floats_of(group, r, kind, false, values.size() + 1));
        std::copy(values.begin(), values.end(), parts.back().get());
      }
      std::atomic<bool> armed{false};
      std::atomic<collective*> victim{nullptr};
      const fault_hook hook([&](fault_point point, int rank) {
        if (rank == 1 && point == where && armed.exchange(false)) {
          victim.load()->abort("a test says so");
        }
      });
      auto out = group.run([&](collective& c) {
        std::vector<float> result(count);
        for (int k = 0; k < 100; ++k) {
          if (c.rank() == 1 && k == 2) {
            victim = &c;
            armed = true;
          }
          c.sum_in_order(how, parts[size_t(c.rank())].get(), count,
                         result.data(), count, in(30s));
          ASSERT_EQ(check(result.data(), right, count), "");
        }
      });
      for (int r = 0; r < ranks; ++r) {
        ASSERT_TRUE(out[r].has_value()) << to_string(where) << ", rank " << r;
        EXPECT_TRUE(out[r]->code() == collective_errc::aborted ||
                    out[r]->code() == collective_errc::peer_lost)
            << to_string(where) << ": " << out[r]->what();
      }
    }
  }
}

TEST_P(ordered_sums, give_up_at_their_deadline) {
  rank_group group(GetParam(), 3);
  const fixed_sum how = even_step(3, 4).how();
  std::atomic<int> left{0};
  auto out = group.run([&](collective& c) {
    const std::vector<float> parts(4 * 50000);
    std::vector<float> result(50000);
    if (c.rank() == 1) { // comes to no operation, but is alive
      while (left < 2) {
        std::this_thread::yield();
      }
      return;
    }
    try {
      c.sum_in_order(how, parts.data(), 50000, result.data(), 50000, in(200ms));
    } catch (...) {
      ++left;
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

INSTANTIATE_TEST_SUITE_P(all, ordered_sums,
                         ::testing::ValuesIn(ballast::testing::suite_names()),
                         ballast::testing::suite_test_name);

TEST(ordered_sum, backends_without_it_refuse_it) {
  for (const std::string& name : ballast::testing::suite_names()) {
    rank_group group(name, 1);
    if (group.can().ordered_sums) {
      continue;
    }
    auto out = group.run([](collective& c) {
      float part = 1, result = 0;
      c.sum_in_order({{{0, 0}}, {1}}, &part, 1, &result, 1, soon());
    });
    ASSERT_TRUE(out[0].has_value()) << name;
    EXPECT_EQ(out[0]->code(), collective_errc::unsupported) << name;
  }
}

TEST(ordered_sum, has_the_same_bits_with_every_way_to_add) {
  const step of = random_step(5, 64, 1000, 12);
  const size_t count = 5003;
  const fixed_sum how = of.how();
  const std::vector<float> right = of.right(count);
  std::vector<std::vector<float>> parts;
  std::vector<rank_parts> places;
  for (int r = 0; r < of.ranks(); ++r) {
    parts.push_back(of.parts(r, count, count + 3));
    places.push_back({parts.back().data(), count + 3});
  }
  for (const std::string& variant : add_variants()) {
    use_add_variant(variant);
    std::vector<float> out(count);
    add_in_order(how, places, 0, out.data(), count);
    EXPECT_EQ(check(out.data(), right, count), "") << variant;
    // In two steps, at a place where no block begins.
    add_in_order(how, places, 0, out.data(), 1001);
    add_in_order(how, places, 1001, out.data() + 1001, count - 1001);
    EXPECT_EQ(check(out.data(), right, count), "") << variant;
  }
  use_add_variant(add_variants().front());
}

TEST(ordered_sum, other_sums_have_other_hashes) {
  std::vector<uint32_t> seen;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    seen.push_back(hash_of(random_step(4, 64, 1000, seed).how()));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

} // namespace
} // namespace ballast::collectives
