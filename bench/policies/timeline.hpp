/// Placements in virtual time: late reports, ticks that are faster than
/// reports, moves that take time, speeds that are noisy or oscillate. The same
/// world for the other balancers and for ours, which is the real `balancer` and
/// sees the same reports as load views.
///
/// A report is the state of all workers at one moment: their holdings, and
/// their speeds since the one before. With `reports_late` it becomes visible
/// only after that many further reports. The others get parts by the median of
/// each worker's last five speeds, and are called only while the newest report
/// they see is outside the band: neither is in their sources, both favour them.
///
/// Ours sees a report as one load view, ten steps each. Like the coordinator,
/// the world refuses a proposal while another one is under way, or if it was
/// made for a plan that is no longer in force: with late reports such proposals
/// occur.
#pragma once

#include "bench/policies/band.hpp"
#include "bench/policies/policy.hpp"
#include "runtime/ledger/plan.hpp"

#include <map>

namespace ballast::policies {

struct scenario {
  std::string name;
  bool sorted = true; // at first, by label; otherwise dealt evenly
  uint32_t ticks_per_report = 1;
  uint32_t reports_late = 0;
  uint32_t ticks_per_move_max = 1; // from 1 to this many, by its unit
  double noise = 0;                // of a speed, constant within a report
  uint32_t wave_reports = 0;       // one is slow for this many, then not, ...
  double slow_factor = 4;
  uint32_t reports = 600;
  uint64_t seed = 1;

  uint32_t workers = 8;
  uint32_t classes = 10;
  uint32_t chunks_per_class = 384;
  uint32_t chunk_rows = 16;
};

struct story {
  uint64_t rounds = 0;    // ticks at which a move began
  uint64_t moved = 0;     // rows
  uint64_t twice = 0;     // of these, rows that had moved before
  uint64_t back = 0;      // of these, rows that returned to an earlier owner
  uint64_t redundant = 0; // moved beyond the difference between the first and
                          // the last placement
  /// By the parts of equal speeds, whatever waves and noise do.
  uint64_t balanced_after = UINT64_MAX; // reports; never
  double balanced_part = 0;             // of the reports from then on
};

story play(policy& who, const scenario& what, const band& wanted);

/// The same with our balancer.
story play_ours(const scenario& what, const band& wanted);

/// The scenarios of the benchmark.
std::vector<scenario> scenarios();

/// All moves so far, and whether a unit had moved before.
class move_history {
public:
  explicit move_history(const balance::label_counts& first) : first_(first) {}
  void add(const ledger::interval& what, uint32_t from, uint32_t to);
  void note_report(bool balanced);
  void note_round() { ++rounds_; }
  /// `last`: the workers' final holdings, in rows.
  story told(const balance::label_counts& last) const;

private:
  struct one_move {
    ledger::interval what;
    uint32_t from = 0;
  };
  balance::label_counts first_; // rows
  std::map<chunk_id, std::vector<one_move>> of_chunk_;
  uint64_t rounds_ = 0;
  uint64_t moved_ = 0;
  uint64_t twice_ = 0;
  uint64_t back_ = 0;
  std::vector<bool> balanced_; // by report
};

/// The initial state of both worlds, and the speeds of their workers.
class world_parts {
public:
  explicit world_parts(const scenario& what) : what_(what) {}
  balance::label_counts chunks() const; // held at first
  std::vector<double> equal_parts() const;
  double speed(uint32_t worker, uint64_t report) const; // 1 = the initial speed
  uint64_t ticks_of_move(uint32_t unit) const;

private:
  scenario what_;
};

} // namespace ballast::policies
