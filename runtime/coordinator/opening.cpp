/// A generation opens: its plan is placed and journaled, its workers load,
/// connect and are ready.
#include "runtime/coordinator/dismissal.hpp"
#include "runtime/coordinator/judging.hpp"
#include "runtime/coordinator/transitions.hpp"

#include "runtime/ledger/kept_leaves.hpp"
#include "runtime/messages/packed_orders.hpp"

#include <map>
#include <utility>
#include <vector>

namespace ballast::coordinator {

namespace {

void tell_start(coordinator_parts& p, const generation_state& members,
                step_number first) {
  events::generation_begun begins{
      members.number, first, p.names(members.workers), {}, members.collective};
  if (members.from_checkpoint)
    begins.why =
        events::generation_begun::from_checkpoint{p.run.steps.last().step};
  p.out.tell(std::move(begins));
}

/// Journals the plan and sends every worker what it has to load.
void assign(coordinator_parts& p, opening& s, const ledger::ledger& start) {
  generation_state& members = s.members;
  const ledger::plan& placed = members.current;
  members.collective = choose_collective(p, members.workers);
  const ledger::position at = start.next();
  std::vector<ledger::worker_cursor> cursors;
  if (at != ledger::position{})
    for (size_t rank = 0; rank < members.workers.size(); ++rank)
      cursors.push_back(start.cursor_of(rank));
  const balance::plan_note note{
      s.recovery || members.from_checkpoint
          ? "repair"
          : "placement " + to_string(p.run.spec.job.data.placement.kind),
      members.shares,
      {}};
  p.out.put(journal_entry(p, placed, members.workers, at, note));
  if (!s.recovery)
    tell_start(p, members, at.step);
  tell_plan(p, placed, note, at.step);
  p.out.put(write_workers{});
  assignment common;
  common.generation = placed.generation;
  common.start = at;
  common.first = {placed, pack(placed)};
  std::string packed = pack(cursors);
  common.cursors = {std::move(cursors), std::move(packed)};
  common.from_seed = members.from_seed;
  common.from_checkpoint = members.from_checkpoint;
  common.collective = members.collective.name;
  send_assignments(p, members.workers, std::move(common));
}

/// Order global: the rows that a worker holds say nothing of what it can do in
/// a step, and speeds are not known yet.
void weigh_evenly(ledger::plan& first) {
  for (ledger::share& one : first.shares)
    one.batch_weight = 1;
}

/// Order global: the step that broke off goes on where its leaves are.
void keep_computed(ledger::plan& what,
                   const std::map<worker_id, ledger::leaf_ranges>& computed,
                   step_number step, uint32_t leaves) {
  std::vector<ledger::leaf_ranges> had;
  std::vector<uint64_t> weights;
  for (const ledger::share& one : what.shares) {
    auto found = computed.find(one.worker);
    had.push_back(found == computed.end() ? ledger::leaf_ranges{}
                                          : found->second);
    weights.push_back(one.batch_weight);
  }
  what.kept = ledger::keep_leaves(step, std::move(had), weights, leaves);
}

failure misfit(const ledger::plan& what, const std::string& why) {
  return {errc::internal, "plan " + to_string(what.number) + ": " + why, {}};
}

} // namespace

void on(coordinator_parts& p, shares_placed placed, instant now) {
  if (auto* change = p.members.change_beside(placed.what.generation))
    return change_placed(p, *change, std::move(placed));
  opening* s = p.members.in<opening>();
  if (!s || placed.what.generation != s->members.number)
    return;
  if (!p.run.steps.book()) // else the switch to it checks it
    if (auto wrong = partition_error(placed.what, p.run.spec.set.chunk_rows))
      return fail(p, misfit(placed.what, *wrong));
  p.members.set_shortage({});
  if (!p.run.steps.book() && p.run.spec.leaves() > 0)
    weigh_evenly(placed.what);
  generation_state& members = s->members;
  p.run.steps.open_book(p.run.spec.rows(), placed.what);
  ledger::ledger start =
      s->start ? *std::exchange(s->start, std::nullopt)
               : p.run.steps.book_after(
                     members.commits.waiting(members.commits.base()));
  if (!s->computed.empty())
    keep_computed(placed.what, s->computed, start.next().step,
                  p.run.spec.leaves());
  if (start.current().number != placed.what.number)
    if (auto wrong = start.switch_to(placed.what))
      return fail(p, misfit(placed.what, *wrong));
  p.run.steps.issue(placed.what);
  members.current = std::move(placed.what);
  members.shares = std::move(placed.shares);
  p.run.balance.placed(members.shares);
  if (s->recovery)
    s->recovery->placed = now;
  assign(p, *s, start);
  p.run.steps.begins(std::move(start));
}

namespace {

std::string no_room_line(size_t workers, const memory_need& lacks) {
  return std::to_string(workers) + " workers can hold " +
         byte_text(lacks.free_bytes) + " more, " +
         byte_text(lacks.lacking_bytes) + " of the training data have no place";
}

/// Why the run cannot wait for another worker, if it cannot.
failure no_room_ever(const coordinator_parts& p, const opening& s,
                     const std::string& why) {
  if (!p.config.supervised)
    return {};
  if (s.recovery)
    return p.staff.respawns()
               ? failure{}
               : failure{errc::device_failed,
                         why + " and no more workers are started: " +
                             describe(s.recovery->reason),
                         {}};
  return {errc::device_failed,
          why + ", and the least of them cannot hold two chunks; add memory "
                "(BALLAST_MEMORY_MB says how much a node may count on), start "
                "nodes on more machines, or make chunks smaller "
                "(/data/chunk_rows)",
          {}};
}

/// A run that has not begun draws from a window where its set does not fit, if
/// its job leaves that open. Waiting -> opening, with other draws.
bool choose_window(coordinator_parts& p, const opening& s,
                   const memory_need& lacks) {
  run_spec& spec = p.run.spec;
  if (s.recovery || p.run.steps.book() || spec.streams() ||
      lacks.window_chunks == 0)
    return false;
  spec.job.train.shuffle.window_chunks = lacks.window_chunks;
  p.out.put(journal_job{spec.job});
  p.out.tell(events::window_chosen{lacks.window_chunks, lacks});
  p.members.become(waiting{});
  form_generation(p);
  return true;
}

void tell_no_room(coordinator_parts& p, size_t workers,
                  const memory_need& lacks, const std::string& reason) {
  p.out.tell(events::waiting_for_memory{workers, lacks, reason});
}

} // namespace

void on(coordinator_parts& p, const no_room_found& what, instant) {
  const memory_wait found{what.lacks, connected(p.nodes), p.nodes.leaving()};
  if (auto* change = p.members.change_beside(what.of)) {
    const size_t workers = change->workers.size();
    p.members.set_shortage(found);
    tell_no_room(p, workers, what.lacks,
                 "the membership stays as it is: " +
                     no_room_line(workers, what.lacks));
    p.members.pending()->change.reset(); // the present members train on
    return;
  }
  opening* s = p.members.in<opening>();
  if (!s || s->members.number != what.of)
    return;
  if (choose_window(p, *s, what.lacks))
    return;
  const size_t workers = s->members.workers.size();
  const std::string why = no_room_line(workers, what.lacks);
  p.members.set_shortage(found);
  if (failure hopeless = no_room_ever(p, *s, why))
    return fail(p, std::move(hopeless));
  tell_no_room(p, workers, what.lacks, why + "; waits for another worker");
  if (!s->recovery)
    p.members.become(waiting{});
}

template <>
void on(coordinator_parts& p, const worker_loaded& message, instant now) {
  if (auto* change = p.members.change_beside(message.generation)) {
    if (change->holds(message.worker) && !refuse_unlike(p, message, now))
      change_loaded(p, *change, message);
    return;
  }
  opening* s = p.members.in<opening>();
  if (!s || !p.members.member(message.worker, message.generation))
    return;
  generation_state& members = s->members;
  members.listens(members.rank_of(message.worker), message);
  if (!members.all_loaded() || !begin_alike(p, members, now))
    return;
  consider_memory(p, message.state_bytes);
  if (s->recovery)
    s->recovery->loaded = now;
  members.connects_since = now;
  connect_order order{
      .term = p.config.term,
      .generation = members.number,
      .addresses = {members.addresses, pack(members.addresses)},
      .stale = {},
      .late = {},
      .source = members.source,
      .evaluate = p.run.spec.set.test_rows == 0
                      ? step_number{}
                      : p.run.steps.evaluation_owed(
                            p.run.spec.evaluations(),
                            members.commits.waiting(members.commits.base())),
      .paused = p.run.requests.paused(),
      .judged = judged_at(p, members.commits.base())};
  for (worker_id who : members.stale)
    order.stale.push_back(uint32_t(members.rank_of(who)));
  for (worker_id who : members.late)
    order.late.push_back(uint32_t(members.rank_of(who)));
  p.out.expect(members.workers.size());
  for (worker_id who : members.workers)
    p.out.put(send_connect{who, order});
  p.out.put(write_workers{});
}

namespace {

/// opening -> training; or training, behind a switch, with all its ranks.
void all_are_ready(coordinator_parts& p, instant now) {
  if (opening* s = p.members.in<opening>()) {
    training next{std::move(s->members), {}, std::move(s->recovery)};
    if (next.recovery)
      next.recovery->ready = now;
    p.members.become(std::move(next));
  } else {
    p.members.in<training>()->paused = false;
  }
  p.run.delay.over();
  release_leavers(p);
  p.out.put(write_workers{});
  steer(p);
}

} // namespace

template <>
void on(coordinator_parts& p, const state_arrived& message, instant) {
  // Of a join it comes before any member says that the switch happened.
  if (!p.members.member(message.worker, message.generation) &&
      !p.members.change_beside(message.generation))
    return;
  p.out.tell(events::state_received{p.nodes.name_of(message.worker),
                                    message.generation, message.bytes,
                                    std::chrono::nanoseconds(message.wall_ns)});
}

template <>
void on(coordinator_parts& p, const worker_ready& message, instant now) {
  if (p.members.in<training>() && p.members.change_beside(message.generation))
    switched(p, message.base);
  if (!p.members.member(message.worker, message.generation) ||
      (!p.members.in<opening>() && !p.members.in<training>()))
    return;
  generation_state& members = *p.members.members();
  commit_all(
      p, members.commits.holds(members.rank_of(message.worker), message.base));
  members.ready.insert(message.worker);
  if (members.all_ready())
    all_are_ready(p, now);
}

} // namespace ballast::coordinator
