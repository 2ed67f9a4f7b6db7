/// Every message that crosses processes, and the interfaces of the actors that
/// take them, and nothing else: who may say what to whom. The payloads are
/// plain values from runtime/; buffers never travel here, only ids, sizes and
/// addresses.
///
///   gpu_worker  --hello, alive, progress ...-->  coordinator
///   coordinator --assign, connect, command -->   gpu_worker
///
/// What stays within the coordinator's process (submit, control, status, the
/// shard manager) is in local_protocol.hpp, in types that cannot travel.
///
/// All types are registered once, in `ballast_types`, for CAF 0.17.
#pragma once

#include "actors/inspect_shared.hpp"
#include "runtime/messages/messages.hpp"

#include <caf/all.hpp>

#include <string>
#include <variant>
#include <vector>

namespace ballast {

// -- how the values travel
// ------------------------------------------------------

/// A struct that lists its fields travels as that list.
template <class Inspector, class T>
requires requires(T& x) {
  x.fields();
}
typename Inspector::result_type inspect(Inspector& f, T& x) {
  return inspect_fields(f, x);
}
/// False: there is no such kind of report.
template <class... Each>
bool make_kind(std::variant<Each...>& x, size_t kind) {
  size_t at = 0;
  return ((at++ == kind && (x.template emplace<Each>(), true)) || ...);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, worker_report& x) {
  auto kind = uint8_t(x.index());
  if constexpr (Inspector::reads_state) {
    return std::visit([&](auto& what) { return f(kind, what); }, x);
  } else {
    auto load = [&]() -> caf::error {
      if (!make_kind(x, kind))
        return caf::sec::invalid_argument;
      return std::visit([&](auto& what) -> caf::error { return f(what); }, x);
    };
    return f(kind, caf::meta::load_callback(load));
  }
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, failure& x) {
  return f(caf::meta::type_name("failure"), x.code, x.message, x.pointer);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, worker_hello& x) {
  return f(caf::meta::type_name("worker_hello"), x.name, x.pid, x.host,
           x.device, x.build_id, x.metrics_address, x.was, x.run, x.seen, x.gpu,
           x.nccl, x.run_mark, x.not_for, x.leaving, x.start_ticks, x.boot_id,
           x.memory_bytes);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, welcome& x) {
  return f(caf::meta::type_name("welcome"), x.worker, x.incarnation, x.term,
           x.heartbeat_ms);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, device_trouble& x) {
  return f(caf::meta::type_name("device_trouble"), x.causes, x.celsius,
           x.memory_errors, x.xid, x.from, x.data_percent);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, dead_link& x) {
  return f(caf::meta::type_name("dead_link"), x.rank, x.address, x.why);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, heartbeat& x) {
  return f(caf::meta::type_name("heartbeat"), x.worker, x.generation, x.step,
           x.phase, x.trouble, x.share_bytes, x.arrived_bytes, x.silent);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, assignment& x) {
  return f(caf::meta::type_name("assignment"), x.term, x.generation, x.worker,
           x.name, x.incarnation, x.run, x.run_folder, x.job, x.origin,
           x.cached_as, x.token, x.local_workers, x.heartbeat_ms, x.orphan_s,
           x.start, x.first, x.cursors, x.beside, x.from_seed,
           x.from_checkpoint, x.collective, x.store_limit_bytes);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, connect_order& x) {
  return f(caf::meta::type_name("connect_order"), x.term, x.generation,
           x.addresses, x.stale, x.late, x.source, x.evaluate, x.paused,
           x.judged);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, fence_order& x) {
  return f(caf::meta::type_name("fence_order"), x.term, x.level, x.known,
           x.evaluated, x.reason);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, command& x) {
  return f(caf::meta::type_name("command"), x.term, x.generation, x.kind,
           x.reason, x.seconds, x.factor, x.chunks, x.step, x.leaves);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, fetch_order::source& x) {
  return f(caf::meta::type_name("fetch_source"), x.name, x.address, x.pieces);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, fetch_order& x) {
  return f(caf::meta::type_name("fetch_order"), x.term, x.generation, x.number,
           x.sources, x.bytes_per_s);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, plan_offer& x) {
  return f(caf::meta::type_name("plan_offer"), x.term, x.what);
}

} // namespace ballast

namespace ballast::ledger {

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, interval& x) {
  return f(caf::meta::type_name("interval"), x.chunk, x.begin, x.end);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, share& x) {
  return f(caf::meta::type_name("share"), x.worker, x.since, x.batch_weight,
           x.intervals, x.stream);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, plan& x) {
  return f(caf::meta::type_name("plan"), x.number, x.generation, x.shares,
           x.kept.step, x.kept.by_rank);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, position& x) {
  return f(caf::meta::type_name("position"), x.epoch, x.step);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, worker_cursor& x) {
  return f(caf::meta::type_name("worker_cursor"), x.worker, x.draws, x.cursors,
           x.digest);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, step_record& x) {
  return f(caf::meta::type_name("step_record"), x.step, x.epoch, x.plan,
           x.samples, x.loss, x.t_ns);
}

} // namespace ballast::ledger

