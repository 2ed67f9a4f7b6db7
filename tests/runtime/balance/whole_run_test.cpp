// Goal: a run moves hardly more rows than had to move from its first owners to
// its last, and keeps the budget of skew once it has reached it. Method: whole
// runs in virtual time, of placements times speeds, against the exact minimum.
#include "tests/runtime/balance/balanced_run.hpp"

#include <string>
#include <vector>

namespace ballast::testing {
namespace {

constexpr uint32_t workers = 4;
constexpr uint32_t classes = 8;
constexpr double budget = 0.1;

/// 4,000 rows, placed like that.
manifest placed_like(const std::string& kind, uint64_t seed) {
  std::vector<int32_t> labels;
  for (int32_t label = 0; label < int32_t(classes); ++label)
    labels.insert(labels.end(), 500, label);
  placement_spec spec;
  spec.kind = kind;
  spec.alpha = 0.3;
  spec.sigma = 0.7;
  spec.classes_per_worker = 2;
  spec.shards_per_worker = 2;
  return chunked(
      place_rows(spec, {labels.size(), labels, classes}, workers, seed), labels,
      classes, 25);
}

double equal(size_t, uint64_t) {
  return 1;
}
double one_slow(size_t rank, uint64_t) {
  return rank + 1 == workers ? 0.25 : 1;
}
double steps_of_speed(size_t rank, uint64_t) {
  return double(rank + 1) / 2.5;
}

class whole_run : public ::testing::TestWithParam<const char*> {};

TEST_P(whole_run, moves_hardly_more_than_has_to_move_and_keeps_the_budget) {
  for (double (*speed)(size_t, uint64_t) : {equal, one_slow, steps_of_speed})
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      balanced_options options;
      options.seed = seed;
      options.steps = 1200;
      options.skew_tv = budget;
      options.speed = speed;
      balanced_run run(placed_like(GetParam(), seed), options);
      run.run();
      SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + run.story());
      EXPECT_LE(double(run.moved()), 1.05 * double(run.least()) + 1);
      EXPECT_LE(run.skew(), budget + 1e-9);
      EXPECT_GE(run.part_of_ideal(), 0.94);
      bool reached = false;
      for (const balanced_run::landed& one : run.plans()) {
        EXPECT_LE(one.bound, one.moved);
        EXPECT_TRUE(!reached || one.skew <= budget + 1e-9);
        reached = reached || one.skew <= budget;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    placements, whole_run,
    ::testing::Values("contiguous", "iid", "lognormal", "linear", "square",
                      "stratified", "sorted", "shards", "classes", "dirichlet"),
    [](const auto& kind) { return std::string(kind.param); });

} // namespace
} // namespace ballast::testing
