/// The rules by which evaluations are judged, of one job: `stop` and `keep`.
/// Pure; judgement.hpp says who judges.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/messages/evaluation_report.hpp"
#include "runtime/messages/judgement.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace ballast {

class judge {
public:
  explicit judge(const job& of);

  bool judges() const { return stop_.active || keep_.active; }
  bool keeps() const { return keep_.active; }
  /// An evaluation may end the run before its last epoch.
  bool ends() const { return patience_ || target_; }
  /// Takes in each once, ascending. True: it is the best so far. NaN, and what
  /// was not computed, is never better.
  bool hear(judgement& so_far, const evaluation_report& found) const;
  /// Why the run is over with the newest evaluation; empty: it goes on.
  std::string over(const judgement& so_far) const;
  /// Of what is kept, or else of what ends the run.
  const best_so_far& best(const judgement& so_far) const {
    return keep_.active ? so_far.keep : so_far.stop;
  }
  const std::string& metric() const {
    return keep_.active ? keep_.name : stop_.name;
  }

private:
  std::string place(epoch_number epoch, step_number step) const;

  struct measure {
    bool active = false;
    std::string name;
    bool low = false; // is good
    double of(const evaluation_report& found) const;
    bool better(double now, double before, double by = 0) const;
  };

  measure stop_;
  measure keep_;
  std::optional<uint64_t> patience_;
  double min_delta_ = 0;
  std::optional<double> target_;
  bool by_steps_ = false; // evaluate.every
};

} // namespace ballast
