/// Where the numbers lie that the metrics of a job are computed from, so that
/// workers can add them up without knowing what they mean. There are three
/// kinds:
///
///   counts   whole numbers: added in any order, the sum has the same bits
///   reals    sums of other numbers: merged in one fixed order (tally.hpp)
///   ranked   numbers of each row, side by side in the order of the rows; for
///            metrics that need the rows sorted
///
/// `ranked` has a limit. Beyond it those metrics are computed of histograms,
/// which are counts, and tell how far they may be off. Pure value.
#pragma once

#include "runtime/metrics/metric_catalogue.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::metrics {

/// Numbers of all rows together that are kept to be sorted: 8 MiB.
constexpr uint64_t ranked_max = uint64_t{1} << 20;
/// Cells of all histograms of scores.
constexpr uint64_t sketch_cells_max = uint64_t{1} << 19;
/// More classes have no matrix, and no list by class: it would be part of
/// every result that a worker tells.
constexpr uint32_t matrix_classes_max = 64;
constexpr uint32_t listed_classes_max = 1024;
/// Bins of ece.
constexpr size_t calibration_bins = 15;

/// A run of numbers in a list.
struct block {
  size_t at = 0;
  size_t size = 0;
  explicit operator bool() const { return size > 0; }
};

struct layout {
  task fits{};
  uint32_t classes = 0;
  std::vector<metric> wanted; // in the order of the job

  // -- counts
  block hits; // by class: rows whose label and likeliest class it is
  block predicted;
  block actual;
  block within; // by entry of `top`: rows whose label is among the likeliest
  block matrix; // classes x classes
  block bin_rows;
  block bin_hits;
  block sketch; // by column: histogram of the other rows, then of its own
  size_t counts = 0;

  // -- reals; the first is the number of rows
  block log_loss;
  block brier;
  block bin_confidence;
  block errors;  // sum, and sum of squares
  block targets; // mean, and squared deviations from it
  size_t reals = 0;

  // -- ranked, of each row: the label, and a score for each column; or its
  // absolute error alone
  size_t ranked = 0;

  std::vector<uint32_t> top;
  /// Classes with a score, the last ones: class 1 of two, unless both are
  /// listed; all of more. 0: no ranking is wanted.
  uint32_t columns = 0;
  /// Of a histogram: bins, and how many of them a factor of 2 has, as a power
  /// of 2.
  size_t sketch_bins = 0;
  uint32_t sketch_bits = 0;

  bool wants(metric one) const;
  /// Something is computed of probabilities, beside the likeliest.
  bool of_probabilities() const {
    return log_loss || brier || bin_rows || columns > 0;
  }
};

/// `rows`: of the test part, by which it is decided what is sorted and what is
/// counted. Precondition: the metrics fit the task (misfit()).
layout lay_out(task what, uint32_t classes, std::span<const metric> wanted,
               uint64_t rows);

/// Why this metric cannot be computed of a label with so many classes, or
/// nothing. The task fits.
std::string misfit(metric one, uint32_t classes);

} // namespace ballast::metrics
