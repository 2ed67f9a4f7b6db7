// The order of a step's sums: that every cut into ranks adds up the same tree,
// and that another tree, a leaf too many or one too few shows in the bits.
#include "runtime/ledger/leaf_tree.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <bit>
#include <functional>
#include <optional>

namespace ballast::ledger {
namespace {

using testing::test_random;

/// What each leaf of a step contributes; absent: it has no rows.
using leaf_values = std::vector<std::optional<float>>;

bool has_rows(uint32_t leaf, uint32_t leaves, uint64_t rows) {
  const step_rows of = rows_of({leaf, leaf + 1}, rows, leaves);
  return of.begin < of.end;
}

/// Of all magnitudes, with what is easily lost: -0.0 and denormal numbers.
float any_float(test_random& random) {
  switch (random.below(8)) {
  case 0:
    return -0.0F;
  case 1:
    return 0.0F;
  case 2:
    return std::bit_cast<float>(uint32_t(random.between(1, 0x7fffff)));
  default:
    break;
  }
  const uint32_t sign = random.one_in(2) ? 0x80000000U : 0;
  const auto exponent = uint32_t(random.between(117, 137)) << 23;
  return std::bit_cast<float>(sign | exponent |
                              uint32_t(random.below(0x800000)));
}

leaf_values values_of(uint32_t leaves, uint64_t rows, test_random& random) {
  leaf_values out(leaves);
  for (uint32_t leaf = 0; leaf < leaves; ++leaf)
    if (has_rows(leaf, leaves, rows))
      out[leaf] = any_float(random);
  return out;
}

/// The tree of the header, word by word.
std::optional<float> sum_below(const leaf_values& values, tree_node node) {
  if (node.leaves == 1)
    return values[node.begin];
  const uint32_t half = node.leaves / 2;
  const auto low = sum_below(values, {node.begin, half});
  const auto high = sum_below(values, {node.begin + half, half});
  if (low && high)
    return *low + *high;
  return low ? low : high;
}

/// What a rank with these leaves contributes.
std::vector<float> parts_of(const leaf_values& values, leaf_range range) {
  std::vector<float> out;
  for (const tree_node& node : nodes_of(range))
    if (const auto sum = sum_below(values, node))
      out.push_back(*sum);
  return out;
}

float added_up(const fixed_sum& how,
               const std::vector<std::vector<float>>& parts) {
  std::vector<float> stack;
  for (const fixed_sum::term& term : how.terms) {
    if (term.rank >= 0) {
      stack.push_back(parts.at(size_t(term.rank)).at(term.part));
      continue;
    }
    const float last = stack.back();
    stack.pop_back();
    stack.back() += last;
  }
  EXPECT_EQ(stack.size(), 1U);
  return stack.back();
}

/// "" if the ranks' sum has the bits of one rank's; else what differs.
std::string complaint(const std::vector<leaf_range>& ranges, uint32_t leaves,
                      uint64_t rows, const leaf_values& values) {
  const fixed_sum how = sum_of_ranks(ranges, leaves, rows);
  std::vector<std::vector<float>> parts;
  for (const leaf_range& range : ranges)
    parts.push_back(parts_of(values, range));
  std::string text;
  for (size_t rank = 0; rank < ranges.size(); ++rank)
    if (how.parts.at(rank) != parts[rank].size())
      text += "rank " + std::to_string(rank) + " has another number of parts; ";
  if (!text.empty())
    return text;
  const float all = *sum_below(values, {0, leaves});
  const float sum = added_up(how, parts);
  if (std::bit_cast<uint32_t>(sum) != std::bit_cast<uint32_t>(all))
    text += "the sum is " + std::to_string(sum) + ", of one rank " +
            std::to_string(all);
  return text;
}

/// All ways to cut [0, leaves) into ranges, by the places of the cuts.
std::vector<leaf_range> cut(uint32_t leaves, uint64_t places) {
  std::vector<leaf_range> out{{0, leaves}};
  for (uint32_t at = 1; at < leaves; ++at)
    if ((places >> (at - 1) & 1) != 0) {
      out.back().end = at;
      out.push_back({at, leaves});
    }
  return out;
}

TEST(nodes_of, are_the_largest_that_fit_side_by_side) {
  EXPECT_EQ(nodes_of({0, 0}), (std::vector<tree_node>{}));
  EXPECT_EQ(nodes_of({0, 1}), (std::vector<tree_node>{{0, 1}}));
  EXPECT_EQ(nodes_of({0, 8}), (std::vector<tree_node>{{0, 8}}));
  EXPECT_EQ(nodes_of({1, 7}),
            (std::vector<tree_node>{{1, 1}, {2, 2}, {4, 2}, {6, 1}}));
  EXPECT_EQ(nodes_of({4, 7}), (std::vector<tree_node>{{4, 2}, {6, 1}}));
  EXPECT_EQ(nodes_of({3, 4}), (std::vector<tree_node>{{3, 1}}));
}

TEST(nodes_of, are_few_and_cover_their_range_once) {
  for (uint32_t leaves = 1; leaves <= leaves_max; leaves *= 2) {
    const auto few = size_t(std::max(1, 2 * int(std::bit_width(leaves)) - 2));
    const uint32_t step = leaves <= 64 ? 1 : 7;
    for (uint32_t begin = 0; begin < leaves; begin += step)
      for (uint32_t end = begin + 1; end <= leaves; end += step) {
        uint32_t at = begin;
        const auto nodes = nodes_of({begin, end});
        for (const tree_node& node : nodes) {
          ASSERT_EQ(node.begin, at);
          ASSERT_TRUE(std::has_single_bit(node.leaves));
          ASSERT_EQ(node.begin % node.leaves, 0U);
          at += node.leaves;
        }
        ASSERT_EQ(at, end);
        ASSERT_LE(nodes.size(), few) << begin << " to " << end;
      }
  }
}

TEST(sum_of_ranks, every_cut_of_few_leaves_adds_up_the_same_bits) {
  test_random random(1);
  for (uint32_t leaves = 1; leaves <= 8; leaves *= 2)
    for (uint64_t rows = 1; rows <= 2 * leaves; ++rows)
      for (uint64_t places = 0; places < uint64_t{1} << (leaves - 1);
           ++places) {
        const leaf_values values = values_of(leaves, rows, random);
        ASSERT_EQ(complaint(cut(leaves, places), leaves, rows, values), "")
            << leaves << " leaves, " << rows << " rows, cuts " << places;
      }
}

TEST(sum_of_ranks, cuts_of_many_leaves_add_up_the_same_bits) {
  test_random random(2);
  for (uint32_t leaves = 16; leaves <= 64; leaves *= 2)
    for (uint64_t rows = 1; rows <= 2 * leaves; ++rows)
      for (int round = 0; round < 20; ++round) {
        // Few cuts and many.
        uint64_t places = random.below(~uint64_t{0});
        for (uint64_t less = random.below(5); less > 0; --less)
          places &= random.below(~uint64_t{0});
        const leaf_values values = values_of(leaves, rows, random);
        ASSERT_EQ(complaint(cut(leaves, places), leaves, rows, values), "")
            << leaves << " leaves, " << rows << " rows, cuts " << places;
      }
}

TEST(sum_of_ranks, spare_ranks_and_the_ranks_order_change_nothing) {
  test_random random(3);
  const leaf_values values = values_of(8, 16, random);
  EXPECT_EQ(complaint({{0, 3}, {3, 3}, {3, 8}, {8, 8}}, 8, 16, values), "");
  EXPECT_EQ(complaint({{5, 8}, {0, 0}, {0, 5}}, 8, 16, values), "");
  EXPECT_EQ(sum_of_ranks(std::vector<leaf_range>{{0, 8}, {8, 8}}, 8, 16).parts,
            (std::vector<uint32_t>{1, 0}));
}

TEST(sum_of_ranks, lists_the_sums_after_their_parts) {
  using term = fixed_sum::term;
  const std::vector<leaf_range> ranges{{0, 3}, {3, 8}};
  const fixed_sum how = sum_of_ranks(ranges, 8, 8);
  EXPECT_EQ(how.parts, (std::vector<uint32_t>{2, 2}));
  EXPECT_EQ(how.terms,
            (std::vector<term>{{0, 0}, {0, 1}, {1, 0}, {}, {}, {1, 1}, {}}));
  EXPECT_EQ(depth_of(how), 3U);
}

// Goal: an absent leaf is no part, so that nothing is added to -0.0.
TEST(sum_of_ranks,
     numbers_the_parts_of_several_ranges_one_range_after_another) {
  using term = fixed_sum::term;
  const std::vector<leaf_ranges> by_rank{{{4, 8}, {0, 1}}, {{1, 4}}};
  const fixed_sum how = sum_of_ranks(by_rank, 8, 8);
  EXPECT_EQ(how.parts, (std::vector<uint32_t>{2, 2}));
  EXPECT_EQ(how.terms,
            (std::vector<term>{{0, 1}, {1, 0}, {}, {1, 1}, {}, {0, 0}, {}}));
  EXPECT_EQ(
      sum_of_ranks(std::vector<leaf_ranges>{{{0, 4}, {4, 8}}}, 8, 8).parts,
      (std::vector<uint32_t>{2}))
      << "ranges side by side stay apart";
}

TEST(sum_of_ranks, leaves_without_rows_are_no_parts) {
  const std::vector<leaf_range> ranges{{0, 2}, {2, 4}, {4, 8}};
  // Of 2 rows the leaves 3 and 7 have one each.
  const fixed_sum how = sum_of_ranks(ranges, 8, 2);
  EXPECT_EQ(how.parts, (std::vector<uint32_t>{0, 1, 1}));
  EXPECT_EQ(how.terms, (std::vector<fixed_sum::term>{{1, 0}, {2, 0}, {}}));
  const leaf_values values{{}, {}, {}, -0.0F, {}, {}, {}, -0.0F};
  EXPECT_EQ(complaint(ranges, 8, 2, values), "");
  EXPECT_EQ(std::bit_cast<uint32_t>(added_up(how, {{}, {-0.0F}, {-0.0F}})),
            std::bit_cast<uint32_t>(-0.0F));
}

// Goal: the tests above see an error. Method: what a wrong tree would add up.
TEST(sum_of_ranks, a_leaf_too_many_or_too_few_or_another_order_shows) {
  test_random random(4);
  constexpr uint32_t leaves = 64;
  int others = 0;
  for (int round = 0; round < 20; ++round) {
    leaf_values values(leaves);
    for (auto& value : values)
      value = 1.0F + float(random.below(1 << 23)) / float(1 << 23);
    const float right = *sum_below(values, {0, leaves});
    float one_by_one = 0;
    for (uint32_t leaf = 0; leaf < leaves; ++leaf) {
      leaf_values less = values;
      less[leaf].reset();
      EXPECT_NE(*sum_below(less, {0, leaves}), right) << "without " << leaf;
      leaf_values more = values;
      *more[leaf] += *values[leaf];
      EXPECT_NE(*sum_below(more, {0, leaves}), right) << "twice " << leaf;
      one_by_one += *values[leaf];
    }
    others += one_by_one != right ? 1 : 0;
  }
  EXPECT_GE(others, 10)
      << "one leaf after the other"; // some are equal by chance
}

// Goal: the same for the list of the sums, of which ranks could hold different
// ones.
TEST(sum_of_ranks, a_list_with_a_part_too_few_or_twice_shows) {
  test_random random(6);
  const std::vector<leaf_range> ranges{{0, 3}, {3, 5}, {5, 8}};
  leaf_values values(8);
  for (auto& value : values)
    value = 1.0F + float(random.below(1 << 23)) / float(1 << 23);
  std::vector<std::vector<float>> parts;
  for (const leaf_range& range : ranges)
    parts.push_back(parts_of(values, range));
  const fixed_sum how = sum_of_ranks(ranges, 8, 8);
  const float right = added_up(how, parts);
  for (size_t rank = 0; rank < parts.size(); ++rank)
    for (size_t part = 0; part < parts[rank].size(); ++part) {
      auto wrong = parts;
      wrong[rank][part] = 0;
      EXPECT_NE(added_up(how, wrong), right);
      wrong[rank][part] = 2 * parts[rank][part];
      EXPECT_NE(added_up(how, wrong), right);
    }
}

TEST(depth_of, is_no_more_than_the_tree_has_levels) {
  test_random random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<leaf_range> ranges{{0, leaves_max}};
    for (uint32_t at = 1; at < leaves_max; ++at)
      if (random.one_in(1 + round % 60)) {
        ranges.back().end = at;
        ranges.push_back({at, leaves_max});
      }
    ASSERT_LE(depth_of(sum_of_ranks(ranges, leaves_max, 5000)), 11U);
  }
}

} // namespace
} // namespace ballast::ledger
