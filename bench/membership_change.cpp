/// The cost of a membership change with hundreds of workers: one of them dies,
/// all others answer the fence, the next generation is decided, placed and
/// journaled, every worker gets its orders, connects and takes a step.
///
///   membership_change [ROUNDS] [WORKERS ...]     default 30  4 64 256 1024
///
/// Virtual time. The coordinator's part is real: its code runs, and the time of
/// each call on this machine's processor counts, one after another, as do the
/// bytes of each order, the journal's transaction and the tick. The rest is a
/// model: messages take `latency_ms` and share the coordinator's link of
/// `link_bytes_per_ms`, in each direction; a worker's own work (stop, load,
/// connect, first step) takes the time measured in bench/results/recovery.txt,
/// the same for every worker and world. Not in the model: the number of links
/// of a mesh grows with the world.
///
/// Prints one JSON object a world: milliseconds from the death to the first
/// step, of that the coordinator's processor, and the ratio to the first world.
#include "monitor/logs/event_text.hpp"
#include "monitor/status_json.hpp"
#include "runtime/balance/repair.hpp"
#include "runtime/coordinator/status.hpp"
#include "runtime/coordinator/transitions.hpp"
#include "runtime/ledger/manifest.hpp"
#include "store/journal.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

using namespace ballast;

namespace {

constexpr double latency_ms = 0.2;
constexpr double link_bytes_per_ms = 1e6; // 1 GB/s
/// Header of an actor's message: lengths, ids, addresses of both ends.
constexpr size_t frame_bytes = 100;
constexpr double tick_ms = 50;
/// As in actors/coordinator_shell.hpp: with more workers than this a recovery
/// does not wait for a summary to be written.
constexpr size_t small_world = 64;

/// Medians of "kill -9 of one of 4 workers, 25 MB" in
/// bench/results/recovery.txt; all of each phase is attributed to the worker.
constexpr double noticed_ms = 2.3;
constexpr double stop_ms = 3.6;
constexpr double load_ms = 12.4;
constexpr double connect_ms = 10.3;
constexpr double step_ms = 57.4;

double wall_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

/// Time in which this thread was runnable while others ran; excludes waiting
/// for the disk.
double queued_ms() {
  std::ifstream in("/proc/thread-self/schedstat");
  double ran = 0;
  double queued = 0;
  in >> ran >> queued;
  return queued / 1e6;
}

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

ledger::manifest make_set(uint32_t chunks) {
  ledger::manifest out;
  for (uint32_t i = 0; i < chunks; ++i) {
    ledger::chunk_info chunk;
    chunk.id = chunk_id(i);
    chunk.rows = 256;
    chunk.bytes = 200'000;
    out.train_rows += chunk.rows;
    out.train.push_back(chunk);
  }
  return out;
}

set_summary summary_of(const ledger::manifest& set) {
  set_summary out;
  out.origin = "10.0.0.1:40001";
  out.train_rows = set.train_rows;
  for (const ledger::chunk_info& chunk : set.train)
    out.chunk_rows.push_back(chunk.rows);
  return out;
}

/// A coordinator with this many workers, in virtual time.
class cluster {
public:
  explicit cluster(uint32_t workers, const std::filesystem::path& folder)
      : set_(make_set(8 * workers)),
        core_({.build_id = "b", .token = std::string(32, 't')}, box_),
        journal_(store::journal::open_for_writing(folder)) {
    for (uint32_t i = 1; i <= workers; ++i)
      join("w" + std::to_string(i));
    job what;
    what.model.kind = model_kind::emulated;
    what.train.global_batch = 64 * workers;
    what.train.epochs = 100;
    what.elastic.workers = workers;
    what.elastic.max_workers = workers;
    journal_->record_run({"bench-1", 1, set_.train_rows, to_json(what)});
    handle([&] {
      (void)submit(core_, what, "bench-1", term{1}, {});
      perform(box_.take());
      tell(coordinator::data_prepared{summary_of(set_)});
    });
    run();
    at(now_, [this] { tick(); });
  }

