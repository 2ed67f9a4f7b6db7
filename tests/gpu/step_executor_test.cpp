// Goal: the training loop does what the plan says, with real threads, a real
// reduction and a real model. Method: W executors in this process over the
// local collective and the emulated model without sleeping.
#include "gpu/step_executor.hpp"

#include "gpu/emulated_model.hpp"
#include "tests/data/some_chunks.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

namespace ballast {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t rows_per_chunk = 16;

job emulated_job(uint64_t epochs, uint64_t batch) {
  job out;
  out.model.kind = "emulated";
  out.model.parameters = 40;
  out.train.epochs = epochs;
  out.train.global_batch = batch;
  out.train.optimizer.kind = "sgd";
  out.train.optimizer.lr = 0.05;
  return out;
}

/// What one worker fed to one step.
struct fed {
  uint64_t epoch;
  std::vector<uint64_t> ids;
};

class cluster {
public:
  cluster(size_t world, uint32_t chunks, job what)
      : world_(world), what_(std::move(what)), store_(1 << 20) {
    set_.row = shape_of("uint8", 1, 2);
    for (uint32_t c = 0; c < chunks; ++c) {
      store_.put(data_part::train,
                 some_chunk<uint8_t>(c, rows_per_chunk, set_.row));
      chunk_info about;
      about.id = chunk_id(c);
      about.rows = rows_per_chunk;
      set_.train.push_back(about);
      set_.train_rows += rows_per_chunk;
    }
    for (size_t w = 0; w < world; ++w)
      workers_.push_back(std::make_unique<worker>(*this, w));
  }

  plan deal(plan_number number, size_t shift) const {
    plan out{number, generation{1}, {}};
    for (size_t w = 0; w < world_; ++w)
      out.shares.push_back(
          {worker_id(uint32_t(w + 1)), number, 0, {}, uint32_t(w)});
    for (uint32_t c = 0; c < set_.train.size(); ++c) {
      share& owner = out.shares[(c + shift) % world_];
      owner.intervals.push_back({chunk_id(c), 0, rows_per_chunk});
      owner.batch_weight += rows_per_chunk;
    }
    return out;
  }

  struct worker {
    worker(cluster& in, size_t w)
        : network(in.what_.model), self(worker_id(uint32_t(w + 1))) {
      size_t count = network.parameter_count();
      memory.count = count;
      memory.parameters = std::make_shared<float[]>(count);
      for (auto& arena : memory.gradients)
        arena = std::make_shared<float[]>(count);
      network.initialize({memory.parameters.get(), count});
      update = make_optimizer(in.what_.train.optimizer, count);
      ledger_config rows{in.what_.seed, in.what_.train.global_batch, {}};
      for (const chunk_info& one : in.set_.train)
        rows.chunk_rows.push_back(one.rows);
      step_listener listener;
      listener.trace = [this, &in](const step_order& order,
                                   const std::vector<uint64_t>& ids) {
        std::lock_guard lock(in.mutex_);
        in.traced_[value(order.at.step)].push_back(
            {value(order.at.epoch), ids});
        in.plans_[value(order.at.step)] = value(order.plan);
      };
      listener.paused = [&in](step_number at) {
        in.paused_at_ = value(at);
        in.all_paused_.count_down();
      };
      listener.ready = [](step_number) {};
      listener.finished = [this](worker_finished m) { finished = m; };
      listener.failed = [this](worker_failed m) { failed = m; };
      executor = std::make_unique<step_executor>(
          step_executor::parts{
              &in.what_, &in.set_, &in.store_, &network, update.get(), memory,
              &state, make_bucket_layout(network.parameters(), 64), self},
          worker_core_config{rows, self, in.what_.train.epochs},
          in.deal(plan_number{1}, 0),
          worker_core({rows, self, in.what_.train.epochs},
                      in.deal(plan_number{1}, 0), {}),
          listener);
    }
    emulated_model network;
    worker_id self;
    arenas memory;
    training_state state;
    std::unique_ptr<optimizer> update;
    std::unique_ptr<step_executor> executor;
    std::optional<worker_finished> finished;
    std::optional<worker_failed> failed;
  };

  void start() {
    auto backend = make_backend("local");
    std::vector<std::unique_ptr<collective_opening>> openings;
    std::vector<std::string> addresses;
    for (size_t w = 0; w < world_; ++w) {
      openings.push_back(backend->prepare(
          {generation{1}, int(w), int(world_), 1,
           "executor" + std::to_string(reinterpret_cast<uintptr_t>(this)),
           "127.0.0.1"}));
      addresses.push_back(openings.back()->address());
    }
    for (size_t w = 0; w < world_; ++w)
      threads_.emplace_back([this, w, addresses,
                             opening = std::move(openings[w])] {
        workers_[w]->executor->run(
            opening->connect(addresses, std::chrono::steady_clock::now() + 10s),
            {});
      });
  }
  void join() {
    for (std::thread& one : threads_)
      one.join();
    threads_.clear();
  }

  void expect_each_once(uint64_t epochs) {
    std::map<std::pair<uint64_t, uint64_t>, int> times;
    for (const auto& [step, lines] : traced_)
      for (const fed& one : lines)
        for (uint64_t id : one.ids)
          ++times[{one.epoch, id}];
    EXPECT_EQ(times.size(), set_.train_rows * epochs);
    for (const auto& [key, count] : times)
      EXPECT_EQ(count, 1) << "epoch " << key.first << " sample " << key.second;
  }

  /// The same training in double, from the trace alone.
  std::vector<double> replay() {
    std::vector<double> w(what_.model.parameters, 0.0);
    for (const auto& [step, lines] : traced_) {
      double n = 0;
      double sum = 0;
      for (const fed& one : lines)
        for (uint64_t id : one.ids) {
          sum += emulated_target(sample_id{id});
          ++n;
        }
      for (size_t j = 0; j < w.size(); ++j)
        w[j] -= what_.train.optimizer.lr *
                (n * w[j] - (1 + double(j % 7) / 8) * sum) / n;
    }
    return w;
  }

  size_t world_;
  job what_;
  chunk_store store_;
  manifest set_;
  std::mutex mutex_;
  std::map<uint64_t, std::vector<fed>> traced_;
  std::map<uint64_t, uint64_t> plans_;
  std::atomic<uint64_t> paused_at_{0};
  std::latch all_paused_{ptrdiff_t(world_)};
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<std::thread> threads_;
};

TEST(step_executor, trains_each_sample_once_per_epoch_and_ends_alike) {
  for (size_t world : {1, 2, 3}) {
    cluster c(world, 11, emulated_job(3, 25));
    c.start();
    c.join();
    c.expect_each_once(3);
    EXPECT_EQ(c.traced_.size(), 3 * ((176 + 24) / 25u));
    std::vector<double> expected = c.replay();
    for (auto& one : c.workers_) {
      ASSERT_TRUE(one->finished) << (one->failed ? one->failed->message : "");
      EXPECT_EQ(one->finished->weights_sha256,
                c.workers_[0]->finished->weights_sha256);
      for (size_t j = 0; j < expected.size(); ++j)
        EXPECT_NEAR(one->memory.parameters[j], expected[j], 1e-5);
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

TEST(step_executor, switches_to_an_offered_plan_without_losing_a_sample) {
  cluster c(3, 30, emulated_job(6, 10));
  plan second = c.deal(plan_number{2}, 1);
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
  cluster c(2, 20, emulated_job(2, 10));
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
} // namespace ballast
