/// A worker's replica of what is trained: model, optimizer, their memory, and
/// the step up to which they are trained. Belongs to the thread that loads and
/// steps; what it hands out as bytes is read while it stands still, or is what
/// it stood at. Throws ballast_error.
#pragma once

#include "gpu/bucket_layout.hpp"
#include "gpu/device.hpp"
#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"
#include "gpu/training_state.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace ballast::actors {

struct replica {
  /// Where it computes; outlives the run.
  gpu::compute_device* device = &gpu::cpu_device();
  std::unique_ptr<gpu::model> network;
  std::unique_ptr<gpu::optimizer> update;
  gpu::arenas memory;
  gpu::bucket_layout layout;
  gpu::training_state state;
};

/// Parameters as the job's seed makes them. `local_workers` share this host's
/// memory and cores. `backend` allocates what it is to reach.
void build(replica& out, const job& what, const ledger::row_shape& row,
           uint32_t local_workers, collectives::collective_backend& backend);
/// Parameters and buffers, as a safetensors file.
std::string model_bytes(const replica& of, const std::string& run);
/// And the optimizer's state, after that step.
std::string state_bytes(const replica& of, const std::string& run,
                        step_number after);
/// Takes over the state of a checkpoint, which is to be that before `start`;
/// its step. invalid_data where it is not, or does not fit the model.
step_number load_state(replica& into, std::string checkpoint,
                       step_number start);

/// The newest copy of a state, for a checkpoint, until somebody fetches it.
/// Thread-safe.
class state_copy {
public:
  void put(step_number after, std::string bytes) {
    auto fresh = std::make_shared<const std::string>(std::move(bytes));
    std::lock_guard lock(mutex_);
    step_ = after;
    bytes_ = std::move(fresh);
  }
  /// "checkpoint-STEP"; nothing if that is not the newest.
  std::optional<std::string> find(const std::string& blob) const {
    std::shared_ptr<const std::string> found;
    {
      std::lock_guard lock(mutex_);
      if (bytes_ && blob == "checkpoint-" + to_string(step_))
        found = bytes_;
    }
    return found ? std::optional(*found) : std::nullopt;
  }

private:
  mutable std::mutex mutex_;
  step_number step_{};
  std::shared_ptr<const std::string> bytes_;
};

} // namespace ballast::actors
