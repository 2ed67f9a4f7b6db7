/// The part of coordinator_core that users steer: pause, resume, stop.
#include "runtime/coordinator_core.hpp"

namespace ballast {

coordinator_core::reply coordinator_core::pause() {
  if (phase() == run_phase::paused)
    return {};
  if (phase() != run_phase::training)
    return {{errc::bad_request,
             "nothing to pause: the run is " + to_string(phase()),
             {}},
            {}};
  reply out;
  run_->pause_wanted = true;
  to_all(out.then, command_kind::pause, "pause");
  return out;
}

coordinator_core::reply coordinator_core::resume() {
  if (phase() != run_phase::paused)
    return {{errc::bad_request,
             "nothing to resume: the run is " + to_string(phase()),
             {}},
            {}};
  reply out;
  run_->phase = run_phase::training;
  run_->pause_wanted = false;
  run_->members->paused.clear();
  to_all(out.then, command_kind::resume, "resume");
  out.then.push_back(write_event{
      "resumed", {{"step", value(run_->members->commits.committed())}}});
  return out;
}

coordinator_core::reply coordinator_core::drain(const std::string& name) {
  for (const auto& [id, who] : nodes_)
    if (who.connected && who.about.name == name) {
      leaving_.insert(id);
      reply out;
      consider_change(out.then);
      return out;
    }
  return {{errc::unknown_worker, "no worker named " + name + " is here", {}},
          {}};
}

coordinator_core::reply coordinator_core::stop(bool by_signal) {
  reply out;
  if (!active()) {
    out.refused = {errc::bad_request,
                   "nothing to stop: the run is " + to_string(phase()),
                   {}};
    return out;
  }
  run_->stop_wanted = true;
  run_->stop_by_signal = run_->stop_by_signal || by_signal;
  switch (phase()) {
  case run_phase::waiting:
    finish(out.then, run_phase::stopped, by_signal ? 130 : 0,
           "stopped before the first step");
    break;
  case run_phase::training:
  case run_phase::paused:
    to_all(out.then, command_kind::stop, "stop");
    break;
  default: // preparing, loading, finishing: taken up when that is done
    break;
  }
  return out;
}

} // namespace ballast
