/// The worker's end of the control plane: says hello, hands orders to the
/// engine, passes the engine's reports on, and keeps the heart beating. It
/// decides nothing and waits for nothing.
#pragma once

#include "actors/protocol.hpp"
#include "actors/worker_engine.hpp"
#include "monitor/metrics/metrics.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace ballast {

/// The metrics of the run a worker is in, shared with its HTTP server.
class probe_slot {
public:
  std::shared_ptr<worker_probe> get() const {
    std::lock_guard lock(mutex_);
    return probe_;
  }
  void set(std::shared_ptr<worker_probe> probe) {
    std::lock_guard lock(mutex_);
    probe_ = std::move(probe);
  }

private:
  mutable std::mutex mutex_;
  std::shared_ptr<worker_probe> probe_;
};

struct gpu_worker_config {
  worker_hello hello;
  bool once = false;         // leave after one job
  bool log_to_folder = true; // also write logs/NAME.log of the run
  std::shared_ptr<probe_slot> probes;
  /// What is wrong with its device, for the heartbeats; empty: nobody looks.
  std::function<ballast::device_trouble()> device_trouble = {};
  /// Makes the engine; tests pass their own.
  std::function<std::unique_ptr<worker_engine>(engine_listener)> make_engine;
  /// Looks for the coordinator of the run again until it answers, then calls
  /// back, on a thread of its own. Empty: nobody comes back.
  std::function<void(const std::string& run_folder,
                     std::function<void(coordinator_actor)> found)>
      look_again;
  /// A node without a run looks for so long when its coordinator is gone.
  uint32_t idle_wait_s = 60;
  /// The node is done: exit code and, unless 0, the reason. Called once.
  std::function<void(int, std::string)> on_exit;
};

struct gpu_worker_state {
  static inline const char* name = "gpu_worker";
  std::unique_ptr<worker_engine> engine;
  coordinator_actor coordinator;
  welcome me;
  std::string run;
  std::string run_folder;
  /// Without a coordinator: since when nothing has moved here.
  bool alone = false;
  bool searching = false; // for one
  std::string run_mark;
  uint32_t orphan_s = 0;
  bool leaving = false;  // was asked to end
  std::string dismissed; // the run that it takes no more part in
  std::string refusal;   // the last one of a coordinator that leads other runs
  bool frozen = false;   // the run was killed
  std::chrono::steady_clock::time_point still_since{};
  step_number last_step{};
  bool in_run = false;
  bool beating = false;
};

gpu_worker_actor::behavior_type
gpu_worker(gpu_worker_actor::stateful_pointer<gpu_worker_state> self,
           coordinator_actor coordinator, gpu_worker_config config);

} // namespace ballast
