/// Generations that do not open although every worker is alive: how often, over
/// which links, whether NCCL is to blame, and which workers stay away for a
/// while because of that. Begun anew with each run; pure.
#pragma once

#include "runtime/coordinator/membership.hpp"
#include "runtime/coordinator/opening_attempts.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ballast::coordinator {

class connectivity {
public:
  // -- what workers say
  /// Over which links of an opening nothing went. Of a generation that took a
  /// step: nothing.
  void note_links(const membership& of, worker_id who, generation in,
                  const std::vector<dead_link>& links);
  /// A generation did not open, and which worker could not reach which.
  void note_unopened(const membership& of, const worker_failed& message,
                     const std::string& why);
  /// A newcomer failed by its own fault.
  void newcomer_failed(const std::string& why, instant now) {
    changes_.failed(why, now);
  }

  // -- attempts
  /// Of generations, until one takes a step.
  const opening_attempts& generations() const { return generations_; }
  /// Of planned changes, until one switches.
  const opening_attempts& changes() const { return changes_; }
  void took_a_step() { generations_.reset(); }
  void switched() { changes_.reset(); }
  /// The fence is over. What failed, if an attempt counts as failed.
  enum class verdict { none, generation_failed, change_failed };
  verdict judge(bool all_answered, instant now);
  const opening_attempts& of(verdict what) const {
    return what == verdict::change_failed ? changes_ : generations_;
  }
  void begin_anew(verdict what) {
    (what == verdict::change_failed ? changes_ : generations_).reset();
  }
  /// True if the wait before the next generation is over now.
  bool tick(instant now);
  /// Why the last of them failed, in words.
  void explain(std::string why) { cannot_open_ = std::move(why); }
  const std::string& cannot_open() const { return cannot_open_; }
  /// Often enough to be told of.
  bool to_show() const;

  // -- NCCL
  /// Where "auto" took NCCL and no step came of it, a worker's failure is kept
  void suspect_nccl(const membership& of, const job& what,
                    const worker_failed& message, const std::string& name);
  /// ... until the fence is over: if every worker is alive, it was NCCL.
  void judge_nccl(bool all_answered);
  /// Why "auto" does not try it again; empty: it may.
  const std::string& nccl_failed() const { return nccl_failed_; }

  // -- workers that stay away, by name
  /// For a while that doubles each time: until when.
  const absence& stay_away(const std::string& name, instant now);
  std::optional<instant> away_until(const std::string& name, instant now) const;

private:
  opening_attempts generations_;
  opening_attempts changes_;
  std::string cannot_open_;
  /// Reported by a generation that NCCL joined and that never took a step;
  /// whether NCCL was at fault is known once no worker turns out to be lost.
  std::string nccl_suspect_;
  std::string nccl_failed_;
  std::map<std::string, absence> absent_; // also those that are back
};

} // namespace ballast::coordinator
