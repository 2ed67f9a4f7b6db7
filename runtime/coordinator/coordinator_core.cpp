#include "runtime/coordinator/coordinator_core.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/messages/packed_orders.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast {

fence_order run::fence_now(ballast::term from) const {
  return {.term = from,
          .level = fenced->level(),
          .known = last.step,
          .evaluated = test ? test->epoch : epoch_number{},
          .reason = fenced->reason()};
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
  workers_wanted_ = what.elastic.workers;
  workers_most_.reset();
  last_name_ = what.elastic.workers;
  // A share draws by the number of its plan, and equal jobs draw equally.
  last_plan_ = {};
  starting_.clear();
  for (uint32_t i = 1; config_.supervised && i <= workers_wanted_; ++i)
    starting_.insert("w" + std::to_string(i)); // `run` starts these by itself
  for (const auto& [id, who] : nodes_)
    starting_.erase(who.about.name);
  early_deaths_.clear();
  proven_.clear();
  unexplained_.clear();
  end_awaits_reason_ = false;
  stragglers_.tell_again();
  run_.emplace();
  run_->what = std::move(what);
  run_->name = std::move(run_name);
  submit_result out;
  out.then.push_back(write_event{
      events::coordinator_started{config_.term, run_->name, config_.build_id}});
  out.then.push_back(prepare_data{run_->what});
  return out;
}

actions coordinator_core::on_prepared(set_summary set, instant now) {
  if (phase() != run_phase::preparing)
    return {};
  run_->set = std::move(set);
  run_->lineage =
      lineage_begin(run_identity(config_.token, run_->name), run_->what.seed,
                    run_->what.train.global_batch, run_->set.content_id);
  run_->points.front().tally.lineage = run_->lineage;
  run_->phase = run_phase::waiting;
  actions out{apply_balance{run_->asked.balance_of(run_->what)}};
  if (run_->past) {
    restore(out, now);
    return out;
  }
  if (run_->asked.stop)
    end_without_holders(out, "");
  else
    form_generation(out);
  return out;
}

actions coordinator_core::on_prepare_failed(failure why) {
  return phase() == run_phase::preparing ? fail(std::move(why)) : actions{};
}

void coordinator_core::form_generation(actions& out) {
  if (phase() != run_phase::waiting)
    return;
  for (const auto& [id, who] : nodes_)
    if (who.connected && leaving_.contains(id))
      let_go(out, id); // it holds nothing
  call_back_absent(std::max(1u, run_->what.elastic.min_workers));
  std::vector<worker_id> ready;
  for (const auto& [id, who] : nodes_)
    if (may_train(who) && ready.size() < run_->what.elastic.max_workers)
      ready.push_back(id);
  // A run that has begun goes on with whoever is here.
  const elastic_spec& how = run_->what.elastic;
  size_t needed = workers_wanted_;
  if (run_->began)
    needed = std::max<size_t>(
        how.min_workers,
        std::min<size_t>(workers_wanted_, ready.size() + starting_.size()));
  if (ready.size() < std::max<size_t>(needed, 1))
    return;
  // Ranks by name, so that who joined first by chance changes nothing.
  std::sort(ready.begin(), ready.end(), [this](worker_id a, worker_id b) {
    const std::string& left = nodes_.at(a).about.name;
    const std::string& right = nodes_.at(b).about.name;
    return left.size() != right.size() ? left.size() < right.size()
                                       : left < right;
  });
  run_->began = true;
  last_generation_ = next(last_generation_);
  open_generation(
      last_generation_, ready,
      commit_tracker(ready.size(), run_->last.step, run_->last.step));
  run_->members->from_seed = value(run_->last.step) == 0;
  run_->members->from_checkpoint = !run_->members->from_seed;
  run_->waits.clear();
  if (run_->members->from_checkpoint)
    run_->timed = false;
  if (run_->members->from_checkpoint)
    out.push_back(serve_checkpoint{run_->points.back().checkpoint});
  run_->phase = run_phase::loading;
  last_plan_ = next(last_plan_);
  out.push_back(placing(ready, run_->book ? run_->book->current() : plan{}));
}

