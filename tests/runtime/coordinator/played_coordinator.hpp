/// The coordinator with an outbox of its own: each call answers with what was
/// put there. For tests that look at the actions of one event.
#pragma once

#include "runtime/coordinator/asking.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ballast::coordinator {

class played_coordinator {
public:
  explicit played_coordinator(coordinator_config config)
      : core_(std::make_unique<coordinator_parts>(std::move(config), *box_)) {}

  struct hello_result {
    std::optional<welcome> accepted;
    failure refused;
    actions then;
  };
  hello_result hello(const worker_hello& hello, instant now) {
    auto answer = greet(*core_, hello, now);
    hello_result out;
    if (const auto* accepted = std::get_if<welcome>(&answer))
      out.accepted = *accepted;
    else
      out.refused = std::get<failure>(answer);
    out.then = box_->take();
    return out;
  }
  template <class Event>
  actions take(Event what, instant now = {}) {
    on(*core_, std::move(what), now);
    return box_->take();
  }

  struct reply {
    failure refused;
    actions then;
  };
  reply submit(const job& what, const std::string& name, term life,
               std::string token = "t") {
    failure refused =
        coordinator::submit(*core_, what, name, life, std::move(token));
    return {std::move(refused), box_->take()};
  }
  reply resume(past_run past, term life, std::string token = {}) {
    failure refused =
        take_over(*core_, std::move(past), life, std::move(token));
    return {std::move(refused), box_->take()};
  }
  template <class Request>
  reply ask(const Request& what, instant now = {}) {
    failure refused = coordinator::ask(*core_, what, now);
    return {std::move(refused), box_->take()};
  }

  // -- what it knows
  operator const coordinator_parts&() const { return *core_; }
  const roster& nodes() const { return core_->nodes; }
  const membership& members() const { return core_->members; }
  const run_state& run() const { return core_->run; }
  bool active() const { return core_->members.active(); }
  run_phase phase() const { return core_->members.phase(); }
  std::string name_of(worker_id who) const { return core_->nodes.name_of(who); }
  const generation_state* generation() const { return members().members(); }
  const membership_change* change() const { return members().change(); }
  /// Null where nothing is fenced.
  const coordinator::fence* fence() const {
    const fenced* s = members().in<fenced>();
    return s ? &s->held : nullptr;
  }
  const ledger::committed_step& last() const { return run().steps.last(); }
  /// Why it ended.
  std::string reason() const {
    const ended* s = members().in<ended>();
    return s ? s->reason : "";
  }

private:
  std::unique_ptr<outbox> box_ = std::make_unique<outbox>();
  std::unique_ptr<coordinator_parts> core_;
};

} // namespace ballast::coordinator
