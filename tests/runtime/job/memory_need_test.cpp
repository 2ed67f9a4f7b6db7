// Goal: a job that cannot fit into a machine is refused with numbers that the
// user can check. Method: tables.
#include "runtime/job/memory_need.hpp"

#include <gmock/gmock.h>

namespace ballast {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t gib = uint64_t{1} << 30;

optimizer_spec with(optimizer_kind kind, double momentum = 0) {
  return {.kind = kind, .momentum = momentum};
}

job using_optimizer(optimizer_kind kind) {
  job out;
  out.train.optimizer = with(kind);
  return out;
}

TEST(memory_need, counts_parameters_gradients_and_optimizer_state) {
  EXPECT_EQ(training_bytes(1000, with(optimizer_kind::sgd)), 12'000u);
  EXPECT_EQ(training_bytes(1000, with(optimizer_kind::sgd, 0.9)), 16'000u);
  EXPECT_EQ(training_bytes(1000, with(optimizer_kind::adamw)), 20'000u);
  EXPECT_EQ(training_bytes(UINT64_MAX / 8, with(optimizer_kind::adamw)),
            UINT64_MAX);
}

TEST(memory_need, refuses_what_no_worker_could_hold) {
  failure why = memory_problem(using_optimizer(optimizer_kind::adamw),
                               10'000'000'000, 1, {23 * gib, 2});
  EXPECT_EQ(why.code, errc::invalid_job);
  EXPECT_EQ(why.pointer, "/model");
  EXPECT_THAT(why.message, HasSubstr("186.3 GiB for 10000000000 parameters "
                                     "with adamw"));
  EXPECT_THAT(why.message, HasSubstr("it has 23.0 GiB"));
}

TEST(memory_need, counts_the_workers_that_share_the_machine) {
  const job what = using_optimizer(optimizer_kind::sgd);
  const uint64_t parameters = 500'000'000; // 5.6 GiB a worker
  EXPECT_FALSE(memory_problem(what, parameters, 4, {23 * gib, 2}));
  failure why = memory_problem(what, parameters, 5, {23 * gib, 2});
  EXPECT_THAT(why.message, HasSubstr("in each of 5 workers"));
  EXPECT_THAT(why.message, HasSubstr("run fewer workers"));
}

TEST(memory_need, does_not_judge_a_machine_whose_size_is_unknown) {
  EXPECT_FALSE(memory_problem(using_optimizer(optimizer_kind::sgd), UINT64_MAX,
                              1, {0, 2}));
}

TEST(memory_need, refuses_more_threads_than_cores) {
  EXPECT_FALSE(threads_problem(2, {gib, 2}));
  failure why = threads_problem(1024, {gib, 2});
  EXPECT_EQ(why.pointer, "/train/threads");
  EXPECT_THAT(why.message, HasSubstr("1024 compute threads"));
  EXPECT_THAT(why.message, HasSubstr("2 cores"));
}

TEST(memory_need, shares_the_cores_among_the_workers_of_a_machine) {
  train_spec train;
  EXPECT_EQ(compute_threads(train, 2, {gib, 16}), 8u);
  EXPECT_EQ(compute_threads(train, 3, {gib, 2}), 1u);
  EXPECT_EQ(compute_threads(train, 0, {gib, 4}), 4u);
  train.threads = 3;
  EXPECT_EQ(compute_threads(train, 2, {gib, 16}), 3u);
}

model_spec mlp(std::vector<uint32_t> hidden) {
  model_spec out;
  out.kind = model_kind::mlp;
  out.hidden = std::move(hidden);
  return out;
}

TEST(memory_need, knows_a_lower_bound_from_the_job_alone) {
  model_spec model;
  for (const model_kind kind :
       {model_kind::linear, model_kind::logistic, model_kind::resnet18,
        model_kind::torchscript}) {
    model.kind = kind;
    EXPECT_EQ(least_parameters(model), 0u) << to_string(kind);
  }
  model.kind = model_kind::emulated;
  model.parameters = 77;
  EXPECT_EQ(least_parameters(model), 77u);
  // One feature, one output: 1 x 8 + 8, 8 x 3 + 3, 3 x 1 + 1.
  EXPECT_EQ(least_parameters(mlp({8, 3})), 16u + 27 + 4);
  EXPECT_EQ(least_parameters(mlp(std::vector<uint32_t>(9, UINT32_MAX))),
            UINT64_MAX);
  model.kind = model_kind::cnn;
  model.channels = {8, 3};
  EXPECT_EQ(least_parameters(model), 80u + 219 + 4);
  // GPT-2's blocks, its embedding of 50,257 tokens and its last norm.
  model.kind = model_kind::transformer;
  model.layers = 12;
  model.width = 768;
  model.vocabulary = 50257;
  EXPECT_EQ(least_parameters(model), 12 * 7087872u + 50257 * 768u + 3 * 768);
}

TEST(memory_need, refuses_a_job_that_its_only_machine_cannot_do) {
  job what = using_optimizer(optimizer_kind::sgd);
  what.elastic.workers = 3;
  what.model = mlp({100'000, 100'000});
  EXPECT_FALSE(machine_problem(what, {400 * gib, 2}));
  failure why = machine_problem(what, {23 * gib, 2});
  EXPECT_EQ(why.code, errc::invalid_job);
  EXPECT_THAT(why.message,
              HasSubstr("at least 111.8 GiB for at least 10000400001 "
                        "parameters"));
  EXPECT_THAT(why.message, HasSubstr("in each of 3 workers"));
  EXPECT_FALSE(machine_problem(what, {0, 2}));
  what.train.threads = 3;
  EXPECT_EQ(machine_problem(what, {0, 2}).pointer, "/train/threads");
}

} // namespace
} // namespace ballast
