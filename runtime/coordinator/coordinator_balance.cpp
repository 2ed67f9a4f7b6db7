/// The part of coordinator_core that carries out what the shard manager wants
/// while training goes on:
///
///   a view of the load, every tick -> a proposal -> each new owner copies its
///   chunks, beside training -> all are there: the plan is journaled and
///   offered -> every worker contributes to its lane -> the switch, which
///   nobody here decides -> the first step under it tells
///
/// Until the plan is offered a transfer can be dropped at any moment and
/// nothing has happened: where bytes lie is a cache. Afterwards it is in force
/// a few steps later, or a fence ends it. A change of membership comes first.
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ballast {

namespace {

/// For the next view: who sent how much, and how fast.
void note_copies(const coordinator_core& core, const chunks_fetched& message,
                 generation_state& members) {
  for (const chunk_request& one : message.requests) {
    link_copy copy{{}, message.worker, one.bytes, one.ns};
    for (worker_id who : members.workers)
      if (core.name_of(who) == one.source)
        copy.from = who;
    bool known = copy.from != worker_id{} || one.source == origin_name;
    if (known && members.copies.size() < load_steps_max)
      members.copies.push_back(copy);
  }
}

std::string whole_seconds(instant span) {
  return std::to_string(
             std::chrono::duration_cast<std::chrono::seconds>(span).count()) +
         " s";
}

std::string trouble_of(const stragglers& all, const node& who, instant now) {
  for (const stragglers::finding& one : all.standing())
    if (one.who == who.id)
      return who.about.device + ": " + describe(one.what) + ", for " +
             whole_seconds(now - one.since);
  return {};
}

/// Each new owner's part of all bytes that are copied. The rate is shared out
/// by it, so that all are done at the same time: the plan waits for the last
/// one.
std::map<uint32_t, double> copied_parts(const std::vector<shard_move>& moves) {
  std::map<uint32_t, double> out;
  double all = 0;
  for (const shard_move& one : moves) {
    const double bytes = double(one.bytes) + 1; // of an empty one, too
    out[one.to] += bytes;
    all += bytes;
  }
  for (auto& [to, bytes] : out)
    bytes /= all;
  return out;
}

} // namespace

void coordinator_core::note_load(size_t rank, const progress_report& report) {
  worker_load& load = run_->members->loads[rank];
  load.store_free_bytes = report.store_free_bytes;
  for (const take_cost& one : report.costs)
    if (load.costs.size() < load_steps_max)
      load.costs.push_back(one);
}

/// Once in events.jsonl, when it begins, when it makes its worker slow, and
/// when it is over.
void coordinator_core::tell_stragglers(actions& out, instant now) {
  std::map<worker_id, double> row_us;
  const auto& measured = run_->balance.state.row_us;
  for (size_t rank = 0; run_->members && rank < measured.size() &&
                        rank < run_->members->workers.size();
       ++rank)
    row_us[run_->members->workers[rank]] = measured[rank];
  stragglers_.measured(row_us);
  for (const stragglers::change& one : stragglers_.changes(now)) {
    const worker_hello& about = nodes_.at(one.what.who).about;
    out.push_back(write_event{events::straggler{about.name, about.device,
                                                about.host, one.what, one.over,
                                                now - one.what.since}});
  }
}

void coordinator_core::observe(actions& out, instant now) {
  if (phase() != run_phase::training || run_->fenced || run_->change ||
      run_->recovery || run_->observing || !run_->book ||
      run_->members->ready.size() < run_->members->workers.size() ||
      run_->book->current().number != run_->members->current.number)
    return;
  generation_state& members = *run_->members;
  load_view view;
  view.generation = members.number;
  view.number = members.current.number;
  if (std::exchange(run_->observed, view.number) != view.number)
    view.changed = members.current;
  view.now_ms = uint64_t(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  view.steps_per_epoch = run_->book->steps_per_epoch();
  uint64_t done = value(run_->last.step);
  uint64_t total = view.steps_per_epoch * run_->what.train.epochs;
  view.steps_left = total - std::min(done, total);
  view.steps_left_in_epoch = view.steps_per_epoch - done % view.steps_per_epoch;
  view.step_us = std::exchange(members.step_us, {});
  view.copies = std::exchange(members.copies, {});
  for (size_t rank = 0; rank < members.workers.size(); ++rank) {
    worker_load& load = members.loads[rank];
    load.worker = members.workers[rank];
    load.name = name_of(load.worker);
    load.rows_left = run_->book->rows_left(rank);
    load.trouble = trouble_of(stragglers_, nodes_.at(load.worker), now);
    view.workers.push_back(load);
    load.costs.clear();
  }
  view.transfer = run_->transfer || run_->asked.paused || run_->asked.stop;
  view.last = std::exchange(run_->last_transfer, transfer_end::none);
  run_->observing = true;
  out.push_back(observe_load{std::move(view)});
}

actions coordinator_core::on_balance(balance_answer answer, instant now) {
  actions out;
  if (!active() || !run_->observing)
    return out;
  run_->observing = false;
  run_->balance.state = std::move(answer.state);
  if (run_->balance.state.code != balance_code::planned)
    return out;
  balance_proposal& what = answer.proposal;
  generation_state* members = run_->members ? &*run_->members : nullptr;
  if (!members || !may_change() || run_->transfer || run_->asked.paused ||
      what.generation != members->number ||
      what.base != members->current.number) {
    run_->last_transfer = transfer_end::dropped; // overtaken by events
    return out;
  }
  shard_transfer& transfer = run_->transfer.emplace();
  last_plan_ = next(last_plan_);
  transfer.begun = now;
  transfer.offered =
      moved_plan(members->current, what.moves, last_plan_, what.weights);
  transfer.what = std::move(what);
  // By new owner, then by present one.
  std::map<uint32_t, std::map<uint32_t, std::vector<interval>>> wanted;
  for (const shard_move& one : transfer.what.moves)
    wanted[one.to][one.from].push_back(one.what);
  const std::map<uint32_t, double> parts = copied_parts(transfer.what.moves);
  for (auto& [to, sources] : wanted) {
    fetch_order order{
        config_.term,
        members->number,
        transfer.offered.number,
        {},
        uint64_t(double(transfer.what.rate_bytes_per_s) * parts.at(to)) + 1};
    for (auto& [from, pieces] : sources)
      order.sources.push_back({name_of(members->workers.at(from)),
                               members->data_addresses.at(from),
                               std::move(pieces)});
    transfer.fetching.insert(members->workers.at(to));
    out.push_back(send_fetch{members->workers.at(to), std::move(order)});
  }
  if (transfer.fetching.empty())
    offer_transfer(out);
  return out;
}

actions coordinator_core::on_fetched(const chunks_fetched& message,
                                     instant now) {
  actions out;
  if (!active() || !run_->transfer || run_->transfer->sent || run_->fenced ||
      !member(message.worker, message.generation) ||
      message.number != run_->transfer->offered.number)
    return out;
  shard_transfer& transfer = *run_->transfer;
  transfer.bytes += message.bytes;
  transfer.refetched += message.refetched;
  note_copies(*this, message, *run_->members);
  for (const damaged_chunk& one : message.damaged)
    out.push_back(write_event{events::chunk_damaged{
        message.number, one.chunk, one.source, name_of(message.worker)}});
  if (message.problem) {
    drop_transfer(out,
                  name_of(message.worker) +
                      " could not copy its chunks: " + message.problem.message,
                  transfer_end::failed);
    return out;
  }
  transfer.fetching.erase(message.worker);
  if (!transfer.fetching.empty())
    return out;
  if (!may_change() || run_->asked.paused) {
    drop_transfer(out, "the run is about to change");
    return out;
  }
  out.push_back(write_event{
      events::moved{transfer.offered.number, transfer.what.moved_rows,
                    transfer.what.moves.size(), transfer.bytes,
                    transfer.refetched, now - transfer.begun}});
  offer_transfer(out);
  return out;
}

/// Everything is where it must be: journaled first, then offered.
void coordinator_core::offer_transfer(actions& out) {
  shard_transfer& transfer = *run_->transfer;
  const plan& offered = transfer.offered;
  transfer.sent = true;
  const balance_proposal& what = transfer.what;
  transfer.note = {
      what.reason, what.after,
      plan_note::of_balance{what.cause, run_->balance.state.makespan_ratio,
                            what.moved_rows, transfer.bytes, what.bound_rows,
                            what.round_bound_rows, what.round}};
  run_->plans[offered.number] = offered;
  run_->offered.insert(offered.number);
  out.push_back(journal_offer{offered, transfer.note});
  for (worker_id who : run_->members->workers)
    out.push_back(send_plan{who, {config_.term, offered}});
}

/// `from`: its first step, or the one before it at a fence.
void coordinator_core::transfer_took_effect(actions& out, step_number from) {
  shard_transfer done = *std::exchange(run_->transfer, std::nullopt);
  run_->last_transfer = transfer_end::effective;
  tell_plan(out, done.offered, done.note, from);
  run_->members->current = std::move(done.offered);
  run_->members->shares = std::move(done.note.shares);
}

/// The one event that says that a plan took effect, and from which step on.
void coordinator_core::tell_plan(actions& out, const plan& what,
                                 const plan_note& note, step_number from) {
  std::vector<std::string> names;
  for (const share_summary& one : note.shares)
    names.push_back(name_of(one.worker));
  events::plan_effective told{
      what.number, what.generation, from, note.reason,
      worker_shares(names, what, note.shares, run_->what.train.global_batch)};
  if (!note.balance) {
    out.push_back(write_event{std::move(told)});
    return;
  }
  balance_account& account = run_->balance;
  account.count(*note.balance);
  out.push_back(write_event{events::balanced{
      std::move(told), *note.balance, account.moved_rows, account.bound_rows}});
}

void coordinator_core::drop_transfer(actions& out, const std::string& why,
                                     transfer_end how) {
  if (!run_->transfer)
    return;
  shard_transfer gone = *std::exchange(run_->transfer, std::nullopt);
  run_->last_transfer = how;
  out.push_back(write_event{
      events::plan_dropped{gone.offered.number, gone.offered.generation, why}});
}

} // namespace ballast
