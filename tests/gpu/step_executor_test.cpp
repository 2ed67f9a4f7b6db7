// Goal: the training loop does what the plan says, with real threads, a real
// reduction and a real model. Method: W executors in this process over the
// local collective and the emulated model without sleeping.
#include "tests/gpu/executor_cluster.hpp"

namespace ballast::gpu {
namespace {

/// The same training in double, from the trace alone.
std::vector<double> replay(const cluster& c) {
  std::vector<double> w(c.what_.model.parameters, 0.0);
  for (const auto& [step, lines] : c.traced_) {
    double n = 0;
    double sum = 0;
    for (const fed& one : lines)
      for (uint64_t id : one.ids) {
        sum += emulated_target(sample_id{id});
        ++n;
      }
    for (size_t j = 0; j < w.size(); ++j)
      w[j] -= c.what_.train.optimizer.lr *
              (n * w[j] - (1 + double(j % 7) / 8) * sum) / n;
  }
  return w;
}

TEST(step_executor, trains_each_sample_once_per_epoch_and_ends_alike) {
  for (size_t world : {1, 2, 3}) {
    cluster c(world, 11, emulated_job(3, 25));
    c.start();
    c.join();
    c.expect_each_once(3);
    EXPECT_EQ(c.traced_.size(), 3 * ((176 + 24) / 25u));
    std::vector<double> expected = replay(c);
    for (auto& one : c.workers_) {
      ASSERT_TRUE(one->finished) << (one->failed ? one->failed->message : "");
      EXPECT_EQ(one->finished->weights_digest,
                c.workers_[0]->finished->weights_digest);
      for (size_t j = 0; j < expected.size(); ++j)
        EXPECT_NEAR(one->parameters()[j], expected[j], 1e-5);
    }
  }
}

TEST(step_executor, reports_every_applied_step_in_order) {
  cluster c(2, 8, emulated_job(2, 16));
  c.start();
  c.join();
  step_progress done = c.workers_[1]->executor->drain();
  ASSERT_EQ(done.steps.size(), 16u);
  ASSERT_EQ(done.timings.size(), 16u);
  for (size_t i = 0; i < done.steps.size(); ++i) {
    EXPECT_EQ(done.steps[i].step, step_number{i + 1});
    EXPECT_EQ(done.steps[i].samples, 16u);
  }
  EXPECT_EQ(done.steps.back().epoch, epoch_number{2});
}

TEST(step_executor, tells_once_what_the_collective_sent) {
  cluster c(2, 8, emulated_job(2, 16));
  c.start();
  c.join();
  // Every step sends its gradient and its trailer.
  EXPECT_GT(c.workers_[1]->executor->drain().bytes_sent,
            16 * worker::trailer::floats * sizeof(float));
  EXPECT_EQ(c.workers_[1]->executor->drain().bytes_sent, 0u);
}

TEST(step_executor, switches_to_an_offered_plan_without_losing_a_sample) {
  cluster c(3, 30, emulated_job(6, 10));
  ledger::plan second = c.deal(plan_number{2}, 1);
  // Waiting before anybody starts: the lane fills in step 1, so that step 3 is
  // the first one under it.
  for (auto& one : c.workers_)
    one->executor->post(second);
  c.start();
  c.join();
  c.expect_each_once(6);
  EXPECT_EQ(c.plans_.at(1), 1u);
  EXPECT_EQ(c.plans_.at(2), 1u);
  EXPECT_EQ(c.plans_.at(3), 2u);
  for (auto& one : c.workers_)
    EXPECT_TRUE(one->finished);
}

TEST(step_executor, stands_still_after_one_step_and_resumes) {
  cluster c(2, 20, emulated_job(2, 10));
  for (auto& one : c.workers_)
    one->executor->post(command_kind::pause);
  c.start();
  c.all_paused_.wait();
  EXPECT_EQ(c.paused_at_, 2u);
  EXPECT_EQ(c.workers_[0]->executor->now().phase, worker_phase::paused);
  for (auto& one : c.workers_)
    one->executor->post(command_kind::resume);
  c.join();
  c.expect_each_once(2);
}

TEST(step_executor, ends_in_a_pause_when_told_to_stop) {
  cluster_setup setup;
  setup.copies = true;
  cluster c(2, 20, emulated_job(2, 10), setup);
  for (auto& one : c.workers_)
    one->executor->post(command_kind::pause);
  c.start();
  c.all_paused_.wait();
  for (auto& one : c.workers_)
    one->executor->post(command_kind::stop);
  c.join();
  for (auto& one : c.workers_) {
    ASSERT_TRUE(one->finished);
    EXPECT_TRUE(one->finished->stopped);
    EXPECT_EQ(one->finished->step, step_number{2});
  }
  for (auto& one : c.workers_)
    EXPECT_TRUE(one->copies.contains(2)) << "its part, to be resumed from";
}

// Whoever asks again has not got the copy before.
TEST(step_executor, copies_its_state_as_often_as_it_is_asked_in_a_pause) {
  cluster_setup setup;
  setup.copies = true;
  cluster c(2, 20, emulated_job(2, 10), setup);
  for (auto& one : c.workers_)
    one->executor->post(command_kind::pause);
  c.start();
  c.all_paused_.wait();
  for (auto& one : c.workers_)
    for (const command_kind kind :
         {command_kind::checkpoint, command_kind::checkpoint,
          command_kind::resume})
      one->executor->post(kind);
  c.join();
  for (auto& one : c.workers_)
    EXPECT_EQ(one->copies.count(2), 2u);
}

/// Rows that never come.
class no_rows final : public data::row_source {
public:
  void gather(data::data_part, std::span<const ledger::row_ref>,
              const question& given_up, data::batch&) override {
    asked.count_down();
    while (!given_up())
      std::this_thread::yield();
    throw ballast_error(errc::unreachable, "given up");
  }
  data::chunk_ptr chunk_of(data::data_part, chunk_id,
                           const question&) override {
    return nullptr;
  }
  std::latch asked{1};
};

TEST(step_executor, leaves_a_wait_for_rows_when_aborted) {
  no_rows never;
  cluster c(1, 4, emulated_job(1, 16), {.rows = &never});
  c.start();
  never.asked.wait();
  c.workers_[0]->executor->abort("test");
  c.join();
  ASSERT_TRUE(c.workers_[0]->failed);
  EXPECT_EQ(c.workers_[0]->failed->code, errc::collective_failed);
}

TEST(step_executor, leaves_a_wait_for_others_when_aborted) {
  cluster c(2, 4, emulated_job(1, 10));
  c.workers_[1]->executor->abort("test");
  c.start();
  c.workers_[0]->executor->abort("test");
  c.join();
  for (auto& one : c.workers_) {
    ASSERT_TRUE(one->failed);
    EXPECT_EQ(one->failed->code, errc::collective_failed);
    EXPECT_FALSE(one->finished);
  }
}

TEST(step_executor, ends_with_the_step_named_when_the_loss_is_not_finite) {
  job what = emulated_job(2, 10);
  what.train.optimizer.lr = 1e30;
  cluster c(2, 8, what);
  c.start();
  c.join();
  for (auto& one : c.workers_) {
    ASSERT_TRUE(one->failed);
    EXPECT_EQ(one->failed->code, errc::non_finite_loss);
    EXPECT_NE(one->failed->message.find("step "), std::string::npos);
  }
}

} // namespace
} // namespace ballast::gpu