void coordinator_core::open_generation(generation number,
                                       std::vector<worker_id> workers,
                                       commit_tracker commits) {
  size_t world = workers.size();
  run_->balance.state.copy_bytes_per_s.clear(); // by rank
  run_->members = generation_state{
      .number = number,
      .workers = std::move(workers),
      .collective = {},
      .current = {},
      .shares = {},
      .addresses = std::vector<std::string>(world),
      .data_addresses = std::vector<std::string>(world),
      .rates = std::vector<progress_report>(world),
      .loads = std::vector<worker_load>(world),
      .step_us = {},
      .copies = {},
      .commits = std::move(commits),
      .before = {},
      .from_seed = false,
      .from_checkpoint = false,
      .stale = {},
      .late = {},
      .source = 0,
      .ready = {},
      .took_a_step = false,
      .connects_since = {},
      .leavers = {},
      .paused = {},
      .finished = {},
  };
}

actions coordinator_core::on_placed(plan what,
                                    std::vector<share_summary> shares,
                                    instant now) {
  if (active() && run_->change && !run_->fenced &&
      what.generation == run_->change->number)
    return on_change_placed(std::move(what), std::move(shares));
  if ((phase() != run_phase::loading && phase() != run_phase::recovering) ||
      run_->fenced || what.generation != run_->members->number)
    return {};
  if (auto wrong = partition_error(what, run_->set.chunk_rows))
    return fail(
        {errc::internal, "plan " + to_string(what.number) + ": " + *wrong, {}});
  run_->short_of_memory.reset();
  generation_state& members = *run_->members;
  std::vector<committed_step> inherited =
      members.commits.waiting(members.commits.base());
  if (!run_->book)
    run_->book.emplace(ledger_config{run_->what.seed,
                                     run_->what.train.global_batch,
                                     run_->set.chunk_rows},
                       what);
  ledger start = book_at(inherited);
  if (start.current().number != what.number)
    if (auto wrong = start.switch_to(what))
      return fail({errc::internal,
                   "plan " + to_string(what.number) + ": " + *wrong,
                   {}});
  run_->plans[what.number] = what;
  members.current = what;
  members.shares = std::move(shares);
  if (!run_->balance.skew_start) {
    double skew = 0;
    for (const share_summary& one : members.shares)
      skew = std::max(skew, one.skew_tv);
    run_->balance.skew_start = skew;
  }
  if (run_->recovery)
    run_->recovery->placed = now;
  actions out;
  assign(out, start);
  return out;
}

void coordinator_core::assign(actions& out, const ledger& start) {
  generation_state& members = *run_->members;
  const plan& placed = members.current;
  members.collective = choose_collective(*run_, nodes_, members.workers);
  position at = start.next();
  std::vector<worker_cursor> cursors;
  std::vector<std::string> names;
  plan_note note{run_->recovery || members.from_checkpoint
                     ? "repair"
                     : "placement " + run_->what.data.placement.kind,
                 members.shares,
                 {}};
  for (size_t rank = 0; rank < members.workers.size(); ++rank) {
    names.push_back(name_of(members.workers[rank]));
    if (at != position{})
      cursors.push_back(start.cursor_of(rank));
  }
  out.push_back(journal(placed, members.workers, at, note));
  if (!run_->recovery) {
    events::generation_begun begins{
        members.number, at.step, names, {}, members.collective};
    if (members.from_checkpoint)
      begins.why = events::generation_begun::from_checkpoint{run_->last.step};
    out.push_back(write_event{std::move(begins)});
  }
  tell_plan(out, placed, note, at.step);
  out.push_back(write_workers{});
  assignment alike;
  alike.generation = placed.generation;
  alike.start = at;
  alike.first = {placed, pack(placed)};
  std::string packed = pack(cursors);
  alike.cursors = {std::move(cursors), std::move(packed)};
  alike.from_seed = members.from_seed;
  alike.from_checkpoint = members.from_checkpoint;
  alike.collective = members.collective.name;
  send_assignments(out, members.workers, alike);
}

