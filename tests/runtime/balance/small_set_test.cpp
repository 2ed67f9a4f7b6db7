// Goal: a set of so few rows that whole rows are a large part of a share is
// balanced once, not for ever. Method: a run of many epochs in virtual time; a
// real ledger says who has how much left, takes are whole rows, and all workers
// are about equally fast.
#include "tests/runtime/balance/balanced_run.hpp"

namespace ballast::balance {
namespace {

struct small_set {
  uint32_t rows = 100;
  uint32_t chunk_rows = 256;
  uint32_t workers = 3;
  uint64_t batch = 20;
  uint32_t classes = 2;
  double noise = 0.02;   // of a take
  double slowest = 1;    // of the last worker, in times of the others
  uint64_t steps = 8000; // of 5 ms
};

std::string to_string(const small_set& in) {
  return std::to_string(in.rows) + " rows in chunks of " +
         std::to_string(in.chunk_rows) + ", " + std::to_string(in.workers) +
         " workers, batch " + std::to_string(in.batch) + ", slowest " +
         std::to_string(in.slowest);
}

ledger::manifest chunks_of(const small_set& in) {
  ledger::manifest out;
  out.row.classes = in.classes;
  for (uint32_t left = in.rows; left > 0;) {
    ledger::chunk_info one;
    one.id = chunk_id(uint32_t(out.train.size()));
    one.rows = std::min(left, in.chunk_rows);
    one.bytes = one.rows * 64;
    one.label_histogram.assign(in.classes, one.rows / in.classes);
    one.label_histogram[0] += one.rows % in.classes;
    left -= one.rows;
    out.train_rows += one.rows;
    out.train.push_back(std::move(one));
  }
  return out;
}

std::vector<worker_id> workers_of(const small_set& in) {
  std::vector<worker_id> out;
  for (uint32_t i = 1; i <= in.workers; ++i)
    out.push_back(worker_id{i});
  return out;
}

/// The steps at which a plan took effect, in a run that goes on for long.
std::vector<uint64_t> plans_of(const small_set& in) {
  const ledger::manifest set = chunks_of(in);
  testing::balanced_options options;
  options.batch = in.batch;
  options.noise = in.noise;
  options.steps = in.steps;
  options.seed = in.rows + 1000 * in.workers + in.batch;
  options.one_look = 10;
  options.steps_left = 1'000'000;
  options.speed = [in](size_t rank, uint64_t) {
    return rank + 1 == in.workers ? 1 / in.slowest : 1.0;
  };
  testing::balanced_run run(
      set, first_plan(set, workers_of(in), generation{1}, plan_number{1}),
      options);
  run.run();
  std::vector<uint64_t> out;
  for (const auto& one : run.plans())
    out.push_back(one.step);
  return out;
}

std::vector<small_set> all_of_them(double slowest) {
  std::vector<small_set> out;
  for (uint32_t rows : {30u, 64u, 100u, 101u, 250u})
    for (uint32_t chunk_rows : {13u, 256u})
      for (uint32_t workers : {2u, 3u, 4u})
        for (uint64_t batch : {8u, 16u, 20u, 32u})
          out.push_back({.rows = rows,
                         .chunk_rows = chunk_rows,
                         .workers = workers,
                         .batch = batch,
                         .slowest = slowest});
  return out;
}

TEST(small_set, of_equal_workers_is_balanced_once) {
  for (const small_set& one : all_of_them(1)) {
    std::vector<uint64_t> plans = plans_of(one);
    EXPECT_LE(plans.size(), 3u) << to_string(one);
    EXPECT_LT(plans.empty() ? 0 : plans.back(), one.steps / 2)
        << to_string(one);
  }
}

TEST(small_set, follows_a_worker_that_is_slower_and_stays_with_that) {
  for (double slowest : {1.3, 3.0})
    for (const small_set& one : all_of_them(slowest)) {
      std::vector<uint64_t> plans = plans_of(one);
      EXPECT_LE(plans.size(), 6u) << to_string(one);
      EXPECT_LT(plans.empty() ? 0 : plans.back(), one.steps / 2)
          << to_string(one);
    }
}

// With a few hundred rows a worker, whole rows alone are some skew.
TEST(small_set, is_told_where_a_plan_for_sizes_costs_skew) {
  uint64_t told = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    testing::test_random random(seed);
    const auto workers = uint32_t(random.between(2, 6));
    const auto classes = uint32_t(random.between(2, 10));
    const uint64_t rows = workers * random.between(100, 600);
    const std::vector<int32_t> labels =
        testing::uneven_labels(rows, classes, random);
    placement_spec spec;
    spec.kind = placement_kind::stratified;
    const placement::placement_rows of{labels.size(), labels, classes};
    const ledger::manifest set = testing::chunked(
        lay_out_chunks(spec, of, place_rows(spec, of, workers, seed), 25),
        labels, classes);
    testing::balanced_options options;
    options.seed = seed;
    options.skew_tv = 0;
    options.speed = [&](size_t rank, uint64_t) {
      return 1 + double(rank + seed % 3) / 4;
    };
    testing::balanced_run run(set, options);
    double before = run.skew();
    run.run();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + run.story());
    for (const auto& one : run.plans()) {
      const bool says = one.reason.find("skew rises") != std::string::npos;
      EXPECT_EQ(says, one.skew > before + 0.0005);
      EXPECT_LE(one.skew,
                std::max(before, double(classes * workers) / double(rows)));
      told += says;
      before = one.skew;
    }
  }
  EXPECT_GT(told, 0u);
}

} // namespace
} // namespace ballast::balance
