/// What the clusters of executor_cluster.hpp are made of.
#pragma once

#include "data/loader/row_source.hpp"
#include "gpu/device.hpp"
#include "gpu/emulated_model.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ballast::gpu {

inline constexpr uint32_t rows_per_chunk = 16;

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

/// What the workers of a cluster are made of.
struct cluster_setup {
  std::string backend = "local";
  uint32_t test_chunks = 0;
  bool copies = false;              // keep what a checkpoint would
  data::row_source* rows = nullptr; // null: all are here
  std::function<std::shared_ptr<compute_device>(size_t rank)> device =
      [](size_t) {
        return std::shared_ptr<compute_device>(&cpu_device(), [](auto*) {});
      };
  std::function<std::unique_ptr<model>(const job&, compute_device&)> network =
      [](const job& what, compute_device&) {
        return std::make_unique<emulated_model>(what.model);
      };
};

} // namespace ballast::gpu
