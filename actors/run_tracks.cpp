#include "actors/run_tracks.hpp"

#include "store/clock.hpp"

#include <utility>

namespace ballast::actors {

namespace {

double wall_s_of(int64_t t_ns) {
  return double(store::wall_ns_of(t_ns)) / 1e9;
}

} // namespace

void run_tracks::found(const coordinator::past_run& past) {
  wanted_ = past.what.track;
  files_.reset();
  steps_.clear();
  evaluations_.clear();
  if (wanted_.empty())
    return;
  steps_ = past.steps;
  each_past_evaluation(past, [this](int64_t t_ns, auto what) {
    evaluations_.push_back({t_ns, std::move(what)});
  });
}

bool run_tracks::ready() {
  if (wanted_.empty())
    return false;
  if (files_)
    return true;
  files_.emplace(folder_, wanted_, tell_);
  files_->committed(std::exchange(steps_, {}));
  for (const evaluation& one : std::exchange(evaluations_, {}))
    files_->evaluated(wall_s_of(one.t_ns), one.what);
  return true;
}

void run_tracks::committed(std::span<const ledger::committed_step> steps) {
  if (ready())
    files_->committed(steps);
}

void run_tracks::happened(const coordinator::run_event& what) {
  if (const auto* found = std::get_if<coordinator::events::evaluated>(&what))
    if (ready())
      files_->evaluated(wall_s_of(store::monotonic_ns()), *found);
}

} // namespace ballast::actors
