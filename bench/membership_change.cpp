/// What a change of the membership costs the coordinator's processor: one of
/// many workers dies, all others answer the fence, the next generation is
/// decided, placed, and one order for each of them is made. No sockets, no
/// disk, no computing.
///
///   membership_change [WORKERS] [ROUNDS]     default 256 20
///
/// Prints one JSON object: milliseconds of this thread's processor time, median
/// and worst.
#include "runtime/coordinator_core.hpp"
#include "runtime/manifest.hpp"
#include "runtime/repair.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

using namespace ballast;

namespace {

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

manifest make_set(uint32_t chunks) {
  manifest out;
  for (uint32_t i = 0; i < chunks; ++i) {
    chunk_info chunk;
    chunk.id = chunk_id(i);
    chunk.rows = 256;
    out.train_rows += chunk.rows;
    out.train.push_back(chunk);
  }
  return out;
}

set_summary summary_of(const manifest& set) {
  set_summary out;
  out.origin = "origin:1";
  out.train_rows = set.train_rows;
  for (const chunk_info& chunk : set.train)
    out.chunk_rows.push_back(chunk.rows);
  return out;
}

/// A coordinator with so many workers that train.
class cluster {
public:
  explicit cluster(uint32_t workers)
      : set_(make_set(8 * workers)), core_({.build_id = "b"}) {
    for (uint32_t i = 1; i <= workers; ++i)
      join("w" + std::to_string(i));
    job what;
    what.model.kind = "emulated";
    what.train.global_batch = 64 * workers;
    what.elastic.workers = workers;
    what.elastic.max_workers = workers;
    core_.on_submit(what, "bench-1", term{1});
    perform(core_.on_prepared(summary_of(set_), now_));
    go_on(step_number{0});
  }

  /// Kills one; the processor time until every other one has its order.
  double lose_one() {
    const auto workers = core_.current()->members->workers;
    double begun = cpu_ms();
    perform(core_.on_node_down(workers[workers.size() / 2], "killed", now_));
    answer_fence();
    double out = cpu_ms() - begun;
    go_on(core_.current()->last.step);
    return out;
  }

  size_t world() const { return core_.current()->members->workers.size(); }

private:
  void join(const std::string& name) {
    worker_hello hello;
    hello.name = name;
    hello.host = name;
    hello.build_id = "b";
    perform(core_.on_hello(hello, now_).then);
  }

  void answer_fence() {
    while (core_.current()->fenced) {
      const fence& held = *core_.current()->fenced;
      final_ack ack;
      ack.worker = *held.awaited().begin();
      ack.level = held.level();
      ack.holds_state = true;
      ack.step = core_.current()->last.step;
      perform(core_.on_ack(ack, now_));
    }
  }

  /// Everybody loads and stands at the base.
  void go_on(step_number base) {
    generation number = core_.current()->members->number;
    for (worker_id who : core_.current()->members->workers)
      core_.on_loaded({who, number, "c", "d"}, now_);
    for (worker_id who : core_.current()->members->workers)
      core_.on_ready({who, number, base}, now_);
  }

  void perform(const actions& list) {
    for (const action& one : list) {
      const auto* place = std::get_if<place_shares>(&one);
      if (!place)
        continue;
      plan placed =
          place->before.shares.empty()
              ? first_plan(set_, place->workers, place->generation,
                           place->number)
              : repaired_plan(set_, 0.1, place->before, place->workers,
                              place->generation, place->number);
      std::vector<share_summary> counts;
      for (const share& part : placed.shares)
        counts.push_back({part.worker, rows(part), 0});
      perform(core_.on_placed(placed, counts, now_));
    }
  }

  manifest set_;
  coordinator_core core_;
  instant now_{};
};

} // namespace

int main(int argc, char** argv) {
  auto workers = uint32_t(argc > 1 ? std::atoi(argv[1]) : 256);
  int rounds = argc > 2 ? std::atoi(argv[2]) : 20;
  if (workers < 2 || rounds < 1 || uint32_t(rounds) >= workers) {
    std::fprintf(stderr, "usage: membership_change [WORKERS] [ROUNDS]\n");
    return 2;
  }
  cluster all(workers);
  std::vector<double> ms;
  for (int i = 0; i < rounds; ++i)
    ms.push_back(all.lose_one());
  std::sort(ms.begin(), ms.end());
  std::printf("{\"workers\": %u, \"rounds\": %d, \"median_ms\": %.2f, "
              "\"most_ms\": %.2f}\n",
              workers, rounds, ms[ms.size() / 2], ms.back());
}
