#include "bench/policies/timeline.hpp"

#include "runtime/balance/median.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <numeric>

namespace ballast::policies {
namespace {

constexpr size_t speeds_remembered = 5;

balance::label_counts times(const balance::label_counts& counts,
                            uint64_t factor) {
  balance::label_counts out = counts;
  for (uint64_t& cell : out.rows)
    cell *= factor;
  return out;
}

struct load_report {
  uint64_t tick = 0;
  balance::label_counts held;
  std::vector<double> speeds; // since the report before
};

/// Parts in proportion to every worker's measured speed.
std::vector<double> parts_by_speed(const std::vector<load_report>& reports,
                                   size_t visible) {
  size_t workers = reports[visible].speeds.size();
  size_t first =
      visible + 1 > speeds_remembered ? visible + 1 - speeds_remembered : 0;
  std::vector<double> out;
  for (size_t worker = 0; worker < workers; ++worker) {
    std::vector<double> seen;
    for (size_t i = first; i <= visible; ++i)
      seen.push_back(reports[i].speeds[worker]);
    out.push_back(balance::median(seen));
  }
  double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& part : out)
    part /= sum;
  return out;
}

uint32_t overlap(const ledger::interval& a, const ledger::interval& b) {
  uint32_t begin = std::max(a.begin, b.begin);
  uint32_t end = std::min(a.end, b.end);
  return end > begin ? end - begin : 0;
}

} // namespace

// -- what moved ---------------------------------------------------------------

void move_history::add(const ledger::interval& what, uint32_t from,
                       uint32_t to) {
  std::vector<one_move>& before = of_chunk_[what.chunk];
  uint32_t again = 0;
  uint32_t back = 0;
  for (const one_move& earlier : before) {
    again = std::max(again, overlap(earlier.what, what));
    if (earlier.from == to)
      back = std::max(back, overlap(earlier.what, what));
  }
  moved_ += rows(what);
  twice_ += again;
  back_ += back;
  before.push_back({what, from});
}

void move_history::note_report(bool balanced) {
  balanced_.push_back(balanced);
}

story move_history::told(const balance::label_counts& last) const {
  story out;
  out.rounds = rounds_;
  out.moved = moved_;
  out.twice = twice_;
  out.back = back_;
  uint64_t needed = 0;
  for (size_t cell = 0; cell < last.rows.size(); ++cell)
    needed += std::max(last.rows[cell], first_.rows[cell]) - first_.rows[cell];
  out.redundant = moved_ - std::min(moved_, needed);
  auto first = std::find(balanced_.begin(), balanced_.end(), true);
  if (first != balanced_.end()) {
    out.balanced_after = uint64_t(first - balanced_.begin());
    out.balanced_part = double(std::count(first, balanced_.end(), true)) /
                        double(balanced_.end() - first);
  }
  return out;
}

// -- the world ----------------------------------------------------------------

balance::label_counts world_parts::chunks() const {
  balance::label_counts out(what_.workers, what_.classes);
  uint32_t total = what_.classes * what_.chunks_per_class;
  for (uint32_t i = 0; i < total; ++i)
    ++out.at(what_.sorted ? size_t(i) * what_.workers / total
                          : i % what_.workers,
             i / what_.chunks_per_class);
  return out;
}

std::vector<double> world_parts::equal_parts() const {
  return std::vector<double>(what_.workers, 1.0 / what_.workers);
}

double world_parts::speed(uint32_t worker, uint64_t report) const {
  double out = 1;
  if (what_.wave_reports > 0 && worker == 1 &&
      report / what_.wave_reports % 2 == 1)
    out /= what_.slow_factor;
  if (what_.noise > 0) {
    counter_random random(what_.seed, mix(0x6e6f697365, worker));
    double normal = -6; // approximate: twelve uniform numbers
    for (uint64_t i = 0; i < 12; ++i)
      normal += random.unit(12 * report + i);
    out *= std::max(0.1, 1 + what_.noise * normal);
  }
  return out;
}

uint64_t world_parts::ticks_of_move(uint32_t unit) const {
  return 1 + counter_random(what_.seed, 0x6d6f7665)
                 .below(what_.ticks_per_move_max, unit);
}

story play(policy& who, const scenario& what, const band& wanted) {
  const world_parts world(what);
  balance::label_counts first = world.chunks();
  unit_places places(first);
  band_tracker truth(wanted, first, world.equal_parts());
  move_history history(times(first, what.chunk_rows));
  std::vector<load_report> reports;
  std::vector<unit_move> in_flight;
  std::vector<uint64_t> lands_at; // of in_flight

  for (uint64_t tick = 0; tick < uint64_t{what.reports} * what.ticks_per_report;
       ++tick) {
    for (size_t i = in_flight.size(); i-- > 0;)
      if (lands_at[i] <= tick) {
        const unit_move one = in_flight[i];
        in_flight.erase(in_flight.begin() + ptrdiff_t(i));
        lands_at.erase(lands_at.begin() + ptrdiff_t(i));
        places.move(one.unit, one.to);
        truth.move(places.label(one.unit), one.from, one.to);
        history.add({chunk_id(one.unit), 0, what.chunk_rows}, one.from, one.to);
      }
    if (tick % what.ticks_per_report == 0) {
      load_report now{tick, places.counts(), {}};
      for (uint32_t worker = 0; worker < what.workers; ++worker)
        now.speeds.push_back(world.speed(worker, reports.size()));
      reports.push_back(std::move(now));
      history.note_report(truth.balanced());
    }
    if (reports.size() <= what.reports_late)
      continue;
    size_t visible = reports.size() - 1 - what.reports_late;
    const load_report& seen = reports[visible];
    std::vector<double> parts = parts_by_speed(reports, visible);
    if (band_tracker(wanted, seen.held, parts).balanced())
      continue;
    std::vector<unit_move> list =
        who.tick({seen.held, parts, places, in_flight, tick, seen.tick});
    for (const unit_move& one : list) {
      in_flight.push_back(one);
      lands_at.push_back(tick + world.ticks_of_move(one.unit));
    }
    if (!list.empty())
      history.note_round();
  }
  return history.told(times(places.counts(), what.chunk_rows));
}

std::vector<scenario> scenarios() {
  std::vector<scenario> out;
  out.push_back({.name = "all at once"});
  for (uint32_t late : {1, 3, 5})
    out.push_back({.name = "reports " + std::to_string(late) + " late",
                   .reports_late = late});
  out.push_back({.name = "4 ticks a report", .ticks_per_report = 4});
  out.push_back(
      {.name = "64 ticks a report", .ticks_per_report = 64, .reports = 60});
  out.push_back(
      {.name = "moves of 1-8 ticks", .ticks_per_move_max = 8, .reports = 2000});
  out.push_back(
      {.name = "noise 10 %", .sorted = false, .noise = 0.1, .reports = 2000});
  out.push_back({.name = "square wave",
                 .sorted = false,
                 .wave_reports = 2,
                 .reports = 400});
  return out;
}

} // namespace ballast::policies
