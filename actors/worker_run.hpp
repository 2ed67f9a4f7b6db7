/// All that a worker process holds of one run, by owner: the data set any
/// thread may use; gradient plane and replica belong to the threads that load,
/// connect and step, which follow each other; the engine guards the rest with
/// its mutex. Freed as a whole, once its threads have ended.
#pragma once

#include "actors/gradient_plane.hpp"
#include "actors/replica.hpp"
#include "actors/run_data.hpp"
#include "actors/sample_trace.hpp"
#include "actors/served_model.hpp"
#include "actors/state_snapshot.hpp"
#include "data/augment/image_augment.hpp"
#include "gpu/step_executor.hpp"
#include "runtime/job/job.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/worker/lifecycle.hpp"

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace ballast::actors {

struct worker_run {
  /// `device`: where it computes; null: on the CPU.
  worker_run(const assignment& first, gpu::compute_device* device);
  ~worker_run();

  // -- what the lifecycle decided; the engine's lock is held
  void obey(const worker::post_command& what);
  void obey(const worker::inject_fault& what);
  void obey(const worker::forget_steps& what);
  void obey(const worker::stop_generations& what);
  void abort_openings(const std::string& reason);

  const std::string name;
  // -- any thread
  run_data data;
  // -- the thread that loads, connects and steps
  std::optional<job> what;
  std::optional<data::image_augment> images; // null: rows are as stored
  std::optional<gradient_plane> plane;
  replica trained;
  state_snapshot snapshot; // of it, for checkpoints; any thread may read it
  std::mutex serving;      // guards the next
  std::map<std::string, std::shared_ptr<served_model>> models; // by image
  std::future<void> forgotten; // the gradients, once the model is fetched
  bool built = false;          // the replica, to its last buffer
  bool has_state = false;      // the replica: of some step
  std::optional<sample_trace> trace;
  // -- guarded by the engine
  std::shared_ptr<collectives::collective_opening>
      opening; // of the present generation
  std::shared_ptr<collectives::collective_opening>
      next_opening; // of the one beside it
  std::shared_ptr<gpu::step_executor> executor;
};

/// What of the run is not here yet: data, model, and the service that hands
/// both to others. Goes on with what an attempt that was broken off left. The
/// step whose state the replica then holds, if this made it: 0, or that of the
/// checkpoint to begin with. Throws ballast_error.
std::optional<step_number> load_run(worker_run& run, const assignment& order,
                                    const std::string& bind_host,
                                    uint64_t store_limit_bytes,
                                    const std::function<bool()>& given_up);
std::shared_ptr<collectives::collective_opening>
open_collective(worker_run& run, const assignment& order,
                const std::string& host);
/// The step thread of a generation, ready to run. A newcomer beside others gets
/// its position with the state.
std::shared_ptr<gpu::step_executor> make_executor(worker_run& run,
                                                  const assignment& order,
                                                  gpu::step_listener listener);

} // namespace ballast::actors
