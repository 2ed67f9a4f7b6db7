#include "runtime/coordinator/run_phase.hpp"

namespace ballast {

std::string to_string(run_phase phase) {
  switch (phase) {
  case run_phase::idle:
    return "idle";
  case run_phase::preparing:
    return "preparing";
  case run_phase::waiting:
    return "waiting";
  case run_phase::loading:
    return "loading";
  case run_phase::training:
    return "training";
  case run_phase::paused:
    return "paused";
  case run_phase::recovering:
    return "recovering";
  case run_phase::finishing:
    return "finishing";
  case run_phase::done:
    return "done";
  case run_phase::failed:
    return "failed";
  case run_phase::stopped:
    return "stopped";
  }
  return "unknown";
}

} // namespace ballast
