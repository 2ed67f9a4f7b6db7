/// The heartbeats of a worker, on a thread of their own: nothing that a handler
/// of gpu_worker does, or waits for, delays one. It sends what the engine and
/// the device say of themselves and knows nothing else.
#pragma once

#include "actors/protocol.hpp"

#include <caf/all.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace ballast::actors {

struct heart_config {
  /// What the worker does now; waits for nothing.
  std::function<heartbeat()> now;
  /// What is wrong with its device; empty: nobody looks.
  std::function<ballast::device_trouble()> device_trouble = {};
  /// A defect in here ends the process, with this reason.
  std::function<void(const std::string&)> on_defect = {};
  /// It was spawned with a thread, which it names.
  bool own_thread = false;
};

using heart_actor = caf::typed_actor<
    // Beat from now on as this worker, for this coordinator (null: nobody
    // listens now), this often in ms.
    caf::reacts_to<alive_atom, caf::strong_actor_ptr, worker_id, uint32_t>,
    // INTERNAL: a beat.
    caf::reacts_to<alive_atom>>;

class heart final : public heart_actor::base {
public:
  heart(caf::actor_config& base, heart_config config)
      : heart_actor::base(base), config_(std::move(config)) {}

  const char* name() const override { return "heart"; }
  heart_actor::behavior_type make_behavior() override;

private:
  void beat();

  heart_config config_;
  coordinator_actor to_;
  worker_id self_{};
  std::chrono::milliseconds every_{0}; // 0: it does not beat yet
};

} // namespace ballast::actors
