/// How data move between the workers of a generation while training goes on, as
/// the shard manager wants it:
///
///   a view of the load, every tick -> a proposal -> each new owner whose steps
///   could not wait for bytes copies its chunks, beside training -> all are
///   there: the plan is journaled and
///   offered -> every worker contributes to its lane -> the switch, which
///   nothing here decides -> the first step under it tells
///
/// Until the plan is offered a transfer can be dropped at any moment and
/// nothing has happened: where bytes are is a cache. Afterwards it is in force
/// a few steps later, or a fence ends it. A change of membership comes first.
#include "runtime/coordinator/transitions.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ballast::coordinator {

namespace {

std::string whole_seconds(instant span) {
  return std::to_string(
             std::chrono::duration_cast<std::chrono::seconds>(span).count()) +
         " s";
}

std::string trouble_of(const std::vector<stragglers::finding>& standing,
                       const node& who, instant now) {
  for (const stragglers::finding& one : standing)
    if (one.who == who.id)
      return describe(one.what, who.about.device) + ", for " +
             whole_seconds(now - one.since);
  return {};
}

/// Owns its rows under the plan before their bytes are there.
bool is_ahead(const balance::balance_proposal& what, uint32_t rank) {
  return std::any_of(what.receivers.begin(), what.receivers.end(),
                     [rank](const balance::rows_ahead& one) {
                       return one.to == rank && one.ahead;
                     });
}

/// Each new owner's part of all bytes that are copied. The rate is shared out
/// by it, so that all are done at the same time: the plan waits for the last
/// one.
std::map<uint32_t, double> copied_parts(const balance::balance_proposal& what) {
  std::map<uint32_t, double> out;
  double all = 0;
  for (const balance::shard_move& one : what.moves) {
    if (is_ahead(what, one.to))
      continue;
    const double bytes = double(one.bytes) + 1; // of an empty one, too
    out[one.to] += bytes;
    all += bytes;
  }
  for (auto& [to, bytes] : out)
    bytes /= all;
  return out;
}

/// For the next view: which worker sent how much, and how fast.
void note_copies(coordinator_parts& p, const generation_state& members,
                 const chunks_fetched& message) {
  for (const chunk_request& one : message.requests) {
    balance::link_copy copy{{}, message.worker, one.bytes, one.ns};
    for (worker_id who : members.workers)
      if (p.nodes.name_of(who) == one.source)
        copy.from = who;
    if (copy.from != worker_id{} || one.source == origin_name)
      p.run.balance.copied(copy);
  }
}

} // namespace

/// Once in events.jsonl, when it begins, when it makes its worker slow, and
/// when it is over.
void tell_stragglers(coordinator_parts& p, instant now) {
  if (!p.members.active())
    return;
  std::map<worker_id, double> row_us;
  const auto& measured = p.run.balance.account().state.row_us;
  if (const generation_state* members = p.members.members())
    for (size_t rank = 0;
         rank < measured.size() && rank < members->workers.size(); ++rank)
      row_us[members->workers[rank]] = measured[rank];
  p.devices.measured(row_us);
  for (const stragglers::change& one : p.devices.changes(now)) {
    const worker_hello& about = p.nodes.at(one.what.who).about;
    p.out.tell(events::straggler{about.name, about.device, about.host, one.what,
                                 one.over, now - one.what.since});
  }
}

