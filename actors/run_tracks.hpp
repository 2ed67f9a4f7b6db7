/// The files of a run for trackers (monitor/track/tracks.hpp) over the lives of
/// its coordinator: each life writes them anew once its first step is
/// committed. A part of run_record; the coordinator's thread.
#pragma once

#include "monitor/track/tracks.hpp"
#include "runtime/coordinator/past_run.hpp"
#include "runtime/coordinator/run_event.hpp"
#include "runtime/ledger/commit.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::actors {

class run_tracks {
public:
  run_tracks(const std::filesystem::path& run, monitor::tracks::teller tell)
      : folder_(run / "track"), tell_(std::move(tell)) {}

  /// A new run.
  void begin(const std::vector<std::string>& wanted) { wanted_ = wanted; }
  /// What is there of a run that is gone on with, or went back.
  void found(const coordinator::past_run& past);
  bool wants_any() const { return !wanted_.empty(); }

  void committed(std::span<const ledger::committed_step> steps);
  void happened(const coordinator::run_event& what);

private:
  struct evaluation {
    int64_t t_ns = 0;
    coordinator::events::evaluated what;
  };
  bool ready();

  std::filesystem::path folder_;
  monitor::tracks::teller tell_;
  std::vector<std::string> wanted_;
  std::vector<ledger::committed_step> steps_; // to be written first
  std::vector<evaluation> evaluations_;       // likewise
  std::optional<monitor::tracks> files_;
};

/// The evaluations of a run as events, each at the time of its step.
template <class Use>
void each_past_evaluation(const coordinator::past_run& past, const Use& use) {
  const bool classes = is_of_classes(past.what.train.loss);
  auto step = past.steps.begin();
  for (const evaluation_report& one : past.evaluations) {
    while (step != past.steps.end() && step->step < one.step)
      ++step;
    if (step == past.steps.end())
      return;
    use(int64_t(step->t_ns),
        coordinator::events::evaluated{
            .epoch = one.epoch,
            .step = one.step,
            .loss = one.loss,
            .rows = one.rows,
            .accuracy = classes ? std::optional(one.accuracy) : std::nullopt,
            .values = one.values});
  }
}

} // namespace ballast::actors
