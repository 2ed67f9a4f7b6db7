/// Who trains, in which generation, and what the run is at: one state of
/// states.hpp at a time. The transitions are the functions of transitions.hpp,
/// each from a state and an event to the next state; this class keeps the
/// state, the numbers that are never given twice, and answers questions.
#pragma once

#include "runtime/coordinator/memory_limits.hpp"
#include "runtime/coordinator/states.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace ballast::coordinator {

class membership {
public:
  /// A job begins: its plans are numbered from one, generations go on.
  void begin();

  // -- the state
  const membership_state& now() const { return now_; }
  /// Null in any other state.
  template <class State>
  State* in() {
    return std::get_if<State>(&now_);
  }
  template <class State>
  const State* in() const {
    return std::get_if<State>(&now_);
  }
  /// A BALLAST_CHECK if no event leads from the present state to this one.
  void become(membership_state next);
  run_phase phase() const;
  /// A run is under way: another job is refused.
  bool active() const;

  // -- what the state holds, if it holds one
  generation_state* members();
  const generation_state* members() const;
  pending_plans* pending();
  const membership_change* change() const;
  const pending_rebalance* transfer() const;
  recovery_times* recovery();
  const recovery_times* recovery() const;

  // -- who belongs to it, while the run is active
  bool member(worker_id who) const;
  bool member(worker_id who, generation of) const;
  /// Of the next membership.
  bool joining(worker_id who) const;
  /// Has left, and is not released before the others are ready.
  bool leaver(worker_id who) const;
  /// The fence waits for its answer, or has it.
  bool in_fence(worker_id who) const;
  /// What it holds may still be needed.
  bool needs(worker_id who) const;
  /// The change of that generation, where no fence stops it.
  membership_change* change_beside(generation of);
  bool all_ready() const;

  // -- numbers
  generation newest_generation() const { return generation_; }
  plan_number newest_plan() const { return plan_; }
  generation next_generation() { return generation_ = next(generation_); }
  plan_number next_plan() { return plan_ = next(plan_); }
  /// Given by an earlier life, or by what a worker heard.
  void given(generation number) { generation_ = std::max(generation_, number); }
  void given(plan_number number) { plan_ = std::max(plan_, number); }

  // -- room for the data: found short at the last placing
  const std::optional<memory_wait>& shortage() const { return shortage_; }
  void set_shortage(std::optional<memory_wait> found) {
    shortage_ = std::move(found);
  }

private:
  membership_state now_ = idle{};
  std::optional<memory_wait> shortage_;
  generation generation_{};
  plan_number plan_{};
};

/// "waiting", "training", ... as in states.hpp.
std::string_view name_of(const membership_state& state);

} // namespace ballast::coordinator
