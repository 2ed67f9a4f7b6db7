#include "runtime/coordinator_core.hpp"

#include "runtime/check.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast {

std::string to_string(run_phase phase) {
  switch (phase) {
  case run_phase::idle:
    return "idle";
  case run_phase::preparing:
    return "preparing";
  case run_phase::waiting:
    return "waiting";
  case run_phase::loading:
    return "loading";
  case run_phase::training:
    return "training";
  case run_phase::paused:
    return "paused";
  case run_phase::finishing:
    return "finishing";
  case run_phase::done:
    return "done";
  case run_phase::failed:
    return "failed";
  case run_phase::stopped:
    return "stopped";
  }
  return "unknown";
}

uint64_t run::samples_per_s() const {
  // The first step starts the clock, so its samples do not count.
  uint64_t ns = last.t_ns - first.t_ns;
  uint64_t away = std::min(evaluated_ns, ns);
  if (ns == away || samples <= first.samples)
    return 0;
  return uint64_t(double(samples - first.samples) / (double(ns - away) / 1e9));
}

coordinator_core::coordinator_core(coordinator_config config)
    : config_(std::move(config)), detector_(config_.heartbeat) {}

bool coordinator_core::active() const {
  switch (phase()) {
  case run_phase::idle:
  case run_phase::done:
  case run_phase::failed:
  case run_phase::stopped:
    return false;
  default:
    return true;
  }
}

std::string coordinator_core::name_of(worker_id who) const {
  auto found = nodes_.find(who);
  return found == nodes_.end() ? "w?" + to_string(who)
                               : found->second.about.name;
}

bool coordinator_core::member(worker_id who, generation gen) const {
  if (!active() || !run_->members || run_->members->number != gen)
    return false;
  const auto& workers = run_->members->workers;
  return std::find(workers.begin(), workers.end(), who) != workers.end();
}

size_t coordinator_core::rank_of(worker_id who) const {
  const auto& workers = run_->members->workers;
  return size_t(std::find(workers.begin(), workers.end(), who) -
                workers.begin());
}

// -- a run: from the job to the first step

coordinator_core::submit_result
coordinator_core::on_submit(job what, std::string run_name,
                            ballast::term life) {
  if (active())
    return {{errc::busy,
             "run " + run_->name + " is " + to_string(phase()) +
                 ": this coordinator does one job at a time",
             {}},
            {}};
  config_.term = life;
  // One knob: the job's heartbeat is everybody's.
  config_.heartbeat = std::chrono::milliseconds(what.elastic.heartbeat_ms);
  failure_detector fresh(config_.heartbeat);
  detector_ = fresh;
  run_.emplace();
  run_->what = std::move(what);
  run_->name = std::move(run_name);
  submit_result out;
  out.then.push_back(write_event{"coordinator_started",
                                 {{"term", value(config_.term)},
                                  {"run", run_->name},
                                  {"build", config_.build_id}}});
  out.then.push_back(prepare_data{run_->what});
  return out;
}

actions coordinator_core::on_prepared(set_summary set) {
  if (phase() != run_phase::preparing)
    return {};
  actions out;
  run_->set = std::move(set);
  run_->phase = run_phase::waiting;
  if (run_->stop_wanted) {
    finish(out, run_phase::stopped, run_->stop_by_signal ? 130 : 0,
           "stopped before the first step");
    return out;
  }
  form_generation(out);
  return out;
}

actions coordinator_core::on_prepare_failed(failure why) {
  return phase() == run_phase::preparing ? fail(std::move(why)) : actions{};
}

void coordinator_core::form_generation(actions& out) {
  if (phase() != run_phase::waiting)
    return;
  std::vector<worker_id> ready;
  for (const auto& [id, who] : nodes_)
    if (who.connected && ready.size() < run_->what.elastic.max_workers)
      ready.push_back(id);
  if (ready.size() < run_->what.elastic.workers)
    return;
  // Ranks by name, so that who joined first by chance changes nothing.
  std::sort(ready.begin(), ready.end(), [this](worker_id a, worker_id b) {
    const std::string& left = nodes_.at(a).about.name;
    const std::string& right = nodes_.at(b).about.name;
    return left.size() != right.size() ? left.size() < right.size()
                                       : left < right;
  });
  last_generation_ = next(last_generation_);
  last_plan_ = next(last_plan_);
  size_t world = ready.size();
  run_->members = generation_state{
      .number = last_generation_,
      .workers = ready,
      .current = {},
      .shares = {},
      .addresses = std::vector<std::string>(world),
      .data_addresses = std::vector<std::string>(world),
      .rates = std::vector<progress_report>(world),
      .commits = commit_tracker(last_generation_, world, step_number{0}),
      .paused = {},
      .finished = {},
  };
  run_->phase = run_phase::loading;
  out.push_back(place_shares{last_generation_, last_plan_, ready});
}

