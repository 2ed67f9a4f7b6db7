/// What the clusters of executor_cluster.hpp are made of.
#pragma once

#include "data/loader/row_source.hpp"
#include "gpu/device.hpp"
#include "gpu/emulated_model.hpp"
#include "gpu/reduction/leaf_slots.hpp"
#include "runtime/messages/reports.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ballast::gpu {

inline constexpr uint32_t rows_per_chunk = 16;

inline ledger::chunk_info chunk_of(uint32_t number) {
  ledger::chunk_info out;
  out.id = chunk_id(number);
  out.rows = rows_per_chunk;
  return out;
}

inline job emulated_job(uint64_t epochs, uint64_t batch) {
  job out;
  out.model.kind = model_kind::emulated;
  out.model.parameters = 40;
  out.train.epochs = epochs;
  out.train.global_batch = batch;
  out.train.optimizer.kind = optimizer_kind::sgd;
  out.train.optimizer.lr = 0.05;
  return out;
}

/// What one worker fed to one step.
struct fed {
  uint64_t epoch;
  std::vector<uint64_t> ids;
  std::vector<uint64_t> used = {}; // of these; empty: all
};

/// What a worker said last.
struct last_reports {
  std::optional<worker_finished> finished;
  std::optional<worker_failed> failed;
  std::optional<evaluation_report> evaluated;
  std::optional<leaves_contradicted> contradicted;

  void note(worker_report what) {
    if (auto* one = std::get_if<evaluation_report>(&what))
      evaluated = *one;
    else if (auto* one = std::get_if<worker_finished>(&what))
      finished = *one;
    else if (auto* one = std::get_if<worker_failed>(&what))
      failed = *one;
    else if (auto* one = std::get_if<leaves_contradicted>(&what))
      contradicted = *one;
  }
};

/// What the workers of a cluster are made of.
struct cluster_setup {
  std::string backend = "local";
  uint32_t test_chunks = 0;
  bool copies = false;              // keep what a checkpoint would
  size_t leaf_threads = 1;          // of the reduction canonical
  data::row_source* rows = nullptr; // null: all are here
  /// Called on the step thread of a rank.
  std::function<void(size_t rank, uint64_t step)> before_step = [](size_t,
                                                                   uint64_t) {};
  std::function<void(size_t rank)> before_apply = [](size_t) {};
  std::function<void(const parameters_digested&)> digested =
      [](const parameters_digested&) {};
  std::function<std::shared_ptr<compute_device>(size_t rank)> device =
      [](size_t) {
        return std::shared_ptr<compute_device>(&cpu_device(), [](auto*) {});
      };
  std::function<std::unique_ptr<model>(const job&, compute_device&)> network =
      [](const job& what, compute_device&) {
        return std::make_unique<emulated_model>(what.model);
      };
};

/// What a worker computes leaves with, beside its network; of other reductions
/// nothing.
struct cluster_leaves {
  std::vector<std::unique_ptr<model>> networks;
  leaf_memory memory;

  void make(const job& what, const cluster_setup& of, compute_device& device,
            const model& own, collectives::collective_backend& group) {
    if (what.train.reduction != reduction_kind::canonical)
      return;
    for (size_t i = 1; i < of.leaf_threads; ++i)
      networks.push_back(of.network(what, device));
    memory = lay_out_leaves(what.train.leaves, of.leaf_threads,
                            own.parameter_count(), own.statistics_count());
    memory.values = device.allocate(memory.floats(), group);
  }
  std::vector<model*> models() const {
    std::vector<model*> out;
    for (const auto& one : networks)
      out.push_back(one.get());
    return out;
  }
};

} // namespace ballast::gpu
