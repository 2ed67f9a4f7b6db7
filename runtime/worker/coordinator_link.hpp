/// What a worker's process makes of its coordinator: whose orders it takes,
/// what it is in a run as, and how long it waits for another coordinator once
/// this one is gone. Pure: messages and `now` in, one decision out; the
/// gpu_worker actor carries it out, the simulator likewise. What becomes of the
/// run itself is decided by lifecycle.hpp.
#pragma once

#include "runtime/base/instant.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace ballast::worker {

enum class link_step : uint8_t {
  ignore,
  take,        // the order goes to the run's lifecycle
  say_hello,   // as hello() words it
  hello_later, // to a coordinator that leads other runs; it may lead this one
  look_again,  // for a coordinator
  drop_run,    // then on_dropped()
  ask_to_leave,
  freeze, // apply nothing more, keep all, look for a coordinator
  end,    // the process: `exit_code` and, unless 0, the reason
  kill,   // a fault on purpose: the process, as by kill -9
  stall,  // a fault on purpose: the process stands still
};

struct link_decision {
  link_step what = link_step::ignore;
  std::string reason = {};
  int exit_code = 0;
};

struct link_config {
  bool once = false;       // one run, and its process ends
  bool looks_again = true; // for another coordinator
  /// A process without a run looks for so long.
  uint32_t idle_wait_s = 60;
};

class coordinator_link {
public:
  explicit coordinator_link(link_config config) : config_(config) {}

  // -- joining

  /// Who this is, added to what the process says of itself. `seen`: the newest
  /// generation it heard of.
  worker_hello hello(worker_hello about, generation seen) const;
  link_decision on_welcome(const welcome& answer);
  link_decision on_refused(const failure& why, instant now);

  // -- orders

  /// Orders of an earlier life of the coordinator are dropped.
  bool takes(term from) const { return from >= me_.term; }
  link_decision on_assignment(const assignment& order);
  /// `present`: the generation that this worker is in.
  link_decision on_command(const command& order, generation present);
  /// What it held of a run is gone.
  link_decision on_dropped();

  // -- the rest of the world

  link_decision on_coordinator_lost(instant now);
  /// The process was asked to end: its data first.
  link_decision on_asked_to_end();
  /// The supervisor is gone.
  link_decision on_run_killed();
  /// Now and then, while alone. Patience does not wear out as long as steps are
  /// taken without a coordinator.
  link_decision on_time(step_number at, instant now);

  // -- what is true now

  const welcome& me() const { return me_; }
  /// No coordinator listens: a later one asks for whatever happens meanwhile.
  bool alone() const { return alone_; }
  bool in_run() const { return in_run_; }
  bool welcomed() const { return welcomed_; }
  const std::string& run() const { return run_; }
  const std::string& run_folder() const { return run_folder_; }

private:
  /// For another coordinator; 0: it ends without one.
  uint32_t patience_s() const;
  link_decision drop(std::string reason, bool hello_after);

  link_config config_;
  welcome me_;
  bool welcomed_ = false; // ever
  bool alone_ = false;
  bool in_run_ = false;
  std::string run_;
  std::string run_folder_;
  std::string run_mark_;
  uint32_t orphan_s_ = 0;
  bool asked_to_end_ = false;
  bool killed_ = false; // the run was; nothing moves
  bool hello_after_drop_ = false;
  std::string dismissed_; // the run that it takes no more part in
  std::string refusal_;   // the last one of a coordinator that leads other runs
  instant still_since_{}; // while alone
  step_number last_step_{};
};

} // namespace ballast::worker
