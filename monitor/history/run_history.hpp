/// How a run went, as the page and GET /v1/series show it: loss, speed, world,
/// what the test part came to, skew, and of each worker its speed and batch.
/// Bounded memory whatever the length of the run (bounded_series.hpp). Fed by
/// the coordinator; every method from any thread.
#pragma once

#include "monitor/history/bounded_series.hpp"
#include "runtime/coordinator/run_event.hpp"
#include "runtime/coordinator/run_status.hpp"
#include "runtime/ledger/commit.hpp"

#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace ballast::monitor {

/// What GET /v1/series asks for.
struct series_query {
  std::vector<std::string> names;
  int64_t from_ns = 0; // CLOCK_MONOTONIC
  size_t points_max = 500;
};

class run_history {
public:
  static constexpr size_t cells_max = 2048; // of a series of the run
  static constexpr size_t worker_cells_max = 512;
  static constexpr size_t series_max = 2048; // later ones are not kept

  void committed(std::span<const ledger::committed_step> steps);
  void evaluated(int64_t t_ns, const coordinator::events::evaluated& what);
  /// Steps after that one do not count any more.
  void undone(step_number to);
  /// Numbers that no step tells; about once a second.
  void status(const coordinator::run_status& now);

  std::vector<std::string> names() const; // ascending
  /// {"series": {NAME: {"t_s": [..], "step": [..], "mean": [..], "least": [..],
  /// "most": [..]}}}: of cells, with the time at which each ends. Of a name
  /// that is not known there are none: it may come yet.
  nlohmann::json to_json(const series_query& what) const;

private:
  struct speed {
    int64_t since_ns = 0; // 0: before the first step
    uint64_t samples = 0;
  };

  void add(const std::string& name, int64_t t_ns, step_number step,
           double number, size_t cells = cells_max);
  void measure_speed(const ledger::committed_step& step);

  mutable std::mutex mutex_;
  std::map<std::string, bounded_series> series_;
  speed speed_;
};

} // namespace ballast::monitor
