/// What each control request does: one overload for each type of request, so
/// that one which lacks does not compile.
#include "actors/coordinator_shell.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::actors {

struct coordinator_shell::control_handler {
  using answer = caf::result<control_reply>;

  answer operator()(const submit_request& request) {
    if (failure refused = shell.submit({request.what, {}}))
      return shell.decided(std::move(refused));
    return shell.decided(
        {}, run_begun{shell.record().name(), shell.record().folder().string()});
  }
  answer operator()(const status_request&) {
    return shell.decided({},
                         status_shown{monitor::status_json(shell.status())});
  }
  answer operator()(const stop_request&) {
    return ask(coordinator::stop_run{false});
  }
  answer operator()(const balance_request& request) {
    if (failure refused = coordinator::ask(core, request, shell.now()))
      return shell.decided(std::move(refused));
    const coordinator::run_state& of = core.run;
    const balance_spec now = of.requests.standing().balance_of(of.spec.job);
    return shell.decided({}, balance_set{now.enabled, now.skew_tv});
  }
  // All of this is the core's business alone.
  answer operator()(const pause_request& request) { return ask(request); }
  answer operator()(const resume_request& request) { return ask(request); }
  answer operator()(const checkpoint_request& request) { return ask(request); }
  answer operator()(const scale_request& request) { return ask(request); }
  answer operator()(const drain_request& request) { return ask(request); }
  answer operator()(const evict_request& request) { return ask(request); }
  answer operator()(const note_request& request) { return ask(request); }
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
  answer operator()(const flip_request& request) {
    return fault(request.worker, command_kind::flip, double(request.leaves));
  }
  answer operator()(const kill_request& request) {
    return fault(request.worker, command_kind::kill, 0);
  }

  template <class Request>
  answer ask_shards(const Request& request) {
    return shell.delegate(shell.state_->shards, request);
  }
  answer fault(const std::string& worker, command_kind how, double amount) {
    return ask(coordinator::injected_fault{worker, how, amount});
  }
  template <class Request>
  answer ask(const Request& request) {
    return shell.decided(coordinator::ask(core, request, shell.now()));
  }

  coordinator_shell& shell;
  coordinator::coordinator_parts& core;
};

caf::result<control_reply>
coordinator_shell::control(const control_request& request) {
  status_.reset(); // the next look shows what is asked for here
  return std::visit(control_handler{*this, core()}, request);
}

/// Answered, if it is not refused, once what was decided is journaled.
caf::result<control_reply> coordinator_shell::decided(failure refused,
                                                      control_answer answer) {
  // Between the lives of a coordinator nobody knows yet what can be meant.
  if (refused && config_.core.supervised && !state_->record)
    refused = {errc::unreachable,
               "the run is just being taken over: ask again in a moment",
               {}};
  if (refused)
    return control_reply{std::move(refused), {}};
  auto promise = make_response_promise<control_reply>();
  perform_decided();
  queue_.add(queued_work{[promise, answer]() mutable {
                           promise.deliver(control_reply{{}, answer});
                         },
                         [promise](const failure& why) mutable {
                           promise.deliver(control_reply{why, {}});
                         }});
  return promise;
}

} // namespace ballast::actors