  /// Kills one in the middle of an epoch; ms until the first step, and the
  /// coordinator's part of it.
  std::pair<double, double> lose_one() {
    const auto workers = core_.members.members()->workers;
    dead_ = workers[workers.size() / 2];
    recoveries_ = core_.run.steps.recoveries().size();
    const double begun = now_;
    busy_ = 0;
    at(begun + noticed_ms, [this] {
      handle([this] {
        tell(coordinator::connection_lost{dead_, losses::connection_closed{}});
      });
    });
    while (core_.run.steps.recoveries().size() == recoveries_ &&
           !queue_.empty())
      next();
    return {now_ - begun, busy_};
  }

private:
  instant time() const { return instant(int64_t(now_ * 1e6)); }
  void at(double when, std::function<void()> what) {
    queue_.emplace(when, std::move(what));
  }
  void next() {
    auto first = queue_.begin();
    auto what = std::move(first->second);
    now_ = std::max(now_, first->first);
    queue_.erase(first);
    what();
  }
  void run() {
    while (!queue_.empty())
      next();
  }

  /// Runs on the coordinator's single thread, after its current work.
  template <class Work>
  void handle(Work work) {
    const double begin = std::max(now_, free_);
    sent_.clear();
    const double before = cpu_ms();
    work();
    const double took = cpu_ms() - before + waited_;
    waited_ = 0;
    busy_ += took;
    free_ = begin + took;
    for (auto& [bytes, arrives] : sent_) {
      out_free_ =
          std::max(out_free_, free_) + double(bytes) / link_bytes_per_ms;
      at(out_free_ + latency_ms, std::move(arrives));
    }
    sent_.clear();
  }

  /// Serialized as the middleman does it, into a buffer of its own.
  void send(size_t head, std::initializer_list<const std::string*> parts,
            std::function<void()> arrives) {
    buffer_.assign(frame_bytes + head, 'x');
    for (const std::string* part : parts)
      buffer_ += *part;
    sent_.emplace_back(buffer_.size(), std::move(arrives));
  }

  /// From a worker to the coordinator.
  template <class Work>
  void report(double after, size_t bytes, Work work) {
    at(now_ + after + latency_ms, [this, bytes, work] {
      in_free_ = std::max(in_free_, now_) +
                 double(bytes + frame_bytes) / link_bytes_per_ms;
      at(in_free_, [this, work] { handle(work); });
    });
  }

  void join(const std::string& name) {
    worker_hello hello;
    hello.name = name;
    hello.host = "host-" + name;
    hello.build_id = "b";
    hello.memory_bytes = uint64_t{16} << 30;
    hello.metrics_address = "http://10.0.0.1:9000";
    handle([&] {
      (void)greet(core_, hello, time());
      perform(box_.take());
    });
  }

  template <class Event>
  void tell(Event what) {
    on(core_, std::move(what), time());
    perform(box_.take());
  }

  void tick() {
    handle([this] {
      size_t i = 0; // a quarter of the heartbeats each time
      for (worker_id who : core_.members.members()->workers)
        if (who != dead_ && i++ % 4 == ticks_ % 4)
          on(core_, heartbeat{who, core_.members.members()->number}, time());
      tell(coordinator::clock_tick{});
      const bool waits =
          core_.members.phase() == coordinator::run_phase::recovering;
      if (core_.nodes.all().size() <= small_world ||
          ticks_ % (waits ? 40 : 10) == 0) {
        if (std::exchange(stale_, false))
          written_ +=
              monitor::workers_json(status_of(core_, time())).dump(2).size();
        written_ += monitor::status_json(status_of(core_, time())).size();
      }
      ++ticks_;
    });
    at(now_ + tick_ms, [this] { tick(); });
  }

  void perform(const coordinator::actions& list) {
    for (const coordinator::action& one : list)
      std::visit([this](const auto& what) { perform(what); }, one);
  }
  template <class Other>
  void perform(const Other&) {}

  void perform(const balance::place_shares& what) {
    // Runs on another actor's thread; the coordinator's waits for nothing else.
    placed_shares placed = place(set_, 0.1, what);
    tell(coordinator::shares_placed{placed.what, placed.shares});
  }
  void perform(const coordinator::journal_change& action) {
    store::journaled_generation row;
    row.number = action.generation;
    for (size_t i = 0; i < action.workers.size(); ++i)
      row.workers.push_back(
          {action.workers[i], action.names[i], action.incarnations[i]});
    const double cpu = cpu_ms() + queued_ms();
    const double begun = wall_ms();
    journal_->record_change(row, action.what, action.effective, action.note);
    waited_ +=
        std::max(0.0, (wall_ms() - begun) - (cpu_ms() + queued_ms() - cpu));
  }
  void perform(const coordinator::write_event& action) {
    written_ += monitor::text_of(action.what).fields.dump().size();
  }
  void perform(const coordinator::write_workers&) {
    stale_ = core_.nodes.all().size() > small_world;
    if (!stale_)
      written_ +=
          monitor::workers_json(status_of(core_, time())).dump(2).size();
  }

