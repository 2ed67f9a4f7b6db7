// Goal: rows of a set whose chunks hold whole groups move once, also if one
// group is half of the set, as rows with an empty cell are. Method: runs in
// virtual time, from owners of several kinds.
#include "tests/runtime/balance/placed_runs.hpp"

namespace ballast::testing {
namespace {

constexpr uint32_t labels = 4;

enum class owners { in_turn, even, first };

/// A group of half of the rows at the first worker, and small ones.
ledger::manifest one_large_group(uint32_t workers, uint32_t rows, owners kind,
                                 test_random& random) {
  set_builder out(labels);
  out.set.placement.resize(workers);
  out.set.whole_chunks = true;
  out.add(0, std::vector<uint64_t>(labels, rows / 2 / labels));
  std::vector<uint64_t> owned(workers);
  owned[0] = rows / 2;
  size_t turn = 0;
  for (uint64_t left = rows / 2; left > 0;) {
    const uint64_t size = std::min<uint64_t>(left, random.between(5, 40));
    std::vector<uint64_t> group(labels);
    const uint64_t usual = random.below(labels);
    for (uint64_t row = 0; row < size; ++row)
      ++group[random.one_in(3) ? random.below(labels) : usual];
    const auto least =
        size_t(std::min_element(owned.begin(), owned.end()) - owned.begin());
    const size_t rank = kind == owners::in_turn ? turn++ % workers
                        : kind == owners::even  ? least
                                                : 0;
    out.add(rank, group);
    owned[rank] += size;
    left -= size;
  }
  return out.set;
}

TEST(whole_groups, move_once_although_one_is_half_of_the_set) {
  for (owners kind : {owners::in_turn, owners::even, owners::first})
    for (uint32_t workers : {2u, 3u, 4u})
      for (uint32_t rows : {400u, 2000u})
        for (const speeds& speed : all_speeds)
          for (uint64_t seed = 1; seed <= 4 && !speed.changes(); ++seed) {
            test_random random(seed * 100 + workers);
            balanced_options options = options_of(speed, workers, seed);
            options.steps = 1500;
            options.noise = 0.05;
            balanced_run run(one_large_group(workers, rows, kind, random),
                             options);
            run.run();
            SCOPED_TRACE(std::to_string(workers) + " workers, " +
                         std::to_string(rows) + " rows, " + speed.name +
                         ", seed " + std::to_string(seed) + "\n" + run.story());
            EXPECT_EQ(run.account().again(), 0u);
          }
}

} // namespace
} // namespace ballast::testing
