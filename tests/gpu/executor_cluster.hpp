/// W executors in this process, with real threads and a real reduction, on
/// devices and models of the test's choice.
#pragma once

#include "gpu/collective_backends.hpp"
#include "gpu/staged_collective.hpp"
#include "gpu/step_executor.hpp"
#include "runtime/job/leaves_of.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/gpu/cluster_setup.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

namespace ballast::gpu {

class cluster {
public:
  cluster(size_t world, uint32_t chunks, job what, cluster_setup setup = {})
      : world_(world), what_(std::move(what)), setup_(std::move(setup)),
        store_(1 << 20) {
    set_.row = data::shape_of(ledger::stored_type::uint8, 1, 2);
    for (uint32_t c = 0; c < chunks; ++c) {
      store_.put(data::data_part::train,
                 data::some_chunk<uint8_t>(c, rows_per_chunk, set_.row));
      set_.train.push_back(chunk_of(c));
      set_.train_rows += rows_per_chunk;
    }
    for (uint32_t c = 0; c < setup_.test_chunks; ++c) {
      store_.put(data::data_part::test,
                 data::some_chunk<uint8_t>(100 + c, rows_per_chunk, set_.row));
      set_.test.push_back(chunk_of(100 + c));
      set_.test_rows += rows_per_chunk;
    }
    rows_.emplace(store_, set_.row);
    for (size_t w = 0; w < world; ++w)
      workers_.push_back(std::make_unique<worker>(*this, w));
  }
  ledger::plan deal(plan_number number, size_t shift) const {
    ledger::plan out{number, generation{1}, {}};
    for (size_t w = 0; w < world_; ++w)
      out.shares.push_back(
          {worker_id(uint32_t(w + 1)), number, 0, {}, uint32_t(w)});
    for (uint32_t c = 0; c < set_.train.size(); ++c) {
      ledger::share& owner = out.shares[(c + shift) % world_];
      owner.intervals.push_back({chunk_id(c), 0, rows_per_chunk});
      owner.batch_weight += rows_per_chunk;
    }
    return out;
  }
  struct worker : last_reports {
    worker(cluster& in, size_t w)
        : device(in.setup_.device(w)), backend(make_backend(in.setup_.backend)),
          network(in.setup_.network(in.what_, *device)),
          self(worker_id(uint32_t(w + 1))) {
      size_t count = network->parameter_count();
      memory.count = count;
      memory.parameters = device->allocate(count, *backend);
      for (auto& arena : memory.gradients)
        arena = device->allocate(count, *backend);
      if (!device->is_host())
        mirror = backend->allocate_arena(count);
      std::vector<float> values(count);
      network->initialize(values);
      device->upload(memory.parameters.get(), values.data(), count);
      update =
          device->make_optimizer(in.what_.train.optimizer, count, *backend);
      leaves.make(in.what_, in.setup_, *device, *network, *backend);
      ledger::ledger_config rows{
          in.what_.seed, in.what_.train.global_batch, {}};
      rows.leaves = leaves_of(in.what_.train);
      for (const ledger::chunk_info& one : in.set_.train)
        rows.chunk_rows.push_back(one.rows);
      step_listener listener;
      listener.trace = [&in, w](const ballast::worker::step_order& order,
                                const std::vector<uint64_t>& ids,
                                const std::vector<uint64_t>& used) {
        in.setup_.before_step(w, value(order.at.step));
        std::lock_guard lock(in.mutex_);
        in.traced_[value(order.at.step)].push_back(
            {value(order.at.epoch), ids, used});
        in.plans_[value(order.at.step)] = value(order.plan);
      };
      listener.report = [this, &in](worker_report m) {
        if (auto* one = std::get_if<worker_paused>(&m)) {
          in.paused_at_ = value(one->step);
          in.all_paused_.count_down();
        }
        if (auto* one = std::get_if<parameters_digested>(&m))
          in.setup_.digested(*one);
        note(std::move(m));
        if (contradicted && ++in.contradicted_ == in.world_)
          in.stop();
      };
      listener.before_change = [&in, w] { in.setup_.before_apply(w); };
      listener.shrunk = [this](uint32_t rows) { shrunk.push_back(rows); };
      if (in.setup_.copies)
        listener.copy = [this](step_number at, state_slice) {
          copies.emplace(value(at), parameters());
        };
      const ballast::worker::worker_core_config core{
          rows, self, in.what_.train.epochs, in.what_.verify.every_steps};
      executor = std::make_unique<step_executor>(
          step_executor::parts{
              &in.what_, &in.set_, in.setup_.rows ? in.setup_.rows : &*in.rows_,
              &in.store_, network.get(), update.get(), memory, &state,
              make_bucket_layout(network->parameters(), 64), self, device.get(),
              nullptr, 1, leaves.models(), &leaves.memory},
          core, in.deal(plan_number{1}, 0),
          ballast::worker::worker_core(core, in.deal(plan_number{1}, 0), {}),
          listener);
    }
    std::vector<float> parameters() const {
      host_rooms room;
      auto values =
          on_host(*device, memory.parameters.get(), memory.count, room);
      return {values.begin(), values.end()};
    }
    std::shared_ptr<compute_device> device;
    std::unique_ptr<collectives::collective_backend> backend;
    std::unique_ptr<model> network;
    cluster_leaves leaves;
    worker_id self;
    arenas memory;
    std::shared_ptr<float[]> mirror;
    training_state state;
    std::unique_ptr<optimizer> update;
    std::unique_ptr<step_executor> executor;
    std::vector<uint32_t> shrunk; // limits of micro-batches, as told
    std::multimap<uint64_t, std::vector<float>> copies; // by step
  };

  void start(const generation_start& how = {}) {
    std::vector<std::unique_ptr<collectives::collective_opening>> openings;
    std::vector<std::string> addresses;
    for (size_t w = 0; w < world_; ++w) {
      openings.push_back(workers_[w]->backend->prepare(
          {generation{1}, int(w), int(world_), 1,
           "executor" + std::to_string(reinterpret_cast<uintptr_t>(this)),
           "127.0.0.1"}));
      addresses.push_back(openings.back()->address());
    }
    for (size_t w = 0; w < world_; ++w)
      threads_.emplace_back(
          [this, w, addresses, how, opening = std::move(openings[w])] {
            worker& me = *workers_[w];
            auto group =
                opening->connect(addresses, std::chrono::steady_clock::now() +
                                                std::chrono::seconds(10));
            if (me.mirror)
              group = make_staged_collective(std::move(group), *me.device,
                                             me.mirror, me.memory.count);
            me.executor->run(std::move(group), how);
          });
  }
  void join() {
    for (std::thread& one : threads_)
      one.join();
    threads_.clear();
  }

  void stop() { // as a fence does
    for (auto& one : workers_)
      one->executor->freeze();
    for (auto& one : workers_)
      one->executor->abort("stopped");
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

  size_t world_;
  job what_;
  cluster_setup setup_;
  data::chunk_store store_;
  ledger::manifest set_;
  std::optional<data::resident_rows> rows_;
  std::mutex mutex_;
  std::map<uint64_t, std::vector<fed>> traced_;
  std::map<uint64_t, uint64_t> plans_;
  std::atomic<uint64_t> paused_at_{0};
  std::atomic<size_t> contradicted_{0}; // ranks that said so
  std::latch all_paused_{ptrdiff_t(world_)};
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<std::thread> threads_;
};

} // namespace ballast::gpu
