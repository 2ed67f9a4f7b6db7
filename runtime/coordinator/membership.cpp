#include "runtime/coordinator/membership.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace ballast::coordinator {

namespace {

constexpr std::array<std::string_view, std::variant_size_v<membership_state>>
    names{"idle",   "preparing", "waiting",    "opening", "training",
          "fenced", "finishing", "publishing", "ended"};

struct phase_of {
  run_phase operator()(const idle&) const { return run_phase::idle; }
  run_phase operator()(const preparing&) const { return run_phase::preparing; }
  run_phase operator()(const waiting&) const { return run_phase::waiting; }
  run_phase operator()(const opening& s) const {
    return s.recovery ? run_phase::recovering : run_phase::loading;
  }
  run_phase operator()(const training& s) const {
    return s.paused ? run_phase::paused : run_phase::training;
  }
  run_phase operator()(const fenced&) const { return run_phase::recovering; }
  run_phase operator()(const finishing&) const { return run_phase::finishing; }
  run_phase operator()(const publishing&) const { return run_phase::finishing; }
  run_phase operator()(const ended& s) const { return s.how; }
};

/// The field of that type, or null where the state has none.
template <class Field>
struct field_of {
  template <class State>
  Field* operator()(State& s) const {
    if constexpr (std::is_same_v<std::remove_const_t<Field>,
                                 generation_state>) {
      if constexpr (requires { s.members->number; })
        return s.members ? &*s.members : nullptr;
      else if constexpr (requires { s.members.number; })
        return &s.members;
    } else if constexpr (std::is_same_v<std::remove_const_t<Field>,
                                        pending_plans>) {
      if constexpr (requires { s.pending; })
        return &s.pending;
    } else {
      if constexpr (requires { s.recovery->reason; })
        return s.recovery ? &*s.recovery : nullptr;
      else if constexpr (requires { s.recovery.reason; })
        return &s.recovery;
    }
    return nullptr;
  }
};

} // namespace

std::string_view name_of(const membership_state& state) {
  return names[state.index()];
}

void membership::begin() {
  shortage_.reset();
  plan_ = {};
  now_ = preparing{};
}

void membership::become(membership_state next) {
  now_ = std::move(next);
}

run_phase membership::phase() const {
  return std::visit(phase_of{}, now_);
}

bool membership::active() const {
  return !in<idle>() && !in<ended>();
}

generation_state* membership::members() {
  return std::visit(field_of<generation_state>{}, now_);
}

const generation_state* membership::members() const {
  return std::visit(field_of<const generation_state>{}, now_);
}

pending_plans* membership::pending() {
  return std::visit(field_of<pending_plans>{}, now_);
}

const membership_change* membership::change() const {
  const auto* plans = std::visit(field_of<const pending_plans>{}, now_);
  return plans && plans->change ? &*plans->change : nullptr;
}

const pending_rebalance* membership::transfer() const {
  const auto* plans = std::visit(field_of<const pending_plans>{}, now_);
  return plans && plans->transfer ? &*plans->transfer : nullptr;
}

recovery_times* membership::recovery() {
  return std::visit(field_of<recovery_times>{}, now_);
}

const recovery_times* membership::recovery() const {
  return std::visit(field_of<const recovery_times>{}, now_);
}

bool membership::member(worker_id who) const {
  const generation_state* all = active() ? members() : nullptr;
  return all && all->holds(who);
}

bool membership::member(worker_id who, generation of) const {
  const generation_state* all = active() ? members() : nullptr;
  return all && all->number == of && all->holds(who);
}

bool membership::joining(worker_id who) const {
  return change() && change()->holds(who);
}

bool membership::leaver(worker_id who) const {
  return members() && members()->owes(who);
}

bool membership::in_fence(worker_id who) const {
  const fenced* s = in<fenced>();
  return s && (s->held.awaited().contains(who) || s->held.acks().contains(who));
}

bool membership::needs(worker_id who) const {
  if (const preparing* s = in<preparing>())
    return s->past.has_value();
  const fenced* s = in<fenced>();
  return (members() && (members()->holds(who) || members()->owes(who))) ||
         joining(who) || in_fence(who) || (s && s->may_return.contains(who));
}

membership_change* membership::change_beside(generation of) {
  pending_plans* plans = in<fenced>() ? nullptr : pending();
  return plans && plans->change && plans->change->number == of ? &*plans->change
                                                               : nullptr;
}

bool membership::all_ready() const {
  return members() && members()->all_ready();
}

} // namespace ballast::coordinator
