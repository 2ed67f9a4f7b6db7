/// A worker's replica of what is trained: model, optimizer, their memory, and
/// the step up to which they are trained. Belongs to the thread that loads and
/// steps; what it hands out as bytes is read while it stands still, or is what
/// it stood at. Throws ballast_error.
#pragma once

#include "data/model/safetensors.hpp"
#include "gpu/bucket_layout.hpp"
#include "gpu/device.hpp"
#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"
#include "gpu/reduction/leaf_slots.hpp"
#include "gpu/state_parts.hpp"
#include "gpu/training_state.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ballast::actors {

struct replica {
  /// Where it computes; outlives the run.
  gpu::compute_device* device = &gpu::cpu_device();
  std::unique_ptr<gpu::model> network;
  std::unique_ptr<gpu::optimizer> update;
  gpu::arenas memory;
  gpu::bucket_layout layout;
  /// Of the reduction canonical: the models that compute leaves beside
  /// `network`, over the same parameters, and memory for leaves.
  std::vector<std::unique_ptr<gpu::model>> leaf_models;
  gpu::leaf_memory leaves;
  std::string probe; // likewise: gpu/reduction/probe_leaf.hpp
  gpu::training_state state;
  /// Its parameters come from nowhere else than the job: from its seed, or the
  /// model that init.from names.
  bool begins = true;
  /// Updates that the optimizer's state has seen before the run.
  uint64_t steps_before = 0;
};

/// Parameters as the job makes them, if it begins; job.init.from is a file of
/// this machine. `local_workers` share
/// this host's memory and cores. `others_train` meanwhile: they are not to wait
/// for its memory later. `backend` allocates what it is to reach.
void build(replica& out, const job& what, const ledger::row_shape& row,
           uint32_t local_workers, bool others_train,
           collectives::collective_backend& backend);
/// No step follows: the memory of gradients goes back to the system now, while
/// others are busy, which a process of some gigabytes else does at its very
/// end. They read as zeros from here on. Any thread.
void forget_gradients(const replica& of);
/// Its state, part by part.
std::vector<gpu::state_part> parts_of(const replica& of);
/// What lies elsewhere is copied into `room` at once; the rest is what the
/// replica has, and may change with it.
struct replica_image {
  data::safetensors_image file;
  gpu::host_rooms room;
};
/// Parameters and buffers, as a safetensors file.
replica_image model_image(const replica& of, const std::string& run);
/// The same of those that keep.best kept. Precondition: some are.
replica_image best_image(const replica& of, const std::string& run);
/// What the bytes of a state come to, but for some names.
uint64_t state_bytes(const replica& of);
/// And the optimizer's state, after that step.
replica_image state_image(const replica& of, const std::string& run,
                          step_number after);

} // namespace ballast::actors
