// Goal: the comparison is fair, and its claim holds: for the balance that
// another balancer has reached, ours never moves more. Method: small random
// placements; failures name their seed.
#include "bench/policies/settle.hpp"

#include "tests/runtime/balance/quota_fixture.hpp"

#include <gtest/gtest.h>

namespace ballast::policies {
namespace {

struct small_instance {
  balance::label_counts held;
  std::vector<double> parts;
};

small_instance some_instance(uint64_t seed) {
  testing::test_random random(seed);
  auto workers = uint32_t(random.between(2, 8));
  auto classes = uint32_t(random.between(1, 6));
  const auto& names = testing::generator_names();
  small_instance out;
  out.held = testing::generate(names[seed % names.size()], workers, classes,
                               random.between(100 * workers, 2000), random);
  double sum = 0;
  for (uint32_t worker = 0; worker < workers; ++worker)
    out.parts.push_back(random.one_in(3) ? 2 : 1);
  for (double part : out.parts)
    sum += part;
  for (double& part : out.parts)
    part /= sum;
  return out;
}

TEST(settle, loses_and_makes_up_no_sample) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    small_instance what = some_instance(seed);
    for (const auto& who : all_policies(seed)) {
      settled found = settle(*who, what.held, what.parts, {});
      for (size_t label = 0; label < what.held.classes; ++label)
        EXPECT_EQ(found.after.of_class(label), what.held.of_class(label))
            << who->name() << ", seed " << seed;
    }
  }
}

TEST(settle, leaves_alone_what_is_balanced) {
  balance::label_counts held(4, 3);
  for (uint64_t& cell : held.rows)
    cell = 50;
  for (const auto& who : all_policies(1)) {
    settled found = settle(*who, held, {0.25, 0.25, 0.25, 0.25}, {});
    EXPECT_TRUE(found.balanced) << who->name();
    EXPECT_EQ(found.moved, 0u) << who->name();
  }
}

TEST(settle, says_who_stalls_before_the_band) {
  // Half of a difference of one is nothing.
  balance::label_counts held(2, 2);
  held.rows = {2, 1, 1, 2};
  for (const auto& who : all_policies(1)) {
    settled found = settle(*who, held, {0.5, 0.5}, {.skew_tv = 0.01});
    EXPECT_FALSE(found.balanced) << who->name();
    EXPECT_NEAR(found.skew, 1.0 / 6, 1e-9) << who->name();
  }
}

TEST(settle, our_planner_moves_no_more_than_anybody_for_the_same_balance) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    small_instance what = some_instance(seed);
    for (const auto& who : all_policies(seed)) {
      settled found = settle(*who, what.held, what.parts, {});
      balance::quota ours = quota_for_same_balance(what.held, found.after);
      EXPECT_LE(ours.moved, found.moved) << who->name() << ", seed " << seed;
    }
  }
}

TEST(settle, our_planner_reaches_the_same_balance) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    small_instance what = some_instance(seed);
    for (const auto& who : all_policies(seed)) {
      settled found = settle(*who, what.held, what.parts, {});
      balance::quota ours = quota_for_same_balance(what.held, found.after);
      for (double skew : skews(ours.target))
        EXPECT_LE(skew, whole_row_skew(found.after) + 1e-9)
            << who->name() << ", seed " << seed;
      for (size_t worker = 0; worker < what.held.workers; ++worker)
        EXPECT_EQ(ours.target.of_worker(worker), found.after.of_worker(worker));
    }
  }
}

TEST(settle, counts_skew_in_whole_rows_of_a_fair_share) {
  balance::label_counts held(2, 2);
  held.rows = {5, 2, 2, 5}; // fair: 3.5 of each, of whole rows 3
  EXPECT_NEAR(whole_row_skew(held), 2.0 / 7, 1e-12);
}

TEST(settle, our_planner_reaches_the_band_on_every_generator) {
  for (const generator& how : generators()) {
    instance what = generate(how, 16, 10, 12'800, 1);
    settled ours = settle_by_quota(what.held, what.parts, {});
    EXPECT_TRUE(ours.balanced) << how.name;
    settled chunks = settle_by_chunks(what, 32, {});
    EXPECT_LE(chunks.skew, 0.125) << how.name << ": the balancer's trigger";
  }
}

TEST(generators, give_every_row_to_one_worker) {
  for (const generator& how : generators()) {
    instance what = generate(how, 16, 10, 12'800, 3);
    EXPECT_EQ(what.held.total(), 12'800u) << how.name;
    EXPECT_EQ(what.rows.size(), 16u) << how.name;
  }
}

} // namespace
} // namespace ballast::policies
