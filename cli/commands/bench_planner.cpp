// `ballast bench planner`: how long the planner takes, on one core, and how
// close its answers are to the bound. Repeats every cell for some time and
// reports the median. Uses the same requests on every machine.
#include "cli/commands/bench_planner.hpp"

#include "runtime/balance/balancer.hpp"
#include "runtime/balance/batch_split.hpp"
#include "runtime/balance/shard_moves.hpp"
#include "runtime/base/random.hpp"
#include "runtime/placement/placement.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ballast::cli {
namespace {

const char* const usage_text =
    "usage: ballast bench planner [--seconds S] [--csv]\n";

struct planner_options {
  double seconds = 1; // for each cell
  bool csv = false;
};

struct request_kind {
  placement_kind placement;
  uint32_t workers;
  uint32_t classes;
  uint64_t rows_per_worker;
  size_t chunk_rows = 256;
};

const request_kind kinds[] = {{placement_kind::dirichlet, 4, 10, 15'000},
                              {placement_kind::sorted, 4, 10, 15'000},
                              {placement_kind::dirichlet, 16, 100, 10'000},
                              {placement_kind::sorted, 16, 100, 10'000},
                              {placement_kind::dirichlet, 64, 1000, 20'000},
                              {placement_kind::sorted, 64, 1000, 20'000},
                              {placement_kind::dirichlet, 1024, 100, 1'000},
                              {placement_kind::sorted, 1024, 100, 1'000}};
constexpr size_t exact_cells_max = 64'000;
constexpr double alpha = 0.3;
constexpr double skew_tv = 0.05;
constexpr uint64_t seed = 1;
constexpr size_t split_workers = 512;
constexpr uint64_t split_rows = 65'536;
/// More classes, workers or chunks than most: what a look at them costs.
const request_kind large_kinds[] = {
    {placement_kind::sorted, 8, 1000, 2'500},
    {placement_kind::dirichlet, 8, 1000, 2'500},
    {placement_kind::sorted, 4, 4096, 5'000},
    {placement_kind::dirichlet, 32, 10, 2'500, 25},
    {placement_kind::dirichlet, 64, 1000, 4'000},
    {placement_kind::dirichlet, 8, 10, 250'000, 10}};

// -- what is asked ------------------------------------------------------------

/// Row numbers by worker; row r is of class r * classes / rows.
std::vector<std::vector<uint64_t>> place(const request_kind& kind) {
  uint64_t rows = kind.rows_per_worker * kind.workers;
  std::vector<int32_t> labels(rows);
  for (uint64_t r = 0; r < rows; ++r)
    labels[r] = int32_t(r * kind.classes / rows);
  placement_spec spec;
  spec.kind = kind.placement;
  spec.alpha = alpha;
  return placement::place_rows(spec, {rows, labels, kind.classes}, kind.workers,
                               seed);
}

/// A set with its first placement, in chunks.
ledger::manifest chunked(const request_kind& kind) {
  uint64_t rows = kind.rows_per_worker * kind.workers;
  ledger::manifest set;
  set.row.classes = kind.classes;
  set.train_rows = rows;
  for (const std::vector<uint64_t>& list : place(kind)) {
    set.placement.emplace_back();
    for (size_t i = 0; i < list.size(); i += kind.chunk_rows) {
      ledger::chunk_info chunk;
      chunk.id = chunk_id(uint32_t(set.train.size()));
      chunk.rows = uint32_t(std::min(kind.chunk_rows, list.size() - i));
      chunk.bytes = chunk.rows * 788;
      chunk.label_histogram.resize(kind.classes);
      for (size_t k = i; k < i + chunk.rows; ++k)
        ++chunk.label_histogram[list[k] * kind.classes / rows];
      set.placement.back().push_back(chunk.id);
      set.train.push_back(std::move(chunk));
    }
  }
  return set;
}

ledger::plan first_plan_of(const ledger::manifest& set) {
  std::vector<worker_id> workers;
  for (size_t w = 0; w < set.placement.size(); ++w)
    workers.push_back(worker_id(uint32_t(w + 1)));
  return first_plan(set, workers, generation{1}, plan_number{1});
}

/// Every second worker is twice as fast.
balance::quota_request request_of(const balance::label_counts& held) {
  balance::quota_request out;
  out.held = held;
  std::vector<double> speeds;
  for (size_t w = 0; w < held.workers; ++w)
    speeds.push_back(w % 2 ? 2 : 1);
  out.sizes = placement::split_by_shares(held.total(), speeds);
  out.skew_tv = skew_tv;
  return out;
}

std::vector<balance::step_cost> some_costs() {
  counter_random random(seed, 0);
  std::vector<balance::step_cost> out;
  for (uint64_t i = 0; out.size() < split_workers; i += 3)
    out.push_back({1e-3 + 0.01 * random.unit(i),
                   1e-5 + 1e-4 * random.unit(i + 1),
                   32 + random.below(256, i + 2), 1e-3});
  return out;
}

// -- how long it takes
// ----------------------------------------------------------

struct timing {
  size_t rounds = 0;
  double median_ms = 0;
  double max_ms = 0;
};

timing measure(double seconds, const std::function<void()>& what) {
  using clock = std::chrono::steady_clock;
  std::vector<double> ms;
  auto end = clock::now() + std::chrono::duration<double>(seconds);
  do {
    auto begin = clock::now();
    what();
    ms.push_back(std::chrono::duration<double, std::milli>(clock::now() - begin)
                     .count());
  } while (clock::now() < end || ms.size() < 3);
  std::sort(ms.begin(), ms.end());
  return {ms.size(), ms[ms.size() / 2], ms.back()};
}

struct row { // of the output
  std::string part;
  size_t workers = 0;
  size_t classes = 0;
  timing time = {};
  double moved = 0; // rows
  double bound = 0;
};

void print_csv(const row& r, const std::string& placement) {
  std::printf("%s,%s,%zu,%zu,%zu,%.4f,%.4f,%.0f,%.0f\n", r.part.c_str(),
              placement.c_str(), r.workers, r.classes, r.time.rounds,
              r.time.median_ms, r.time.max_ms, r.moved, r.bound);
  std::fflush(stdout);
}

double gap_percent(double moved, double bound) {
  return bound > 0 ? 100 * (moved - bound) / bound : 0;
}

void quotas(const request_kind& kind, const planner_options& options) {
  balance::quota_request what;
  {
    ledger::manifest set = chunked(kind);
    what = request_of(balance::count_labels(set, first_plan_of(set)));
  }
  balance::quota fast, exact;
  row fast_row{"fast_quota", kind.workers, kind.classes};
  fast_row.time = measure(options.seconds, [&] { fast = fast_quota(what); });
  fast_row.moved = double(fast.moved);
  fast_row.bound = double(fast.bound);
  bool solve = size_t{kind.workers} * kind.classes <= exact_cells_max;
  row exact_row{"exact_quota", kind.workers, kind.classes};
  if (solve) {
    exact_row.time =
        measure(options.seconds, [&] { exact = exact_quota(what); });
    exact_row.moved = double(exact.moved);
    exact_row.bound = double(exact.bound);
  }
  if (options.csv) {
    print_csv(fast_row, to_string(kind.placement));
    if (solve)
      print_csv(exact_row, to_string(kind.placement));
    return;
  }
  std::string exact_ms = "-";
  if (solve) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", exact_row.time.median_ms);
    exact_ms = text;
  }
  std::printf("%-10s %7u %7u %9.2f %9s %9llu %9llu %6.2f%s\n",
              to_string(kind.placement).c_str(), kind.workers, kind.classes,
              fast_row.time.median_ms, exact_ms.c_str(),
              static_cast<unsigned long long>(fast.moved),
              static_cast<unsigned long long>(fast.bound),
              gap_percent(fast_row.moved, fast_row.bound),
              fast.exact ? "  the minimum" : "");
  std::fflush(stdout);
}

void chunks(const request_kind& kind, const planner_options& options) {
  ledger::manifest set = chunked(kind);
  ledger::plan now = first_plan_of(set);
  balance::quota wanted =
      best_quota(request_of(balance::count_labels(set, now)));
  balance::move_request what;
  what.set = &set;
  what.current = &now;
  what.target = wanted.target;
  balance::move_list list;
  row r{"choose_moves", kind.workers, kind.classes};
  r.time = measure(options.seconds, [&] { list = choose_moves(what); });
  r.moved = double(list.rows);
  r.bound = double(wanted.bound);
  if (options.csv)
    print_csv(r, to_string(kind.placement));
  else
    std::printf("whole chunks: %zu of %s, %u workers, %u classes: %.1f ms, "
                "%zu moves\n",
                set.train.size(), to_string(kind.placement).c_str(),
                kind.workers, kind.classes, r.time.median_ms,
                list.moves.size());
  std::fflush(stdout);
}

/// Of a run whose workers are equal and measured.
balance::load_view view_of(const ledger::plan& now) {
  balance::load_view out;
  out.generation = now.generation;
  out.number = now.number;
  out.changed = now;
  out.now_ms = 1000;
  out.steps_per_epoch = out.steps_left_in_epoch = 1000;
  out.steps_left = 100'000;
  out.step_us = {50'000, 50'000, 50'000};
  for (const ledger::share& one : now.shares) {
    balance::worker_load load;
    load.worker = one.worker;
    load.rows_left = rows(one);
    load.costs.assign(3, {32, 3'200'000});
    out.workers.push_back(std::move(load));
  }
  return out;
}

void first_look(const request_kind& kind, const planner_options& options) {
  const auto set = std::make_shared<const ledger::manifest>(chunked(kind));
  const ledger::plan now = first_plan_of(*set);
  const balance::load_view view = view_of(now);
  balance::balance_answer answer;
  row r{"first_look", kind.workers, kind.classes};
  r.time = measure(options.seconds, [&] {
    balance::balancer planner(
        {.global_batch = 32 * kind.workers, .skew_tv = skew_tv}, set);
    answer = planner.observe(view);
  });
  r.moved = double(answer.proposal.moved_rows);
  r.bound = double(answer.proposal.bound_rows);
  if (options.csv)
    print_csv(r, to_string(kind.placement));
  else
    std::printf(
        "first look:   %zu chunks, %s, %u workers, %u classes: %.0f ms, "
        "%s\n",
        set->train.size(), to_string(kind.placement).c_str(), kind.workers,
        kind.classes, r.time.median_ms, to_string(answer.state.code).c_str());
  std::fflush(stdout);
}

void split(const planner_options& options) {
  std::vector<balance::step_cost> costs = some_costs();
  balance::batch_split found;
  row r{"batch_split", split_workers, 0};
  r.time = measure(options.seconds,
                   [&] { found = split_by_cost(split_rows, costs); });
  if (options.csv)
    print_csv(r, "");
  else
    std::printf("batch split:  %llu rows to %zu workers: %.3f ms, %.2f %% "
                "above the bound of fractions\n",
                static_cast<unsigned long long>(split_rows), split_workers,
                r.time.median_ms, gap_percent(found.makespan_s, found.bound_s));
  std::fflush(stdout);
}

// -- command
// --------------------------------------------------------------------

/// Returns the mistake in the options, or nothing.
std::string read_options(int argc, char** argv, planner_options& out) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--csv") == 0) {
      out.csv = true;
    } else if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      const char* text = argv[++i];
      const char* end = text + std::strlen(text);
      auto [rest, error] = std::from_chars(text, end, out.seconds);
      if (error != std::errc{} || rest != end || !(out.seconds >= 0.01) ||
          out.seconds > 3600)
        return std::string("--seconds: '") + text +
               "' is no number from 0.01 to 3600";
    } else {
      return std::string("'") + argv[i] + "' is unknown or needs a value";
    }
  }
  return "";
}

} // namespace

int bench_planner(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--help") == 0 ||
        std::strcmp(argv[i], "-h") == 0) {
      std::printf("%s", usage_text);
      return 0;
    }
  planner_options options;
  if (std::string wrong = read_options(argc, argv, options); !wrong.empty()) {
    std::fprintf(stderr, "ballast: bench planner: %s; %s", wrong.c_str(),
                 usage_text);
    return 2;
  }
  if (options.csv)
    std::printf("part,placement,workers,classes,rounds,median_ms,max_ms,moved,"
                "bound\n");
  else
    std::printf("%-10s %7s %7s %9s %9s %9s %9s %6s\n", "rows", "workers",
                "classes", "fast ms", "exact ms", "moved", "bound", "gap %");
  for (const request_kind& kind : kinds)
    quotas(kind, options);
  chunks({placement_kind::dirichlet, 64, 1000, 20'000}, options);
  chunks({placement_kind::sorted, 4, 10, 15'000}, options);
  for (const request_kind& kind : large_kinds)
    first_look(kind, options);
  split(options);
  return 0;
}

} // namespace ballast::cli