/// The shard manager looks at the load.
void observe(coordinator_parts& p, instant now) {
  const training* s = p.members.in<training>();
  const std::optional<ledger::ledger>& book = p.run.steps.book();
  if (!s || s->paused || s->pending.change || s->recovery ||
      p.run.balance.observing() || !book || !s->members.all_ready() ||
      book->current().number != s->members.current.number)
    return;
  balance::load_view view = p.run.balance.look(s->members);
  view.now_ms = uint64_t(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  view.steps_per_epoch = book->steps_per_epoch();
  uint64_t done = value(p.run.steps.last().step);
  uint64_t total = view.steps_per_epoch * p.run.spec.job.train.epochs;
  view.steps_left = total - std::min(done, total);
  view.steps_left_in_epoch = view.steps_per_epoch - done % view.steps_per_epoch;
  const std::vector<stragglers::finding> standing = p.devices.standing();
  for (size_t rank = 0; rank < view.workers.size(); ++rank) {
    balance::worker_load& load = view.workers[rank];
    load.name = p.nodes.name_of(load.worker);
    load.rows_left = book->rows_left(rank);
    load.device_trouble = trouble_of(standing, p.nodes.at(load.worker), now);
  }
  view.transfer =
      s->pending.transfer || p.run.requests.paused() || p.run.requests.stops();
  p.out.put(observe_load{std::move(view)});
}

namespace {

void tell_moved(coordinator_parts& p, const generation_state& members,
                const pending_rebalance& transfer, instant now) {
  events::moved told{transfer.offered.number,
                     transfer.what.moved_rows,
                     transfer.what.moves.size(),
                     transfer.bytes,
                     transfer.refetched,
                     now - transfer.begun,
                     {}};
  for (const balance::rows_ahead& one : transfer.what.receivers)
    if (one.ahead)
      told.ahead.emplace_back(p.nodes.name_of(members.workers.at(one.to)), one);
  p.out.tell(std::move(told));
}

/// Everything is where it must be: journaled first, then offered.
void offer_transfer(coordinator_parts& p, const generation_state& members,
                    pending_rebalance& transfer, instant now) {
  const ledger::plan& offered = transfer.offered;
  transfer.sent = true;
  const balance::balance_proposal& what = transfer.what;
  if (!what.moves.empty())
    tell_moved(p, members, transfer, now);
  for (const balance::rows_ahead& one : what.receivers)
    if (one.ahead)
      transfer.bytes += one.bytes;
  transfer.note = {what.reason, what.after,
                   balance::plan_note::of_balance{
                       what.cause, p.run.balance.account().state.makespan_ratio,
                       what.moved_rows, transfer.bytes, what.bound_rows,
                       what.round_bound_rows, what.round}};
  p.run.steps.offer(offered);
  p.out.put(journal_offer{offered, transfer.note});
  for (worker_id who : members.workers)
    p.out.put(send_plan{who, {p.config.term, offered}});
}

/// What no plan need wait for its new owner brings beside its steps once it is
/// in force; each of the others copies what it will own.
void send_fetches(coordinator_parts& p, const generation_state& members,
                  pending_rebalance& transfer) {
  // By new owner, then by present one.
  std::map<uint32_t, std::map<uint32_t, std::vector<ledger::interval>>> wanted;
  for (const balance::shard_move& one : transfer.what.moves)
    if (!is_ahead(transfer.what, one.to))
      wanted[one.to][one.from].push_back(one.what);
  const std::map<uint32_t, double> parts = copied_parts(transfer.what);
  for (auto& [to, sources] : wanted) {
    fetch_order order{
        p.config.term,
        members.number,
        transfer.offered.number,
        {},
        uint64_t(double(transfer.what.rate_bytes_per_s) * parts.at(to)) + 1};
    for (auto& [from, pieces] : sources)
      order.sources.push_back({p.nodes.name_of(members.workers.at(from)),
                               members.data_addresses.at(from),
                               std::move(pieces)});
    transfer.fetching.insert(members.workers.at(to));
    p.out.put(send_fetch{members.workers.at(to), std::move(order)});
  }
}

} // namespace

void on(coordinator_parts& p, balance::balance_answer answer, instant now) {
  const bool planned = answer.state.code == balance::balance_code::planned;
  if (!p.members.active() || !p.run.balance.answered(std::move(answer.state)) ||
      !planned)
    return;
  balance::balance_proposal& what = answer.proposal;
  training* s = p.members.in<training>();
  if (!s || !may_change(p) || s->pending.transfer || p.run.requests.paused() ||
      what.generation != s->members.number ||
      what.base != s->members.current.number) {
    p.run.balance.ended(balance::transfer_end::dropped); // overtaken by events
    return;
  }
  pending_rebalance& transfer = s->pending.transfer.emplace();
  transfer.begun = now;
  transfer.offered = moved_plan(s->members.current, what.moves,
                                p.members.next_plan(), what.weights);
  transfer.what = std::move(what);
  send_fetches(p, s->members, transfer);
  if (transfer.fetching.empty())
    offer_transfer(p, s->members, transfer, now);
}

template <>
void on(coordinator_parts& p, const chunks_fetched& message, instant now) {
  pending_plans* pending =
      p.members.in<fenced>() ? nullptr : p.members.pending();
  if (!pending || !pending->transfer || pending->transfer->sent ||
      !p.members.member(message.worker, message.generation) ||
      message.number != pending->transfer->offered.number)
    return;
  const generation_state& members = *p.members.members();
  pending_rebalance& transfer = *pending->transfer;
  transfer.bytes += message.bytes;
  transfer.refetched += message.refetched;
  note_copies(p, members, message);
  const std::string name = p.nodes.name_of(message.worker);
  for (const damaged_chunk& one : message.damaged)
    p.out.tell(
        events::chunk_damaged{message.number, one.chunk, one.source, name});
  if (message.problem)
    return drop_transfer(
        p, name + " could not copy its chunks: " + message.problem.message,
        balance::transfer_end::failed);
  transfer.fetching.erase(message.worker);
  if (!transfer.fetching.empty())
    return;
  if (!may_change(p) || p.run.requests.paused())
    return drop_transfer(p, "the run is about to change");
  offer_transfer(p, members, transfer, now);
}

void transfer_took_effect(coordinator_parts& p, step_number from) {
  pending_rebalance done =
      *std::exchange(p.members.pending()->transfer, std::nullopt);
  p.run.balance.ended(balance::transfer_end::effective);
  tell_plan(p, done.offered, done.note, from);
  generation_state& members = *p.members.members();
  members.current = std::move(done.offered);
  members.shares = std::move(done.note.shares);
}

void tell_plan(coordinator_parts& p, const ledger::plan& what,
               const balance::plan_note& note, step_number from) {
  std::vector<std::string> names;
  names.reserve(note.shares.size());
  for (const share_summary& one : note.shares)
    names.push_back(p.nodes.name_of(one.worker));
  if (const uint32_t leaves = p.run.spec.leaves();
      leaves > 0 && names.size() > leaves && !note.balance)
    p.out.tell(events::spares{{names.begin() + leaves, names.end()}, leaves});
  events::plan_effective told{what.number, what.generation, from, note.reason,
                              worker_shares(names, what, note.shares,
                                            p.run.spec.batch(),
                                            p.run.spec.leaves())};
  if (!note.balance)
    return p.out.tell(std::move(told));
  p.run.balance.count(*note.balance);
  const balance_account& account = p.run.balance.account();
  p.out.tell(events::balanced{std::move(told), *note.balance,
                              account.moved_rows, account.bound_rows});
}

void drop_transfer(coordinator_parts& p, const std::string& why,
                   balance::transfer_end how) {
  pending_plans* pending = p.members.pending();
  if (!pending || !pending->transfer)
    return;
  pending_rebalance gone = *std::exchange(pending->transfer, std::nullopt);
  p.run.balance.ended(how);
  p.out.tell(
      events::plan_dropped{gone.offered.number, gone.offered.generation, why});
}

} // namespace ballast::coordinator
