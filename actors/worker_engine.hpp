/// Everything in a worker process that takes time or memory: the chunk store
/// and its Flight service, the model, the collective, the step thread. The
/// gpu_worker actor calls it and never waits for it; results come back through
/// the listener, on the engine's threads.
///
/// One run at a time: load -> connect -> (command ...) -> leave; and after a
/// fence: fence -> load -> connect, with the model and the chunks that are
/// here.
#pragma once

#include "gpu/step_executor.hpp"
#include "runtime/messages/messages.hpp"

#include <functional>
#include <memory>
#include <string>

namespace ballast {

struct engine_listener {
  std::function<void(worker_report)> report;
};

/// What tests of the actor replace.
class worker_engine {
public:
  virtual ~worker_engine() = default;
  virtual void load(const assignment& what) = 0;
  virtual void connect(const connect_order& what) = 0;
  /// Stops every generation up to the level; nothing is applied after the
  /// return, which waits for an apply in progress at most.
  virtual final_ack fence(const fence_order& what) = 0;
  /// The same for every generation heard of, where nobody asks: the run was
  /// killed.
  virtual void freeze(const std::string& reason) = 0;
  /// The newest generation heard of.
  virtual generation newest() const = 0;
  virtual void tell(const command& what) = 0;
  virtual void offer(const plan_offer& what) = 0;
  /// Copies chunks beside everything else.
  virtual void fetch(const fetch_order& what) = 0;
  /// What was applied since the last call.
  virtual step_progress drain() = 0;
  virtual heartbeat now() const = 0;
  /// Ends every thread of the run and frees its memory. Waits as long as the
  /// collective needs to give up.
  virtual void leave(const std::string& reason) = 0;
};

struct engine_config {
  std::string bind_host = "127.0.0.1";
  uint64_t store_limit_bytes = 0; // 0 = four fifths of the free memory
  /// Where it computes; null: on the CPU.
  std::shared_ptr<compute_device> device = {};
  /// Called on the step thread instead of `failed` where the device fails
  /// while it trains: the process is to end. Empty: the run fails.
  std::function<void(const std::string& why)> device_lost = {};
};

std::unique_ptr<worker_engine> make_worker_engine(engine_config config,
                                                  engine_listener listener);

} // namespace ballast
