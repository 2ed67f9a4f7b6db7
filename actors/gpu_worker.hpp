/// The worker's end of the control plane: says hello, hands orders on and
/// reports. It translates messages and waits for nothing; coordinator_link
/// decides what the process makes of its coordinator, the engine's lifecycle
/// what becomes of a run, and heart.hpp beats.
#pragma once

#include "actors/fragment_worker.hpp"
#include "actors/heart.hpp"
#include "actors/protocol.hpp"
#include "actors/worker_engine.hpp"
#include "monitor/metrics/metrics.hpp"
#include "runtime/worker/coordinator_link.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace ballast::actors {

/// The metrics of the run a worker is in, shared with its HTTP server.
class probe_slot {
public:
  std::shared_ptr<monitor::worker_probe> get() const {
    std::lock_guard lock(mutex_);
    return probe_;
  }
  void set(std::shared_ptr<monitor::worker_probe> probe) {
    std::lock_guard lock(mutex_);
    probe_ = std::move(probe);
  }

private:
  mutable std::mutex mutex_;
  std::shared_ptr<monitor::worker_probe> probe_;
};

struct gpu_worker_config {
  worker_hello hello;
  bool once = false;         // leave after one job
  bool log_to_folder = true; // also write logs/NAME.log of the run
  std::shared_ptr<probe_slot> probes;
  /// Where it reads files for its coordinator; nothing: it reads none.
  std::optional<fragment_worker_config> fragments = {};
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
  /// Heartbeats have a thread; tests, in virtual time, have none.
  bool heart_has_thread = true;
  /// The node is done: exit code and, unless 0, the reason. Called once.
  std::function<void(int, std::string)> on_exit;
};

class gpu_worker final : public local_worker_actor::base {
public:
  gpu_worker(caf::actor_config& base, coordinator_actor coordinator,
             gpu_worker_config config);

  const char* name() const override { return "gpu_worker"; }
  local_worker_actor::behavior_type make_behavior() override;
  void on_exit() override;

private:
  /// The one way to the coordinator. What was applied before goes first.
  void pass_on(const worker_report& what);
  void report(worker_report what);
  void send_progress();
  void carry_out(const worker::link_decision& what);
  void say_hello();
  void set_heart();
  void search();
  void keep_time();
  void tick();
  void on_assignment(const assignment& order);
  void on_fence(const fence_order& order);
  void on_command(const command& order);
  void count_error(errc code);
  void on_report(const worker_report& what);
  void on_fragment(const prepare_fragment& order);
  void end_fragments();
  instant now() const;

  const gpu_worker_config config_;
  coordinator_actor coordinator_;
  worker::coordinator_link link_;
  std::shared_ptr<worker_engine> engine_;
  std::unique_ptr<fragment_worker> fragments_; // with the first order
  std::jthread fragments_end_;                 // waits for their threads
  heart_actor heart_;
  /// How it beats, as far as it was told.
  struct pulse {
    coordinator_actor to;
    worker_id self{};
    uint32_t every_ms = 0;
    bool operator==(const pulse& other) const {
      return to == other.to && self == other.self && every_ms == other.every_ms;
    }
  };
  pulse pulse_;
  bool searching_ = false; // for a coordinator
  data::bytes_read read_;  // as last reported
  bool ticking_ = false;
};

} // namespace ballast::actors