  void perform(const coordinator::send_fence& action) {
    send(60, {&action.what.reason},
         [this, who = action.to, order = action.what] {
           if (who == dead_)
             return;
           final_ack ack;
           ack.worker = who;
           ack.level = order.level;
           ack.holds_state = true;
           ack.step = core_.run.steps.last().step;
           report(stop_ms, 60, [this, ack] { tell(ack); });
         });
  }
  void perform(const coordinator::send_assignment& action) {
    const assignment& order = action.what;
    send(120,
         {&order.name, &order.run, &order.job, &order.origin, &order.token,
          &order.first.bytes(), &order.cursors.bytes()},
         [this, who = action.to, gen = order.generation] {
           report(load_ms, 120, [this, who, gen] {
             tell(worker_loaded{who, gen, "10.0." + to_string(who) + ":45678",
                                "10.0." + to_string(who) + ":45679"});
           });
         });
  }
  void perform(const coordinator::send_connect& action) {
    send(60, {&action.what.addresses.bytes()},
         [this, who = action.to, gen = action.what.generation] {
           report(connect_ms, 60, [this, who, gen] {
             const auto& members = *core_.members.members();
             tell(worker_ready{who, gen, members.commits.base()});
           });
           report(connect_ms + step_ms, 150, [this, who] { steps(who); });
         });
  }
  /// The first steps of a generation.
  void steps(worker_id who) {
    const coordinator::generation_state& members = *core_.members.members();
    progress_report told;
    told.worker = who;
    told.generation = members.number;
    const ledger::ledger& book = *core_.run.steps.book();
    uint64_t last = value(members.commits.base());
    for (int i = 0; i < 3; ++i) {
      ++last;
      told.steps.push_back(
          {step_number{last},
           epoch_number{(last - 1) / book.steps_per_epoch() + 1},
           members.current.number, core_.run.spec.job.train.global_batch, 1,
           1 + last});
    }
    told.costs.push_back({64, 1000});
    tell(told);
  }

  ledger::manifest set_;
  coordinator::outbox box_;
  coordinator::coordinator_parts core_;
  std::optional<store::journal> journal_;
  std::multimap<double, std::function<void()>> queue_;
  std::vector<std::pair<size_t, std::function<void()>>> sent_;
  std::string buffer_;
  worker_id dead_{};
  size_t recoveries_ = 0;
  size_t written_ = 0;
  size_t ticks_ = 0;
  bool stale_ = false;
  double now_ = 0;
  double free_ = 0;     // when the coordinator's thread is free
  double out_free_ = 0; // when its link is free
  double in_free_ = 0;
  double busy_ = 0;
  double waited_ = 0; // for the disk
};

double part(std::vector<double>& of, double which) {
  std::sort(of.begin(), of.end());
  return of[std::min(of.size() - 1, size_t(double(of.size()) * which))];
}

struct world_result {
  double p50, p99, cpu;
};

world_result measure(uint32_t workers, int rounds) {
  std::vector<double> ms;
  std::vector<double> cpu;
  for (int i = 0; i < rounds; ++i) {
    const auto folder = std::filesystem::temp_directory_path() /
                        ("ballast-change-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    {
      cluster all(workers, folder);
      auto [took, busy] = all.lose_one();
      ms.push_back(took);
      cpu.push_back(busy);
    }
    std::filesystem::remove_all(folder);
  }
  return {part(ms, 0.5), part(ms, 0.99), part(cpu, 0.5)};
}

} // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 30;
  std::vector<uint32_t> worlds;
  for (int i = 2; i < argc; ++i)
    worlds.push_back(uint32_t(std::atoi(argv[i])));
  if (worlds.empty())
    worlds = {4, 64, 256, 1024};
  if (rounds < 1 || *std::min_element(worlds.begin(), worlds.end()) < 2) {
    std::fprintf(stderr, "usage: membership_change [ROUNDS] [WORKERS ...]\n");
    return 2;
  }
  double least = 0;
  for (uint32_t workers : worlds) {
    const world_result got = measure(workers, rounds);
    least = least == 0 ? got.p99 : least;
    std::printf("{\"workers\": %u, \"rounds\": %d, \"p50_ms\": %.1f, "
                "\"p99_ms\": %.1f, \"coordinator_ms\": %.2f, "
                "\"p99_ratio\": %.2f}\n",
                workers, rounds, got.p50, got.p99, got.cpu, got.p99 / least);
    std::fflush(stdout);
  }
}
