#include "actors/heart.hpp"

#include "actors/handler_exception.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/thread_name.hpp"

#include <chrono>
#include <system_error>
#include <utility>

namespace ballast::actors {

heart_actor::behavior_type heart::make_behavior() {
  if (config_.own_thread)
    name_this_thread("bl-heartbeat");
  on_handler_exception(this, "worker", config_.on_defect);
  return {
      [this](alive_atom, const caf::strong_actor_ptr& coordinator,
             worker_id self, uint32_t every_ms) {
        to_ = caf::actor_cast<coordinator_actor>(coordinator);
        self_ = self;
        const bool beats = every_.count() > 0;
        every_ = std::chrono::milliseconds(every_ms);
        if (!beats && every_.count() > 0)
          delayed_send(this, every_, alive_atom::value);
      },
      [this](alive_atom) {
        beat();
        delayed_send(this, every_, alive_atom::value);
      },
  };
}

void heart::beat() {
  if (int injected = fault_point("worker.heartbeat"))
    throw std::system_error(injected, std::generic_category(), "a heartbeat");
  if (!to_)
    return;
  heartbeat out = config_.now();
  out.worker = self_;
  if (config_.device_trouble)
    out.trouble = config_.device_trouble();
  send(to_, std::move(out));
}

} // namespace ballast::actors
