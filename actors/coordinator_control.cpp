/// What each control request does: one overload for each type of request, so
/// that one which lacks does not compile.
#include "actors/coordinator_shell.hpp"

#include <utility>

namespace ballast {

struct coordinator_shell::control_handler {
  using answer = caf::result<control_reply>;

  answer operator()(const submit_request& request) {
    if (failure refused = shell.submit({request.what, {}}))
      return shell.decided({std::move(refused), {}});
    return shell.decided(
        {}, run_begun{shell.record().name(), shell.record().folder().string()});
  }
  answer operator()(const status_request&) {
    return shell.decided({}, status_shown{shell.status()});
  }
  answer operator()(const pause_request&) {
    return shell.decided(core.pause());
  }
  answer operator()(const resume_request&) {
    return shell.decided(core.resume());
  }
  answer operator()(const stop_request&) {
    return shell.decided(core.stop(false));
  }
  answer operator()(const checkpoint_request&) {
    return shell.decided(core.checkpoint());
  }
  answer operator()(const scale_request& request) {
    return shell.decided(core.scale(request.workers));
  }
  answer operator()(const drain_request& request) {
    return shell.decided(core.drain(request.worker));
  }
  answer operator()(const evict_request& request) {
    return shell.decided(core.evict(request.worker, shell.now()));
  }
  answer operator()(const balance_request& request) {
    request_answer made = core.set_balance(request.enabled, request.skew_tv);
    if (made.refused)
      return shell.decided(std::move(made));
    const run& of = *core.current();
    const balance_spec now = of.asked.balance_of(of.what);
    return shell.decided(std::move(made),
                         balance_set{now.enabled, now.skew_tv});
  }
  // Only the shard manager knows; it answers whoever asked.
  answer operator()(const plan_request& request) { return ask_shards(request); }
  answer operator()(const explain_request& request) {
    return ask_shards(request);
  }
  answer operator()(const slow_request& request) {
    return fault(request.worker, command_kind::slow, request.factor);
  }
  answer operator()(const stall_request& request) {
    return fault(request.worker, command_kind::stall, request.seconds);
  }
  answer operator()(const damage_request& request) {
    return fault(request.worker, command_kind::damage, double(request.chunks));
  }
  answer operator()(const kill_request& request) {
    return fault(request.worker, command_kind::kill, 0);
  }

  template <class Request>
  answer ask_shards(const Request& request) {
    return shell.delegate(shell.state_->shards, request);
  }
  answer fault(const std::string& worker, command_kind how, double amount) {
    return shell.decided(core.hurt(worker, how, amount));
  }

  coordinator_shell& shell;
  coordinator_core& core;
};

caf::result<control_reply>
coordinator_shell::control(const control_request& request) {
  return std::visit(control_handler{*this, core()}, request);
}

/// Answered, if it is not refused, once what was decided is journaled.
caf::result<control_reply> coordinator_shell::decided(request_answer made,
                                                      control_answer answer) {
  // Between the lives of a coordinator nobody knows yet what can be meant.
  if (made.refused && config_.core.supervised && !state_->record)
    made.refused = {errc::unreachable,
                    "the run is just being taken over: ask again in a moment",
                    {}};
  if (made.refused)
    return control_reply{std::move(made.refused), {}};
  auto promise = make_response_promise<control_reply>();
  perform(std::move(made.then));
  perform_later({[promise, answer]() mutable {
                   promise.deliver(control_reply{{}, answer});
                 },
                 [promise](const failure& why) mutable {
                   promise.deliver(control_reply{why, {}});
                 }});
  return promise;
}

} // namespace ballast