CAF_BEGIN_TYPE_ID_BLOCK(ballast, caf::first_custom_type_id)
  // The ids are what travels: those up to heartbeat stay as they are, so that
  // builds that differ can say so to each other. Append the others.
  CAF_ADD_TYPE_ID(ballast, (ballast::worker_id))
  CAF_ADD_TYPE_ID(ballast, (ballast::generation))
  CAF_ADD_TYPE_ID(ballast, (ballast::term))
  CAF_ADD_TYPE_ID(ballast, (ballast::plan_number))
  CAF_ADD_TYPE_ID(ballast, (ballast::chunk_id))
  CAF_ADD_TYPE_ID(ballast, (ballast::step_number))
  CAF_ADD_TYPE_ID(ballast, (ballast::epoch_number))
  CAF_ADD_TYPE_ID(ballast, (ballast::errc))
  CAF_ADD_TYPE_ID(ballast, (ballast::worker_phase))
  CAF_ADD_TYPE_ID(ballast, (ballast::command_kind))
  CAF_ADD_TYPE_ID(ballast, (ballast::ledger::interval))
  CAF_ADD_TYPE_ID(ballast, (ballast::ledger::share))
  CAF_ADD_TYPE_ID(ballast, (ballast::ledger::plan))
  CAF_ADD_TYPE_ID(ballast, (ballast::ledger::position))
  CAF_ADD_TYPE_ID(ballast, (ballast::failure))
  CAF_ADD_TYPE_ID(ballast, (ballast::ledger::worker_cursor))
  CAF_ADD_TYPE_ID(ballast, (ballast::worker_hello))
  CAF_ADD_TYPE_ID(ballast, (ballast::welcome))
  CAF_ADD_TYPE_ID(ballast, (ballast::heartbeat))
  CAF_ADD_TYPE_ID(ballast, (ballast::worker_report))
  CAF_ADD_TYPE_ID(ballast, (ballast::ledger::step_record))
  CAF_ADD_TYPE_ID(ballast, (ballast::assignment))
  CAF_ADD_TYPE_ID(ballast, (ballast::connect_order))
  CAF_ADD_TYPE_ID(ballast, (ballast::command))
  CAF_ADD_TYPE_ID(ballast, (ballast::plan_offer))
  CAF_ADD_TYPE_ID(ballast, (ballast::fence_order))
  CAF_ADD_TYPE_ID(ballast, (ballast::fetch_order))
  CAF_ADD_ATOM(ballast, ballast, hello_atom, "hello")
  CAF_ADD_ATOM(ballast, ballast, alive_atom, "alive")
  CAF_ADD_ATOM(ballast, ballast, tick_atom, "tick")
  CAF_ADD_ATOM(ballast, ballast, join_atom, "join")
  CAF_ADD_ATOM(ballast, ballast, freeze_atom, "freeze")
  CAF_ADD_ATOM(ballast, ballast, drain_atom, "drain")
  CAF_ADD_ATOM(ballast, ballast, drop_atom, "drop")
  CAF_ADD_TYPE_ID(ballast, (ballast::prepare_fragment))
  CAF_ADD_TYPE_ID(ballast, (ballast::fragment_ready))
CAF_END_TYPE_ID_BLOCK(ballast)
CAF_ERROR_CODE_ENUM(ballast::errc, "ballast")

namespace ballast::actors {

/// GPU WORKER: holds one rank's data, model and step thread; does what the
/// coordinator says, reports what happened.
using gpu_worker_actor = caf::typed_actor<
    // Load the part of a run; answers later with worker_loaded.
    caf::reacts_to<assignment>,
    // Join the ranks, bring the states to the base, train from there on.
    caf::reacts_to<connect_order>,
    // Stop every generation up to a level; answered with final_ack at once.
    caf::reacts_to<fence_order>,
    // Pause, resume, stop (all by lane), release, abandon.
    caf::reacts_to<command>,
    // Chunks it is to own soon; answered with chunks_fetched.
    caf::reacts_to<fetch_order>,
    // A pending plan, all of whose chunks are here: contribute to its lane.
    caf::reacts_to<plan_offer>,
    // A file to read while a set is prepared; answered with fragment_ready.
    caf::reacts_to<prepare_fragment>>;

/// The same actor as its own process sees it.
using local_worker_actor = gpu_worker_actor::extend<
    // What the engine's threads report; passed on to the coordinator.
    caf::reacts_to<worker_report>,
    // The same of those that read files.
    caf::reacts_to<fragment_ready>,
    // The engine has dropped all that it held of a run.
    caf::reacts_to<drop_atom>,
    // Say hello to the coordinator, once connected to it.
    caf::reacts_to<join_atom>,
    // A coordinator is back; say hello to it as the worker that this was.
    caf::reacts_to<join_atom, caf::strong_actor_ptr>,
    // This process was asked to end; its data first.
    caf::reacts_to<drain_atom>,
    // The run was killed; stop, keep the state, wait.
    caf::reacts_to<freeze_atom>,
    // Send what was applied since the last tick.
    caf::reacts_to<tick_atom>>;

/// COORDINATOR, as workers see it: decides who trains; the only writer of
/// generations and of the run directory. Whatever carries a generation is
/// dropped unless it is the current one. This is the interface that a
/// coordinator publishes; what else it takes, from its own process only, is in
/// local_protocol.hpp.
using coordinator_actor = caf::typed_actor<
    // A node joins. Errors: name_taken, other_build.
    caf::replies_to<hello_atom, worker_hello, gpu_worker_actor>::with<welcome>,
    caf::reacts_to<heartbeat>,
    // A node was asked to end: let it leave.
    caf::reacts_to<drain_atom, worker_id>,
    // What a worker did or what became of it; dropped if of an earlier
    // generation.
    caf::reacts_to<worker_report>,
    // A file that it was to read, for the shard manager.
    caf::reacts_to<fragment_ready>>;

} // namespace ballast::actors
