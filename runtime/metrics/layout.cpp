#include "runtime/metrics/layout.hpp"

#include "runtime/metrics/score_sketch.hpp"

#include <algorithm>

namespace ballast::metrics {

namespace {

bool wants_any(const layout& of, std::initializer_list<metric> some) {
  return std::any_of(some.begin(), some.end(),
                     [&of](metric one) { return of.wants(one); });
}

block take(size_t& total, size_t size) {
  block out{total, size};
  total += size;
  return out;
}

void lay_out_ranks(layout& out, uint64_t rows) {
  const bool errors = out.fits == task::number;
  const bool wanted =
      errors ? wants_any(out, {metric::abs_error_p50, metric::abs_error_p90,
                               metric::abs_error_p99})
             : wants_any(out, {metric::roc_auc, metric::roc_auc_per_class,
                               metric::average_precision,
                               metric::average_precision_per_class});
  if (!wanted)
    return;
  const bool listed = wants_any(
      out, {metric::roc_auc_per_class, metric::average_precision_per_class});
  if (!errors)
    out.columns = out.classes == 2 && !listed ? 1 : out.classes;
  const size_t each = errors ? 1 : 1 + out.columns;
  if (rows <= ranked_max / each) {
    out.ranked = each;
    return;
  }
  const size_t histograms = errors ? 1 : 2 * size_t(out.columns);
  out.sketch_bits = sketch_bits_max;
  const auto bins = [&] {
    return errors ? error_bins(out.sketch_bits)
                  : probability_bins(out.sketch_bits);
  };
  while (out.sketch_bits > 0 && bins() * histograms > sketch_cells_max)
    --out.sketch_bits;
  out.sketch_bins = bins();
  out.sketch = take(out.counts, out.sketch_bins * histograms);
}

void lay_out_classes(layout& out) {
  const size_t classes = out.classes;
  out.hits = take(out.counts, classes);
  out.predicted = take(out.counts, classes);
  out.actual = take(out.counts, classes);
  for (const auto& [what, top] : {std::pair{metric::top_2_accuracy, 2U},
                                  {metric::top_3_accuracy, 3U},
                                  {metric::top_5_accuracy, 5U},
                                  {metric::top_10_accuracy, 10U}})
    if (out.wants(what))
      out.top.push_back(top);
  out.within = take(out.counts, out.top.size());
  if (out.wants(metric::confusion_matrix))
    out.matrix = take(out.counts, classes * classes);
  if (out.wants(metric::log_loss))
    out.log_loss = take(out.reals, 1);
  if (out.wants(metric::brier))
    out.brier = take(out.reals, 1);
  if (out.wants(metric::ece)) {
    out.bin_rows = take(out.counts, calibration_bins);
    out.bin_hits = take(out.counts, calibration_bins);
    out.bin_confidence = take(out.reals, calibration_bins);
  }
}

} // namespace

bool layout::wants(metric one) const {
  return std::find(wanted.begin(), wanted.end(), one) != wanted.end();
}

layout lay_out(task what, uint32_t classes, std::span<const metric> wanted,
               uint64_t rows) {
  layout out;
  out.fits = what;
  out.classes = classes;
  out.wanted.assign(wanted.begin(), wanted.end());
  if (wanted.empty() || what == task::tokens) // those need loss and hits alone
    return out;
  out.reals = 1;
  if (what == task::classes) {
    lay_out_classes(out);
  } else {
    out.errors = take(out.reals, 2);
    out.targets = take(out.reals, 2);
  }
  lay_out_ranks(out, rows);
  return out;
}

std::string misfit(metric one, uint32_t classes) {
  const metric_entry& what = about(one);
  if (what.fits != task::classes)
    return {};
  const std::string has =
      "; this label has " + std::to_string(classes) + " classes";
  if (what.two_classes && classes != 2)
    return "is of class 1 of two" + has;
  if (what.shape == metric_shape::matrix && classes > matrix_classes_max)
    return "is for at most " + std::to_string(matrix_classes_max) + " classes" +
           has;
  if (what.shape == metric_shape::per_class && classes > listed_classes_max)
    return "is for at most " + std::to_string(listed_classes_max) + " classes" +
           has;
  const bool ranks = one == metric::roc_auc || one == metric::average_precision;
  if (ranks && classes > listed_classes_max)
    return "is for at most " + std::to_string(listed_classes_max) + " classes" +
           has;
  return {};
}

} // namespace ballast::metrics
