/// What users asked of a run and what still counts of it. Every change is
/// journaled, so that a restarted coordinator keeps to it. Begun anew with each
/// run; pure.
#pragma once

#include "runtime/base/instant.hpp"
#include "runtime/coordinator/outbox.hpp"
#include "runtime/coordinator/standing_requests.hpp"

#include <optional>
#include <set>
#include <utility>

namespace ballast::coordinator {

class requests {
public:
  const standing_requests& standing() const { return standing_; }
  bool paused() const { return standing_.paused; }
  bool stops() const { return standing_.stop.has_value(); }
  int stop_code() const { return standing_.stop_code(); }
  /// A checkpoint was asked for, and none of that step or a later one is
  /// published; `newest`: that is.
  bool owes_copy(step_number newest) const;
  /// Every worker leaves and none came: the state goes to the disk.
  bool parks() const { return parks_; }
  /// The workers hold the state no longer than to the next common step.
  bool halts() const { return stops() || parks_; }

  /// Of an earlier life.
  void restore(standing_requests earlier) { standing_ = std::move(earlier); }

  /// False if it was asked for before.
  bool pause(outbox& out);
  void resume(outbox& out);
  void stop(outbox& out, bool by_signal);
  void copy(outbox& out, step_number of);
  void leave(outbox& out, worker_id who);
  void scale(outbox& out, const job& of, uint32_t workers);
  void balance(outbox& out, const job& of, const balance_spec& how);

  // -- of an earlier life, before it goes on; journaled together
  void withdraw_stop() { standing_.stop.reset(); }
  bool withdraw_pause() { return std::exchange(standing_.paused, false); }
  /// True if one was left out.
  template <class Wrong>
  bool forget_leaving(Wrong wrong) {
    return std::erase_if(standing_.leaving, wrong) > 0;
  }
  void journal(outbox& out) const { out.put(journal_requests{standing_}); }

  // -- every worker leaves
  /// Since when all of them are to leave; none: they are not.
  const std::optional<instant>& all_leave() const { return all_leave_; }
  void all_leave_since(std::optional<instant> when) { all_leave_ = when; }
  void park(bool on) { parks_ = on; }

private:
  standing_requests standing_;
  std::optional<instant> all_leave_;
  bool parks_ = false;
};

} // namespace ballast::coordinator
