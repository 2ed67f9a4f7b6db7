/// A simulated shard manager that wants something often, and sense of it never:
/// any weights, any pieces from anybody to anybody. What matters is that
/// training stays exact whatever it wants, and whenever.
#include "tests/simulation/cluster_parts.hpp"

#include "runtime/balance/coverage.hpp"
#include "runtime/balance/memory_fit.hpp"
#include "runtime/balance/repair.hpp"

#include <algorithm>

namespace ballast::simulation {

void cluster::forget_others(node_state& who) {
  ledger::plan now = *std::exchange(who.fresh, std::nullopt);
  std::set<chunk_id> had = std::exchange(who.chunks, {});
  hold_share(who, now);
  if (const assignment* next = who.lifecycle.next())
    hold_share(who, next->first);
  if (who.fetched && who.fetched->number > now.number)
    for (const fetch_order::source& from : who.fetched->sources)
      for (const ledger::interval& piece : from.pieces)
        who.chunks.insert(piece.chunk);
  std::erase_if(who.chunks, [&](chunk_id id) { return !had.contains(id); });
}

/// All of them together have some chunks more than the set.
uint64_t cluster::room_bytes() const {
  const uint64_t chunks = set_.train.size();
  return chunk_bytes * (chunks / options_.workers + 2 + options_.seed % 2);
}

void cluster::check_room(const node_state& who, const assignment& order) {
  if (!options_.cramped || what_.train.shuffle.window() > 0)
    return;
  const std::vector<uint64_t> held = balance::held_bytes(set_, *order.first);
  for (size_t rank = 0; rank < held.size(); ++rank)
    if (order.first->shares[rank].worker == order.worker &&
        held[rank] > room_bytes())
      fail(who.name + " is to hold " + std::to_string(held[rank]) +
           " bytes, and has room for " + std::to_string(room_bytes()));
}

static std::set<uint32_t>
receivers_of(const std::vector<balance::shard_move>& moves) {
  std::set<uint32_t> out;
  for (const balance::shard_move& one : moves)
    out.insert(one.to);
  return out;
}

balance::balance_answer cluster::some_answer(const balance::load_view& view) {
  balance::balance_answer out;
  if (options_.cramped) // whims do not look at room
    return out;
  if (!random_.one_in(3) || !disk_->plans.contains(view.number))
    return out;
  const ledger::plan& now = disk_->plans.at(view.number).body;
  size_t world = now.shares.size();
  balance::balance_proposal& what = out.proposal;
  what.generation = view.generation;
  what.base = view.number;
  std::set<ledger::interval> taken;
  for (uint64_t i = random_.below(4); world > 1 && i > 0; --i) {
    auto from = uint32_t(random_.below(world));
    auto to = uint32_t((from + 1 + random_.below(world - 1)) % world);
    const auto& pieces = now.shares[from].intervals;
    if (pieces.empty())
      continue;
    ledger::interval piece = pieces[random_.below(pieces.size())];
    if (!taken.insert(piece).second)
      continue;
    if (ledger::rows(piece) > 1 && random_.one_in(3))
      piece.begin += uint32_t(1 + random_.below(ledger::rows(piece) - 1));
    what.moves.push_back({piece, from, to, 100, 1});
    what.moved_rows += ledger::rows(piece);
  }
  if (options_.on_demand) // the others copy first
    for (const uint32_t to : receivers_of(what.moves))
      what.receivers.push_back({to, 100, 1, 1, random_.one_in(2)});
  ledger::plan after = moved_plan(now, what.moves, next(now.number), {});
  for (const ledger::share& part : after.shares) {
    what.after.push_back({part.worker, ledger::rows(part), 0});
    what.weights.push_back(random_.one_in(2) ? ledger::rows(part)
                                             : random_.below(20));
  }
  what.reason = "on a whim";
  out.state.code = balance::balance_code::planned;
  return out;
}

balance::balance_answer cluster::answer(const balance::load_view& view) {
  if (!planner_)
    return some_answer(view);
  balance::balance_answer out = planner_->observe(view);
  if (out.state.code == balance::balance_code::planned) {
    log([&] { return "wants: " + out.proposal.reason; });
    outcome_.lone_plans +=
        out.proposal.cause == balance::balance_cause::coverage;
  }
  return out;
}

/// Classes of one worker alone that another one could hold a row of: who owns
/// next to nothing would be over the budget of skew with it.
static uint64_t coverable(const ledger::manifest& set,
                          const ledger::plan& now) {
  constexpr uint64_t rows_min = 20;
  uint64_t out = 0;
  for (const balance::lone_class& one : balance::lone_classes(set, now))
    out += std::ranges::any_of(now.shares, [&](const ledger::share& other) {
      return other.worker != now.shares[one.rank].worker &&
             rows(other) >= rows_min;
    });
  return out;
}

/// Of the plan that is in force in the end.
void cluster::check_coverage() {
  outcome_.same_since =
      std::max(disk_->trained_at, disk_->changed_at) - disk_->changed_at;
  outcome_.stalled = core_ && core_->run.balance.account().state.code ==
                                  balance::balance_code::stalled;
  for (const auto& [number, one] : disk_->plans)
    if (one.effective)
      outcome_.lone_classes = coverable(set_, one.body);
}

void cluster::fetch(node_state& who, const fetch_order& order) {
  who.fetched = order;
  at_node(who, some(500, 200'000), [this, order](node_state& me) {
    if (!me.lifecycle.wants_copy(order.number))
      return;
    chunks_fetched message;
    message.worker = me.id;
    message.generation = order.generation;
    message.number = order.number;
    if (random_.one_in(20))
      message.problem = {errc::unreachable, "nobody answers", {}};
    else
      for (const fetch_order::source& from : order.sources)
        for (const ledger::interval& piece : from.pieces)
          me.chunks.insert(piece.chunk);
    perform(me, me.lifecycle.on_fetched(message));
  });
}

} // namespace ballast::simulation
