#include "runtime/ledger/take.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

namespace ballast::ledger {
namespace {

using testing::test_random;

uint64_t sum_of(const std::vector<uint64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), uint64_t{0});
}

/// The rule of the header word by word, in fractions and full sorts.
std::vector<uint64_t> literal_split(uint64_t global_batch,
                                    const std::vector<take_input>& ranks) {
  __extension__ using wide = unsigned __int128;
  std::vector<uint64_t> left, takes(ranks.size(), 0);
  for (const take_input& rank : ranks)
    left.push_back(rank.rows_left);
  uint64_t missing = std::min(global_batch, sum_of(left));
  while (missing > 0) {
    wide weights = 0;
    for (size_t i = 0; i < ranks.size(); ++i)
      weights += left[i] ? ranks[i].batch_weight : 0;
    auto weight = [&](size_t i) -> wide {
      return left[i] == 0 ? 0 : weights == 0 ? 1 : ranks[i].batch_weight;
    };
    wide total = 0;
    for (size_t i = 0; i < ranks.size(); ++i)
      total += weight(i);
    std::vector<uint64_t> part(ranks.size());
    std::vector<size_t> order(ranks.size());
    for (size_t i = 0; i < ranks.size(); ++i) {
      part[i] = uint64_t(missing * weight(i) / total);
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return missing * weight(a) % total > missing * weight(b) % total;
    });
    uint64_t rest = missing - sum_of(part);
    for (size_t i = 0; i < rest; ++i)
      ++part[order[i]];
    for (size_t i = 0; i < ranks.size(); ++i) {
      uint64_t got = std::min(part[i], left[i]);
      takes[i] += got;
      left[i] -= got;
      missing -= got;
    }
  }
  return takes;
}

TEST(split_batch, shares_out_in_proportion_to_the_weights) {
  struct {
    uint64_t batch;
    std::vector<take_input> ranks;
    std::vector<uint64_t> takes;
  } cases[] = {
      {8, {}, {}},
      {0, {{1, 5}}, {0}},
      {8, {{1, 100}}, {8}},
      {8, {{1, 100}, {1, 100}}, {4, 4}},
      {8, {{5, 100}, {2, 100}, {1, 100}}, {5, 2, 1}},
      // Ties go to the lowest rank.
      {7, {{1, 100}, {1, 100}, {1, 100}}, {3, 2, 2}},
      // The largest remainder wins: 4.2, 4.2, 1.6.
      {10, {{21, 100}, {21, 100}, {8, 100}}, {4, 4, 2}},
      // What a rank lacks is shared out among the others.
      {8, {{1, 1}, {1, 100}, {1, 100}}, {1, 4, 3}},
      // Weight 0 takes nothing while others have rows ...
      {8, {{0, 100}, {1, 100}}, {0, 8}},
      // ... and everything once they have none; all 0: equally.
      {8, {{0, 100}, {1, 3}, {0, 100}}, {3, 3, 2}},
      {8, {{0, 100}, {0, 100}}, {4, 4}},
      // Fewer rows than the batch: all of them.
      {8, {{1, 2}, {100, 3}, {1, 0}}, {2, 3, 0}},
      // Numbers near the limit of 64 bits do not overflow.
      {1ULL << 62,
       {{~0ULL, ~0ULL >> 1}, {~0ULL, ~0ULL >> 1}},
       {1ULL << 61, 1ULL << 61}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(split_batch(c.batch, c.ranks), c.takes) << "batch " << c.batch;
}

TEST(split_batch, agrees_with_the_rule_taken_literally) {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    std::vector<take_input> ranks(random.between(1, 12));
    uint64_t weight_max = random.one_in(3) ? 2 : random.between(1, 1000000);
    uint64_t rows_max = random.one_in(2) ? 20 : 100000;
    uint64_t rows = 0;
    for (take_input& rank : ranks) {
      rank = {random.below(weight_max + 1), random.below(rows_max + 1)};
      rows += rank.rows_left;
    }
    uint64_t batch = random.between(1, random.one_in(2) ? 40 : 4096);
    std::vector<uint64_t> takes = split_batch(batch, ranks);
    ASSERT_EQ(takes, literal_split(batch, ranks));
    ASSERT_EQ(sum_of(takes), std::min(batch, rows));
    for (size_t i = 0; i < ranks.size(); ++i)
      ASSERT_LE(takes[i], ranks[i].rows_left);
  }
}

} // namespace
} // namespace ballast::ledger