uint32_t coordinator_core::threads_for(worker_id who) const {
  if (run_->what.train.threads > 0)
    return run_->what.train.threads;
  uint32_t local = 0;
  for (worker_id other : run_->members->workers)
    local += nodes_.at(other).about.host == nodes_.at(who).about.host;
  return std::max(1u, config_.cores / std::max(1u, local));
}

actions coordinator_core::on_placed(plan placed,
                                    std::vector<share_summary> shares) {
  if (phase() != run_phase::loading ||
      placed.generation != run_->members->number)
    return {};
  if (auto wrong = partition_error(placed, run_->set.chunk_rows))
    return fail({errc::internal,
                 "plan " + to_string(placed.number) + ": " + *wrong,
                 {}});
  generation_state& members = *run_->members;
  members.current = placed;
  members.shares = std::move(shares);
  std::vector<std::string> names;
  std::vector<uint32_t> incarnations;
  for (worker_id who : members.workers) {
    names.push_back(name_of(who));
    incarnations.push_back(nodes_.at(who).incarnation);
  }
  actions out;
  out.push_back(
      journal_generation{members.number, members.workers, names, incarnations});
  out.push_back(journal_plan{placed, position{}});
  out.push_back(write_event{"generation",
                            {{"generation", value(members.number)},
                             {"step", 1},
                             {"workers", names},
                             {"reason", "start"}}});
  out.push_back(
      write_event{"plan",
                  {{"plan", value(placed.number)},
                   {"generation", value(members.number)},
                   {"step", 1},
                   {"outcome", "effective"},
                   {"reason", "placement " + run_->what.data.placement.kind}}});
  out.push_back(write_workers{});
  std::string text = to_json(run_->what).dump();
  for (worker_id who : members.workers)
    out.push_back(send_assignment{
        who, assignment{.term = config_.term,
                        .generation = members.number,
                        .worker = who,
                        .name = name_of(who),
                        .incarnation = nodes_.at(who).incarnation,
                        .run = run_->name,
                        .run_folder = {},
                        .job = text,
                        .origin = run_->set.origin,
                        .token = config_.token,
                        .start = {},
                        .first = placed}});
  return out;
}

actions coordinator_core::on_loaded(const worker_loaded& message) {
  if (!member(message.worker, message.generation) ||
      phase() != run_phase::loading)
    return {};
  generation_state& members = *run_->members;
  members.addresses[rank_of(message.worker)] = message.collective_address;
  members.data_addresses[rank_of(message.worker)] = message.data_address;
  for (const std::string& address : members.addresses)
    if (address.empty())
      return {};
  run_->phase = run_phase::training;
  actions out;
  for (worker_id who : members.workers)
    out.push_back(
        send_connect{who, {config_.term, members.number, members.addresses}});
  out.push_back(write_workers{});
  if (run_->stop_wanted)
    to_all(out, command_kind::stop, "stop");
  return out;
}

// -- a run: steps

void coordinator_core::commit(const committed_step& step, actions& out) {
  if (run_->samples == 0)
    run_->first = step;
  if (step.epoch != run_->last.epoch) {
    run_->epoch_loss_sum = 0;
    run_->epoch_samples = 0;
  }
  run_->last = step;
  run_->samples += step.samples;
  run_->epoch_loss_sum += step.loss * double(step.samples);
  run_->epoch_samples += step.samples;
  if (run_->epoch_samples == run_->set.train_rows) {
    run_->train_loss = run_->epoch_loss_sum / double(run_->epoch_samples);
    out.push_back(write_event{"epoch",
                              {{"epoch", value(step.epoch)},
                               {"step", value(step.step)},
                               {"samples", run_->epoch_samples},
                               {"train_loss", *run_->train_loss}}});
    out.push_back(journal_commit{step.step, step.epoch});
  }
}

actions coordinator_core::on_progress(const progress_report& report) {
  if (!member(report.worker, report.generation))
    return {};
  size_t rank = rank_of(report.worker);
  generation_state& members = *run_->members;
  progress_report& kept = members.rates[rank];
  kept = report;
  actions out;
  std::vector<committed_step> steps =
      members.commits.applied(rank, report.steps);
  kept.steps.clear();
  if (steps.empty())
    return out;
  for (const committed_step& step : steps)
    commit(step, out);
  out.insert(out.begin(), write_steps{std::move(steps)});
  return out;
}

