/// Plays shard manager and workers for the coordinator. Nothing runs by itself.
#pragma once
#include "runtime/balance/memory_fit.hpp"
#include "runtime/balance/repair.hpp"
#include "tests/runtime/coordinator/plain_set.hpp"
#include "tests/runtime/coordinator/played_coordinator.hpp"

#include <functional>
#include <gtest/gtest.h>

namespace ballast::coordinator {

template <class Action>
std::vector<Action> pick(const actions& list) {
  std::vector<Action> out;
  for (const action& one : list)
    if (const auto* found = std::get_if<Action>(&one))
      out.push_back(*found);
  return out;
}

template <class Event>
std::vector<Event> told(const actions& list) {
  std::vector<Event> out;
  for (const write_event& one : pick<write_event>(list))
    if (const auto* found = std::get_if<Event>(&one.what))
      out.push_back(*found);
  return out;
}

inline process_end killed_by(int signal) {
  return {process_end::kind::killed, signal};
}
inline process_end exited_with(int code) {
  return {process_end::kind::exited, code};
}
const loss_cause closed = losses::connection_closed{};

inline job small_job(uint32_t workers) {
  job out;
  out.name = "test";
  out.data.train.format = source_format::synthetic;
  out.data.train.rows = 100;
  out.data.train.classes = 2;
  out.model.kind = model_kind::emulated;
  out.train.global_batch = 50;
  out.elastic.workers = workers;
  return out;
}

class driver {
public:
  explicit driver(bool supervised = false, std::chrono::milliseconds tick = {})
      : core({.build_id = "b1",
              .token = "t",
              .heartbeat = std::chrono::milliseconds(200),
              .supervised = supervised,
              .tick = tick}) {}

  played_coordinator::hello_result join(const std::string& name,
                                        const std::string& build = "b1") {
    worker_hello hello{name, 100, "host", "cpu", build, "http://m"};
    if (dress)
      dress(hello);
    return core.hello(hello, now);
  }

  /// From submit to the first step with `names`.
  actions train(std::vector<std::string> names, uint32_t min_workers = 1,
                bool respawn = true) {
    for (const std::string& name : names)
      join(name);
    job what = small_job(uint32_t(names.size()));
    what.elastic.min_workers = min_workers;
    what.elastic.respawn = respawn;
    what.train.global_batch = batch;
    what.checkpoint = checkpoint;
    if (more)
      more(what);
    core.submit(what, "test-1", term{1});
    actions placing = core.take(data_prepared{set()}, now);
    auto place = pick<balance::place_shares>(placing);
    EXPECT_EQ(place.size(), 1u);
    workers = place.at(0).workers;
    return this->place(place[0]);
  }

  /// The shard manager's answer, and what the workers say to that.
  actions place(const balance::place_shares& what) {
    if (what.before.shares.empty()) {
      std::vector<share_summary> counts;
      for (worker_id who : what.workers)
        counts.push_back({who, 0, 0});
      assigned = core.take(shares_placed{first(what), counts}, now);
      return join_ranks();
    }
    placed_shares placed = balance::place(chunks(), 0.1, what);
    if (placed.lacks)
      return assigned = core.take(no_room_found{what.generation, placed.lacks});
    assigned = core.take(shares_placed{placed.what, placed.shares}, now);
    return join_ranks();
  }

  /// Ten chunks of ten rows, in turn.
  ledger::plan first(const balance::place_shares& what) {
    ledger::plan out;
    out.number = what.number;
    out.generation = what.generation;
    for (worker_id who : what.workers)
      out.shares.push_back(
          {who, out.number, 0, {}, uint32_t(out.shares.size())});
    for (uint32_t chunk = 0; chunk < 10; ++chunk) {
      ledger::share& owner = out.shares[chunk % out.shares.size()];
      owner.intervals.push_back({chunk_id(chunk), 0, 10});
      owner.batch_weight += 10;
    }
    return out;
  }

  /// All have loaded, then all are ready.
  actions join_ranks() {
    const generation gen = core.generation()->number;
    const auto ranks = core.generation()->workers;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      const std::string id = to_string(ranks[rank]);
      loaded = core.take(worker_loaded{ranks[rank], gen, "c" + id, "d" + id,
                                       1000, probe ? probe(rank) : ""},
                         now);
    }
    for (worker_id who : ranks)
      if (const auto* of = core.generation())
        begun = core.take(worker_ready{who, gen, of->commits.base()}, now);
    return loaded;
  }

  /// Survivors answer the fence and go on; the actions of the decision.
  actions recover(step_number holds,
                  std::vector<ledger::step_record> records = {},
                  std::vector<evaluation_report> evaluations = {}) {
    actions out;
    auto awaited = core.fence()->awaited();
    generation level = core.fence()->level();
    for (worker_id who : awaited)
      out = core.take(final_ack{who, level, true, holds, records, evaluations},
                      now);
    return out;
  }

  ledger::manifest chunks() {
    ledger::manifest out = testing::plain_set(std::vector<uint32_t>(10, 10));
    for (ledger::chunk_info& one : out.train)
      one.bytes = chunk_bytes;
    return out;
  }

  set_summary set() {
    set_summary out;
    out.origin = "origin";
    out.train_rows = 100, out.test_rows = test_rows;
    out.classes = 2;
    out.chunk_rows = std::vector<uint32_t>(10, 10);
    return out;
  }

  /// Every member reports the steps up to `last`.
  void apply_steps(uint64_t last) {
    const generation_state& members = *core.generation();
    progress_report report;
    report.generation = members.number;
    for (uint64_t step = 1; step <= last; ++step)
      report.steps.push_back({step_number{step},
                              epoch_number{1 + (step - 1) / 2},
                              members.current.number, 50, 2, 9 * step});
    for (worker_id who : core.generation()->workers) {
      report.worker = who;
      core.take(report, now);
    }
  }

  actions finish_all(bool stopped = false) {
    apply_steps(2);
    actions out;
    for (worker_id who : workers)
      out = core.take(
          worker_finished{who, generation{1}, step_number{2}, stopped, "sha"});
    return out;
  }

  played_coordinator core;
  instant now{};
  uint64_t batch = 50, chunk_bytes = 0, test_rows = 0;
  checkpoint_spec checkpoint;
  std::function<void(job&)> more;           // what else a job says
  std::function<void(worker_hello&)> dress; // what else a node says
  std::function<std::string(size_t)> probe; // of a rank that is loaded
  std::vector<worker_id> workers;
  actions assigned, loaded, begun; // once all were placed, loaded, ready
};

} // namespace ballast::coordinator
