/// What takes the coordinator time: fetching, writing, auditing, each on a
/// thread of its own that ends with a message.
#include "actors/coordinator_shell.hpp"
#include "data/chunk_service.hpp"
#include "runtime/thread_name.hpp"

#include <algorithm>
#include <chrono>

namespace ballast {

namespace {

using namespace std::chrono_literals;

constexpr auto model_deadline = 60s;

run_report make_report(const run& of, const end_run& how) {
  run_report out;
  out.state = how.state;
  out.epochs = of.what.train.epochs;
  out.steps = value(of.last.step);
  out.samples = of.samples;
  out.reason = how.reason;
  for (const auto& [reason, ms] : of.recoveries)
    out.recoveries.push_back({reason, ms});
  if (of.samples > 0) {
    out.samples_per_s = double(of.samples_per_s());
    out.train_loss = of.train_loss;
  }
  if (of.test)
    out.test_loss = of.test->loss;
  if (of.test && of.set.classes > 0)
    out.test_accuracy = of.test->accuracy;
  out.generations = of.members ? value(of.members->number) : 0;
  out.moved_samples = of.balance.moved_rows;
  out.moved_bytes = of.balance.moved_bytes;
  out.moved_bound_samples = of.balance.bound_rows;
  if (of.members && !of.members->shares.empty()) {
    double skew = 0;
    for (const share_summary& one : of.members->shares)
      skew = std::max(skew, one.skew_tv);
    out.skew_tv_start = of.balance.skew_start.value_or(skew);
    out.skew_tv_max = skew;
  }
  if (!of.weights_sha256.empty())
    out.weights_sha256 = of.weights_sha256;
  return out;
}

} // namespace

void coordinator_shell::perform(const fetch_model& what) {
  coordinator_actor me = self_;
  in_background(
      [me, what, record = self_->state.record, token = record().token()] {
        name_this_thread("bl-model");
        failure problem;
        try {
          auto client = chunk_client::connect(what.address, token, 5s);
          record->model(client->fetch_blob("model", model_deadline),
                        what.weights_sha256);
        } catch (const ballast_error& e) {
          problem = e.what_failed();
        }
        caf::anon_send(me, saved_atom::value, problem);
      });
}

/// Beside everything else: fetching and the disk take their time.
void coordinator_shell::perform(const fetch_checkpoint& what) {
  coordinator_actor me = self_;
  if (self_->state.copier.joinable())
    self_->state.copier.join(); // it has reported, so it is at its end
  self_->state.copier = std::thread(
      [me, what, record = self_->state.record, token = record().token()] {
        name_this_thread("bl-checkpoint");
        failure problem;
        std::string file;
        try {
          auto client = chunk_client::connect(what.address, token, 5s);
          file = record->checkpoint(
              what.after,
              client->fetch_blob("checkpoint-" + to_string(what.after.step),
                                 model_deadline),
              what.keep);
        } catch (const ballast_error& e) {
          problem = e.what_failed();
          log().warn("no checkpoint of step {}: {}", value(what.after.step),
                     e.what());
        }
        caf::anon_send(me, saved_atom::value, what.after, file, problem);
      });
}

void coordinator_shell::perform(const end_run& what) {
  self_->state.ending = true;
  outcome_reason_ = what.reason;
  record().probe()->state(what.state);
  coordinator_actor me = self_;
  bool nothing_happened = what.exit_code == 2 && core().current()->samples == 0;
  no_report_->clear();
  in_background([me, what, nothing_happened, record = self_->state.record,
                 problem = no_report_,
                 report = make_report(*core().current(), what)] {
    name_this_thread("bl-report");
    std::string text;
    int exit_code = what.exit_code;
    try {
      if (nothing_happened)
        record->discard();
      else {
        nlohmann::ordered_json written = record->finish(report);
        text = written.dump();
        if (written["state"] != what.state) {
          exit_code = 1;
          *problem = written.value("reason", "");
        }
      }
    } catch (const std::exception& e) {
      log().error("writing the report: {}", e.what());
      // A run without a report is no success.
      if (what.state != to_string(run_phase::failed)) {
        exit_code = 1;
        *problem = e.what();
      }
    }
    caf::anon_send(me, ended_atom::value, exit_code, text);
  });
}

} // namespace ballast
