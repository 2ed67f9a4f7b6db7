/// The place where the coordinator's decisions become messages, lines on the
/// disk and work in the background. One object per coordinator, used by its
/// thread; for coordinator*.cpp only.
#pragma once

#include "actors/coordinator.hpp"
#include "actors/past_run_reader.hpp"
#include "actors/types.hpp"
#include "monitor/log.hpp"
#include "runtime/coordinator_status.hpp"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

namespace ballast {

class coordinator_shell {
public:
  using pointer = coordinator_actor::stateful_pointer<coordinator_state>;

  coordinator_shell(pointer self, coordinator_shell_config config)
      : self_(self), config_(std::move(config)) {}

  instant now() const { return self_->clock().now().time_since_epoch(); }
  coordinator_core& core() { return *self_->state.core; }
  const coordinator_shell_config& config() const { return config_; }

  /// Performs what the core decided, in order. A disk that fails ends the run;
  /// of a run that ends already, all that still can be done is done.
  void perform(const actions& list) {
    for (const action& one : list)
      try {
        std::visit([this](const auto& what) { perform(what); }, one);
      } catch (const ballast_error& e) {
        log().error("{}", e.what());
        if (!core().active())
          continue;
        caf::anon_send(coordinator_actor(self_), trouble_atom::value,
                       e.what_failed());
        return;
      }
  }

  /// What is shown outside: a run has ended once its report is written.
  nlohmann::json status() {
    nlohmann::json out = status_json(core(), now());
    if (self_->state.ending)
      out["state"] = to_string(run_phase::finishing);
    return out;
  }

  caf::result<std::string> submit(const std::string& text,
                                  const std::string& folder);
  caf::result<std::string> resume(const std::string& text);
  void down(const caf::down_msg& message);
  caf::result<int, std::string> control(const std::string& text);
  void ended(int exit_code, const std::string& report);

private:
  caf::result<int, std::string> ask_shards(const std::string& id,
                                           const std::string& text);
  run_record& record() { return *self_->state.record; }
  failure busy();

  void perform(const prepare_data& what);
  void perform(const place_shares& what);
  void perform(const send_assignment& what) {
    assignment copy = what.what;
    copy.run_folder = record().folder().string();
    send(what.to, copy);
  }
  void perform(const send_connect& what) { send(what.to, what.what); }
  void perform(const send_command& what) { send(what.to, what.what); }
  void perform(const send_plan& what) { send(what.to, what.what); }
  void perform(const send_fetch& what) { send(what.to, what.what); }
  void perform(const observe_load& what);
  void perform(const journal_offer& what) { record().perform(what); }
  void perform(const journal_effective& what) { record().perform(what); }
  void perform(const send_fence& what) { send(what.to, what.what); }
  void perform(const expel& what);
  void perform(const start_worker& what) {
    log().info("starts worker {}", what.name);
    if (config_.on_start_worker)
      config_.on_start_worker(what.name);
  }
  void perform(const journal_change& what) { record().perform(what); }
  void perform(const journal_requests& what) { record().perform(what); }
  void perform(const apply_balance& what) {
    self_->send(self_->state.shards, balance_atom::value, what.what.enabled,
                what.what.skew_tv);
  }
  void perform(const journal_commit& what) { record().perform(what); }
  void perform(const write_steps& what) { record().perform(what); }
  void perform(const write_event& what) {
    if (what.kind == "error")
      log().error("{}", what.fields.value("message", ""));
    else
      log().info("{} {}", what.kind, what.fields.dump());
    record().perform(what);
  }
  void perform(const write_workers&) { record().workers(workers_json(core())); }
  void perform(const fetch_model& what);
  void perform(const fetch_checkpoint& what);
  void perform(const serve_checkpoint& what) {
    self_->send(self_->state.shards, serve_atom::value, what.file);
  }
  void perform(const undo_steps& what) {
    log().warn("goes back to step {}: {}", value(what.to), what.reason);
    record().perform(what);
  }
  void perform(const give_up& what);
  void perform(const end_run& what);

  template <class Message>
  void send(worker_id to, const Message& what) {
    auto found = self_->state.handles.find(to);
    if (found != self_->state.handles.end())
      self_->send(found->second, what);
  }

  template <class Work>
  void in_background(Work work) {
    if (self_->state.helper.joinable())
      self_->state.helper.join();
    self_->state.helper = std::thread(std::move(work));
  }

  pointer self_;
  coordinator_shell_config config_;
  std::string outcome_reason_;
  /// Why the report could not be written; the helper's until it is joined.
  std::shared_ptr<std::string> no_report_ = std::make_shared<std::string>();
};

} // namespace ballast