journal_change coordinator_core::journal(const plan& placed,
                                         const std::vector<worker_id>& of,
                                         std::optional<position> from,
                                         plan_note note) const {
  journal_change out{placed.generation, of, {}, {}, placed, from,
                     std::move(note)};
  for (worker_id who : of) {
    out.names.push_back(name_of(who));
    out.incarnations.push_back(nodes_.at(who).incarnation);
  }
  return out;
}

/// `alike`: what the orders of one generation have in common, made once for
/// hundreds of workers.
void coordinator_core::send_assignments(actions& out,
                                        const std::vector<worker_id>& to,
                                        const assignment& alike) const {
  const host_shares hosts(nodes_, memory_, to,
                          respawns() ? workers_wanted_ : 0);
  assignment order = alike;
  order.term = config_.term;
  order.run = run_->name;
  order.job = json_text(to_json(run_->what));
  order.origin = run_->set.origin;
  order.token = config_.token;
  order.heartbeat_ms = uint32_t(config_.heartbeat.count());
  order.orphan_s = uint32_t(run_->what.elastic.orphan_s);
  out.reserve(out.size() + to.size());
  for (worker_id who : to) {
    const node& known = nodes_.at(who);
    const uint32_t local = std::max(1u, hosts.workers_on(known.about.host));
    order.worker = who;
    order.name = known.about.name;
    order.incarnation = known.incarnation;
    order.local_workers = local;
    order.store_limit_bytes = hosts.store_limit(known.about.host);
    out.push_back(send_assignment{who, order});
  }
}

actions coordinator_core::on_loaded(const worker_loaded& message, instant now) {
  if (active() && run_->change && !run_->fenced &&
      message.generation == run_->change->number)
    return on_change_loaded(message);
  if (!member(message.worker, message.generation) || run_->fenced ||
      (phase() != run_phase::loading && phase() != run_phase::recovering))
    return {};
  generation_state& members = *run_->members;
  members.addresses[rank_of(message.worker)] = message.collective_address;
  members.data_addresses[rank_of(message.worker)] = message.data_address;
  for (const std::string& address : members.addresses)
    if (address.empty())
      return {};
  if (run_->recovery)
    run_->recovery->loaded = now;
  members.connects_since = now;
  connect_order order{.term = config_.term,
                      .generation = members.number,
                      .addresses = {members.addresses, pack(members.addresses)},
                      .stale = {},
                      .late = {},
                      .source = members.source,
                      .evaluate = evaluation_owed(),
                      .paused = run_->asked.paused};
  for (worker_id who : members.stale)
    order.stale.push_back(uint32_t(rank_of(who)));
  for (worker_id who : members.late)
    order.late.push_back(uint32_t(rank_of(who)));
  actions out;
  for (worker_id who : members.workers)
    out.push_back(send_connect{who, order});
  out.push_back(write_workers{});
  return out;
}

actions coordinator_core::on_ready(const worker_ready& message, instant now) {
  actions out;
  if (active() && run_->change && !run_->fenced &&
      message.generation == run_->change->number)
    switched(out, message.base);
  if (!member(message.worker, message.generation) || run_->fenced)
    return out;
  generation_state& members = *run_->members;
  std::vector<committed_step> steps =
      members.commits.holds(rank_of(message.worker), message.base);
  commit_all(std::move(steps), out);
  members.ready.insert(message.worker);
  if (members.ready.size() < members.workers.size())
    return out;
  run_->phase = run_phase::training;
  run_->waits.clear();
  if (run_->recovery)
    run_->recovery->ready = now;
  release_leavers(out);
  out.push_back(write_workers{});
  steer(out);
  return out;
}

} // namespace ballast
