/// What rows of the test part add up to, as the layout of the job's metrics
/// says. A model tells each row that it has evaluated; the executor takes the
/// part of some rows out at a time, so that the sums of all are made in one
/// order whichever worker and thread evaluated what.
///
/// Used by one thread at a time. A pure value.
#pragma once

#include "runtime/metrics/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ballast::metrics {

/// What must be merged in one order.
struct ordered_part {
  std::vector<double> reals;
  std::vector<double> ranked; // of each row, in order
};

/// `to` followed by `rows`. Both are `reals` of the layout, which may be empty
/// in `to`: of no rows.
void merge_reals(const layout& of, std::span<double> to,
                 std::span<const double> rows);

class tally {
public:
  tally() : tally(std::make_shared<const layout>()) {}
  explicit tally(std::shared_ptr<const layout> of);

  const layout& of() const { return *of_; }
  const std::shared_ptr<const layout>& shared() const { return of_; }
  /// Nothing is added up: rows need not be told.
  bool empty() const { return of_->reals == 0; }

  // -- one row -------------------------------------------------------------
  /// Of task classes: the outputs of all classes before the softmax.
  void add_scores(size_t label, std::span<const float> outputs);
  /// Of two classes: the log odds of class 1.
  void add_log_odds(size_t label, float odds);
  /// Of task number.
  void add_number(double target, double output);

  /// What was added since the last time.
  ordered_part take_part();
  /// Adds rows that another tally of this layout was told.
  void append(const ordered_part& rows);
  void add_counts(std::span<const uint64_t> counts);
  /// Counts in the histograms of this layout what another one has ranked of the
  /// same metrics: that of more rows than were expected.
  void sketch_ranked(std::span<const double> rows);
  const std::vector<uint64_t>& counts() const { return counts_; }
  void clear_counts();

private:
  /// `log_loss`: of the label.
  void add_probabilities(size_t label, size_t likeliest, double log_loss);
  void count_class(size_t label, size_t likeliest);
  void count_top(size_t label, std::span<const float> outputs);
  void rank(size_t label);
  void sketch(size_t label, std::span<const double> scores);
  double& real(block of, size_t i = 0) { return part_.reals[of.at + i]; }
  uint64_t& count(block of, size_t i = 0) { return counts_[of.at + i]; }

  std::shared_ptr<const layout> of_;
  std::vector<uint64_t> counts_;
  ordered_part part_;
  std::vector<double> probabilities_; // of the row
};

} // namespace ballast::metrics
