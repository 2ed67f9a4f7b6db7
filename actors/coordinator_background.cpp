#include "actors/coordinator_background.hpp"

#include "actors/gathered_model.hpp"
#include "actors/gathered_state.hpp"
#include "actors/state_note.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/thread_name.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::actors {

namespace {

using namespace std::chrono_literals;

/// And tells of it afterwards, so that nobody wonders where the time went.
void wait_for_space(disk_full_retry& space, std::chrono::seconds patience,
                    run_record& record, const std::function<void()>& work) {
  auto waited = space.patiently(patience, work);
  if (waited.count() > 0)
    space.patiently(patience, [&] {
      record.notices().events()->append(coordinator::events::disk_full{waited});
    });
}

run_models::source source_of(gathered_model& model, const std::string& digest) {
  return {model.bytes(), [&model, digest](const data::unfinished_state& into) {
            return model.write(into, digest);
          }};
}

saved_model publish_best(run_models& to, gathered_model& last,
                         const coordinator::fetch_model& what,
                         gathered_model&& best) {
  return to.publish_best(source_of(best, what.best_digest), what.best,
                         source_of(last, what.weights_digest));
}

} // namespace

void coordinator_background::lost_workers::add(worker_id who) {
  const std::lock_guard lock(mutex_);
  who_.insert(who);
}

bool coordinator_background::lost_workers::has(worker_id who) const {
  const std::lock_guard lock(mutex_);
  return who_.contains(who);
}

std::vector<image_holder> coordinator_background::holders_of(
    const std::vector<coordinator::state_holder>& from,
    const std::vector<std::string>& workers) const {
  std::vector<image_holder> out;
  for (size_t i = 0; i < workers.size(); ++i)
    out.push_back(
        {workers[i], from[i].address,
         [lost = lost_, who = from[i].who] { return lost->has(who); }});
  return out;
}

coordinator_background::~coordinator_background() {
  space_->stop();
  if (copier_.joinable())
    copier_.join();
  join_helper();
}

void coordinator_background::join_helper() {
  if (helper_.joinable())
    helper_.join();
}

template <class Work>
void coordinator_background::start_helper(Work work) {
  space_->stop(); // the one before is wanted no more
  join_helper();
  helper_ = std::thread(std::move(work));
}

/// `get()` gives the model and publishes it; what comes of it is a message.
template <class Get>
void coordinator_background::publish(const run_work& of, Get get) {
  start_helper([of, get, space = space_] {
    name_this_thread("bl-model");
    saved_model saved;
    try {
      const std::function<saved_model()> publish = get(*of.record);
      wait_for_space(*space, of.patience, *of.record,
                     [&] { saved = publish(); });
    } catch (const ballast_error& e) {
      saved.problem = e.what_failed();
      monitor::log().warn("the model is not saved: {}", e.what());
    } catch (const std::exception& e) {
      saved.problem = {
          errc::internal, std::string("the model: ") + e.what(), {}};
    }
    caf::anon_send(of.owner, saved);
  });
}

void coordinator_background::save_model(
    const run_work& of, const coordinator::fetch_model& what,
    const std::vector<std::string>& workers) {
  publish(of, [what, holders = holders_of(what.from, workers),
               token = of.record->token()](run_record& record) {
    (void)fault_point("model.fetch");
    // Gathered anew after a full disk: the workers stand still meanwhile.
    return [&record, what, holders, token] {
      gathered_model model(holders, token);
      if (what.best > step_number{})
        return publish_best(record.models(), model, what,
                            gathered_model(holders, token, best_blob));
      return record.models().publish(source_of(model, what.weights_digest),
                                     what.step);
    };
  });
}

void coordinator_background::save_model(
    const run_work& of, const coordinator::publish_model& what) {
  publish(of, [what](run_record& record) {
    return [&record, what] {
      if (what.best > step_number{})
        return record.models().publish_best_of(what.checkpoint);
      return record.models().publish_checkpoint(what.checkpoint, what.step);
    };
  });
}

void coordinator_background::save_checkpoint(
    const run_work& of, const coordinator::fetch_checkpoint& what,
    const std::vector<std::string>& workers) {
  if (copier_.joinable())
    copier_.join(); // it has reported, so it is at its end
  copier_ = std::thread([of, what, holders = holders_of(what.from, workers),
                         space = space_,
                         history = of.record->checkpoints().history()] {
    name_this_thread("bl-checkpoint");
    failure problem;
    std::string file;
    try {
      // Fetched anew after a full disk: until then nothing of it takes space.
      wait_for_space(*space, of.patience, *of.record, [&] {
        (void)fault_point("checkpoint.fetch");
        const run_checkpoints::publish_order how{.keep = what.keep,
                                                 .history = history,
                                                 .requested = what.requested,
                                                 .in_memory = what.in_memory};
        run_checkpoints& kept = of.record->checkpoints();
        if (!what.file.empty()) {
          file = kept.publish(what.after, data::saved_state(what.file), how);
          return;
        }
        gathered_state state(what.after.step, holders, of.record->token());
        file = kept.publish(what.after,
                            {state.bytes(),
                             [&](const data::unfinished_state& into) {
                               return state.write(into);
                             }},
                            how);
      });
    } catch (const ballast_error& e) {
      problem = e.what_failed();
      monitor::log().warn("no checkpoint of step {}: {}",
                          value(what.after.step), e.what());
    } catch (const std::exception& e) {
      problem = {errc::internal, std::string("a checkpoint: ") + e.what(), {}};
    }
    caf::anon_send(of.owner, checkpoint_saved{what.after, file, problem});
  });
}

void coordinator_background::write_report(const run_work& of,
                                          const coordinator::end_run& what,
                                          monitor::run_report report,
                                          bool nothing_happened) {
  no_report_->clear();
  start_helper([of, what, nothing_happened, problem = no_report_,
                space = space_, report = std::move(report)] {
    name_this_thread("bl-report");
    std::string text;
    int exit_code = what.exit_code;
    try {
      if (nothing_happened)
        of.record->discard();
      else {
        nlohmann::ordered_json written;
        space->patiently(of.patience,
                         [&] { written = of.record->finish(report); });
        text = json_text(written);
        if (written["state"] != what.state) {
          exit_code = 1;
          *problem = written.value("reason", "");
        }
      }
    } catch (const std::exception& e) {
      monitor::log().error("writing the report: {}", e.what());
      // A run without a report is no success.
      if (what.state != to_string(coordinator::run_phase::failed)) {
        exit_code = 1;
        *problem = e.what();
      }
    }
    caf::anon_send(of.owner, report_written{exit_code, text});
  });
}

} // namespace ballast::actors
