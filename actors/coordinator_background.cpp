/// What takes the coordinator time: fetching, writing, auditing, each on a
/// thread of its own that ends with a message.
#include "actors/coordinator_shell.hpp"
#include "data/chunk_service.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <chrono>

namespace ballast {

namespace {

using namespace std::chrono_literals;

run_report make_report(const coordinator_core& core, const end_run& how) {
  const run_state& run = core.run();
  const run_tally& tally = run.steps.tally();
  const balance_account& balance = run.balance.account();
  const generation_state* members = core.members().members();
  run_report out;
  out.state = how.state;
  out.epochs = run.spec.job.train.epochs;
  out.steps = value(tally.last.step);
  out.samples = tally.samples;
  out.reason = how.reason;
  for (const auto& [reason, ms] : run.steps.recoveries())
    out.recoveries.push_back({reason, ms});
  if (tally.samples > 0) {
    out.samples_per_s = double(tally.samples_per_s());
    out.train_loss = tally.train_loss;
  }
  if (tally.test)
    out.test_loss = tally.test->loss;
  if (tally.test && run.spec.set.classes > 0)
    out.test_accuracy = tally.test->accuracy;
  out.generations = members ? value(members->number) : 0;
  out.moved_samples = balance.moved_rows;
  out.moved_bytes = balance.moved_bytes;
  out.moved_bound_samples = balance.bound_rows;
  if (members && !members->shares.empty()) {
    double skew = 0;
    for (const share_summary& one : members->shares)
      skew = std::max(skew, one.skew_tv);
    out.skew_tv_start = balance.skew_start.value_or(skew);
    out.skew_tv_max = skew;
  }
  if (tally.samples > 0)
    out.lineage = lineage_text(tally.lineage);
  if (!run.model.sha256().empty())
    out.weights_sha256 = run.model.sha256();
  if (value(run.model.step()) > 0)
    out.model_step = value(run.model.step());
  return out;
}

/// And tells of it afterwards, so that nobody wonders where the time went.
void wait_for_space(disk_full_retry& space, std::chrono::seconds patience,
                    run_record& record, const std::function<void()>& work) {
  auto waited = space.patiently(patience, work);
  if (waited.count() > 0)
    space.patiently(
        patience, [&] { record.events()->append(events::disk_full{waited}); });
}

/// What worker `worker` holds for a checkpoint.
std::string fetch_state(const fetch_checkpoint& what, const std::string& worker,
                        const std::string& token) {
  (void)fault_point("checkpoint.fetch");
  try {
    auto client = chunk_client::connect(what.address, token, 5s);
    return client->fetch_blob("checkpoint-" + to_string(what.after.step),
                              bulk_patience);
  } catch (const ballast_error& e) {
    throw ballast_error(e.what_failed().code,
                        "the state of step " + to_string(what.after.step) +
                            " did not come from worker " + worker + ": " +
                            e.what_failed().message +
                            "; tried again at the next checkpoint");
  }
}

} // namespace

/// `get()` gives the model and publishes it; what comes of it is a message.
template <class Get>
void coordinator_shell::publish_in_background(Get get) {
  local_coordinator_actor me = this;
  in_background([me, get, record = state_->record, space = state_->space,
                 patience = patience()] {
    name_this_thread("bl-model");
    saved_model saved;
    try {
      const std::function<saved_model()> publish = get(*record);
      wait_for_space(*space, patience, *record, [&] { saved = publish(); });
    } catch (const ballast_error& e) {
      saved.problem = e.what_failed();
    } catch (const std::exception& e) {
      saved.problem = {
          errc::internal, std::string("the model: ") + e.what(), {}};
    }
    caf::anon_send(me, saved);
  });
}

void coordinator_shell::perform_now(const fetch_model& what) {
  publish_in_background([what, token = record().token()](run_record& record) {
    (void)fault_point("model.fetch");
    auto client = chunk_client::connect(what.address, token, 5s);
    // Fetched once, however often the disk has no room for it.
    return [&record, what, model = client->fetch_blob("model", bulk_patience)] {
      return record.model(model, what.weights_sha256, what.step);
    };
  });
}

void coordinator_shell::perform_now(const publish_model& what) {
  publish_in_background([what](run_record& record) {
    return
        [&record, what] { return record.model_of(what.checkpoint, what.step); };
  });
}

/// Beside everything else: fetching and the disk take their time.
void coordinator_shell::perform_now(const fetch_checkpoint& what) {
  local_coordinator_actor me = this;
  if (state_->copier.joinable())
    state_->copier.join(); // it has reported, so it is at its end
  // The last one is what the run goes on from; without another one training
  // does as well.
  bool last =
      core().phase() == run_phase::finishing || core().run().requests.stops();
  state_->copier = std::thread([me, what, record = state_->record,
                                token = record().token(),
                                worker = core().name_of(what.from),
                                space = state_->space,
                                history = record().history(),
                                patience = last ? patience()
                                                : std::chrono::seconds(0)] {
    name_this_thread("bl-checkpoint");
    failure problem;
    std::string file;
    try {
      std::string state = fetch_state(what, worker, token);
      wait_for_space(*space, patience, *record, [&] {
        file = record->checkpoint(what.after, state, what.keep, history,
                                  what.requested);
      });
    } catch (const ballast_error& e) {
      problem = e.what_failed();
      log().warn("no checkpoint of step {}: {}", value(what.after.step),
                 e.what());
    } catch (const std::exception& e) {
      problem = {errc::internal, std::string("a checkpoint: ") + e.what(), {}};
    }
    caf::anon_send(me, checkpoint_saved{what.after, file, problem});
  });
}

void coordinator_shell::perform_now(const end_run& what) {
  // A stop was asked for and is obeyed: that is an end of its own, which the
  // report tells, also where the run could not go on before it.
  if (what.state == to_string(run_phase::stopped))
    record().go_on();
  state_->ending = true;
  write_stale_workers();
  outcome_reason_ = what.reason;
  record().probe()->state(what.state);
  local_coordinator_actor me = this;
  bool nothing_happened =
      record().untouched() ||
      (what.exit_code == 2 && core().run().steps.tally().samples == 0);
  if (record().untouched() && what.exit_code != 0) {
    std::string folder = record().folder().string();
    outcome_reason_ += "; " + folder +
                       " was left as it is: mend that, then go on with "
                       "`ballast run --resume " +
                       folder + "`";
  }
  if (what.goes_on && !nothing_happened && !gave_up_) // which has said so
    outcome_reason_ += "; mend that, then `ballast run --resume " +
                       record().folder().string() + "` goes on";
  no_report_->clear();
  how_it_ended_.reset();
  status_.reset();
  in_background([me, what, nothing_happened, record = state_->record,
                 problem = no_report_, space = state_->space,
                 patience = patience(), report = make_report(core(), what)] {
    name_this_thread("bl-report");
    std::string text;
    int exit_code = what.exit_code;
    try {
      if (nothing_happened)
        record->discard();
      else {
        nlohmann::ordered_json written;
        space->patiently(patience, [&] { written = record->finish(report); });
        text = json_text(written);
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
    caf::anon_send(me, report_written{exit_code, text});
  });
}

} // namespace ballast
