/// Everything in a worker process that takes time or memory: chunks and their
/// service, the model, the collective, the step thread. The orders of the
/// coordinator go to a worker_lifecycle, which decides; the engine performs its
/// actions on threads of its own. No call waits for them: what becomes of an
/// order is reported through the listener.
#pragma once

#include "gpu/device.hpp"
#include "gpu/step_progress.hpp"
#include "runtime/messages/messages.hpp"

#include <functional>
#include <memory>
#include <string>

namespace ballast::actors {

/// Called on the engine's threads.
struct engine_listener {
  /// For the coordinator: the only way there.
  std::function<void(worker_report)> report;
  /// leave() is done.
  std::function<void()> left;
};

/// What tests of the actor replace.
class worker_engine {
public:
  virtual ~worker_engine() = default;
  virtual void load(const assignment& order) = 0;
  virtual void connect(const connect_order& order) = 0;
  /// Stops every generation up to the level; nothing is applied after the
  /// return, which waits for an apply in progress at most.
  virtual final_ack fence(const fence_order& order) = 0;
  /// The same for every generation heard of, without an order: the run was
  /// killed.
  virtual void freeze(const std::string& reason);
  /// The newest generation heard of.
  virtual generation newest() const = 0;
  virtual void tell(const command& order) = 0;
  virtual void offer(const plan_offer& offer) = 0;
  /// Copies chunks beside everything else.
  virtual void fetch(const fetch_order& order) = 0;
  /// What was applied since the last call.
  virtual gpu::step_progress drain() = 0;
  /// Waits for nothing; any thread.
  virtual heartbeat now() const = 0;
  /// Ends every thread of the run and frees its memory, in the background.
  virtual void leave(const std::string& reason) = 0;
};

struct engine_config {
  std::string bind_host = "127.0.0.1";
  uint64_t store_limit_bytes = 0; // 0 = four fifths of the free memory
  /// Where it computes; null: on the CPU.
  std::shared_ptr<gpu::compute_device> device = {};
  /// Called where the device fails while it trains: the process is to end.
  /// Empty: that is reported as a failure of the run.
  std::function<void(const std::string& why)> device_lost = {};
};

std::unique_ptr<worker_engine> make_worker_engine(engine_config config,
                                                  engine_listener listener);

} // namespace ballast::actors
