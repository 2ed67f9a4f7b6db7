#include "runtime/messages/messages.hpp"

namespace ballast {

std::string to_string(worker_phase phase) {
  switch (phase) {
  case worker_phase::idle:
    return "idle";
  case worker_phase::loading:
    return "loading";
  case worker_phase::opening:
    return "opening";
  case worker_phase::compute:
    return "compute";
  case worker_phase::reduce:
    return "reduce";
  case worker_phase::apply:
    return "apply";
  case worker_phase::evaluate:
    return "evaluate";
  case worker_phase::paused:
    return "paused";
  case worker_phase::finished:
    return "finished";
  case worker_phase::disk_full:
    return "disk_full";
  }
  return "unknown";
}

std::string to_string(command_kind kind) {
  switch (kind) {
  case command_kind::pause:
    return "pause";
  case command_kind::resume:
    return "resume";
  case command_kind::stop:
    return "stop";
  case command_kind::release:
    return "release";
  case command_kind::leave:
    return "leave";
  case command_kind::abandon:
    return "abandon";
  case command_kind::checkpoint:
    return "checkpoint";
  case command_kind::expel:
    return "expel";
  case command_kind::kill:
    return "kill";
  case command_kind::stall:
    return "stall";
  case command_kind::slow:
    return "slow";
  case command_kind::damage:
    return "damage";
  case command_kind::dismiss:
    return "dismiss";
  case command_kind::recorded:
    return "recorded";
  case command_kind::unpause:
    return "unpause";
  case command_kind::flip:
    return "flip";
  }
  return "unknown";
}

} // namespace ballast