actions coordinator_core::on_evaluated(const evaluation_report& report) {
  if (!member(report.worker, report.generation) || rank_of(report.worker) != 0)
    return {};
  run_->test = report;
  if (value(report.epoch) < run_->what.train.epochs)
    run_->evaluated_ns += report.wall_ns;
  nlohmann::ordered_json fields{{"epoch", value(report.epoch)},
                                {"test_loss", report.loss},
                                {"test_rows", report.rows},
                                {"ms", double(report.wall_ns) / 1e6}};
  if (run_->set.classes > 0)
    fields["test_accuracy"] = report.accuracy;
  return {write_event{"evaluation", std::move(fields)}};
}

actions coordinator_core::on_paused(const worker_paused& message) {
  if (!member(message.worker, message.generation))
    return {};
  generation_state& members = *run_->members;
  members.paused.insert(message.worker);
  if (phase() != run_phase::training ||
      members.paused.size() < members.workers.size())
    return {};
  run_->phase = run_phase::paused;
  actions out{write_event{"paused", {{"step", value(message.step)}}},
              write_workers{}};
  if (run_->stop_wanted)
    to_all(out, command_kind::stop, "stop");
  return out;
}

actions coordinator_core::on_finished(const worker_finished& message) {
  if (!member(message.worker, message.generation))
    return {};
  generation_state& members = *run_->members;
  members.finished[message.worker] = message;
  if (members.finished.size() < members.workers.size())
    return {};
  const worker_finished& first = members.finished.begin()->second;
  for (const auto& [who, other] : members.finished)
    if (other.weights_sha256 != first.weights_sha256 ||
        other.step != first.step)
      return fail({errc::digest_mismatch,
                   "workers " + name_of(first.worker) + " and " + name_of(who) +
                       " end with different parameters",
                   {}});
  run_->phase = run_phase::finishing;
  run_->weights_sha256 = first.weights_sha256;
  worker_id source = members.workers[0];
  return {journal_commit{first.step, run_->last.epoch},
          fetch_model{source, members.data_addresses[0], first.weights_sha256},
          write_workers{}};
}

actions coordinator_core::on_model_saved(failure problem) {
  if (phase() != run_phase::finishing)
    return {};
  if (problem)
    return fail(std::move(problem));
  actions out;
  bool cut = run_->members->finished.begin()->second.stopped;
  finish(out, cut ? run_phase::stopped : run_phase::done,
         cut && run_->stop_by_signal ? 130 : 0, cut ? "stopped" : "");
  return out;
}

// -- a run: its end

void coordinator_core::to_all(actions& out, command_kind kind,
                              const std::string& reason) {
  for (worker_id who : run_->members->workers)
    if (nodes_.at(who).connected)
      out.push_back(send_command{
          who, {config_.term, run_->members->number, kind, reason}});
}

void coordinator_core::finish(actions& out, run_phase phase, int exit_code,
                              std::string reason) {
  run_->phase = phase;
  run_->reason = reason;
  run_->exit_code = exit_code;
  // Operations that failed with this run say nothing of the next one.
  std::erase_if(suspected_, [](const auto& one) { return !one.second.gone; });
  out.push_back(write_workers{});
  if (run_->members)
    to_all(out,
           phase == run_phase::failed ? command_kind::abandon
                                      : command_kind::release,
           reason);
  out.push_back(end_run{to_string(phase), exit_code, std::move(reason)});
}

actions coordinator_core::fail(failure why) {
  actions out;
  if (!active())
    return out;
  out.push_back(write_event{"error",
                            {{"code", to_string(why.code)},
                             {"message", why.message},
                             {"pointer", why.pointer}}});
  finish(out, run_phase::failed, describe(why.code).exit_code, why.message);
  return out;
}

actions coordinator_core::on_trouble(failure why) {
  return fail(std::move(why));
}

actions coordinator_core::on_failed(const worker_failed& message) {
  if (!member(message.worker, message.generation))
    return {};
  // A broken collective is usually the echo of a death that is still on its
  // way here, and that is the better reason: wait for it a moment.
  if (message.code == errc::collective_failed) {
    suspected_.try_emplace(
        message.worker, suspicion{"its all-reduce failed: " + message.message,
                                  detector_.newest(), false});
    return {};
  }
  return fail(
      {message.code,
       describe_node(nodes_.at(message.worker)) + ": " + message.message,
       {}});
}

} // namespace ballast
