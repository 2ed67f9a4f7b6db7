#include "runtime/metrics/tally.hpp"

#include "runtime/base/check.hpp"
#include "runtime/metrics/score_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::metrics {

void merge_reals(const layout& of, std::span<double> to,
                 std::span<const double> rows) {
  if (of.reals == 0 || rows[0] == 0)
    return;
  double mean = 0;
  double deviations = 0;
  if (of.targets) {
    // Chan, Golub, LeVeque: a mean of two parts and the squares about it.
    const double all = to[0] + rows[0];
    const double apart = rows[of.targets.at] - to[of.targets.at];
    mean = to[of.targets.at] + apart * (rows[0] / all);
    deviations = to[of.targets.at + 1] + rows[of.targets.at + 1] +
                 apart * apart * (to[0] / all) * rows[0];
  }
  for (size_t i = 0; i < of.reals; ++i)
    to[i] += rows[i];
  if (of.targets) {
    to[of.targets.at] = mean;
    to[of.targets.at + 1] = deviations;
  }
}

tally::tally(std::shared_ptr<const layout> of)
    : of_(std::move(of)), counts_(of_->counts) {
  part_.reals.resize(of_->reals);
  if (of_->fits == task::classes)
    probabilities_.resize(of_->classes);
}

void tally::add_scores(size_t label, std::span<const float> outputs) {
  BALLAST_CHECK(outputs.size() == of_->classes, "outputs of other classes");
  const auto largest = std::max_element(outputs.begin(), outputs.end());
  const auto likeliest = size_t(largest - outputs.begin());
  part_.reals[0] += 1;
  count_class(label, likeliest);
  if (!of_->top.empty())
    count_top(label, outputs);
  if (!of_->of_probabilities())
    return;
  double sum = 0;
  for (size_t c = 0; c < outputs.size(); ++c) {
    probabilities_[c] = std::exp(double(outputs[c]) - double(*largest));
    sum += probabilities_[c];
  }
  for (double& p : probabilities_)
    p /= sum;
  add_probabilities(label, likeliest,
                    std::log(sum) -
                        (double(outputs[label]) - double(*largest)));
}

void tally::add_log_odds(size_t label, float odds) {
  BALLAST_CHECK(of_->classes == 2, "log odds of other than two classes");
  const size_t likeliest = odds > 0 ? 1 : 0;
  part_.reals[0] += 1;
  count_class(label, likeliest);
  for (size_t i = 0; i < of_->top.size(); ++i)
    ++count(of_->within, i); // of two classes any is among two
  if (!of_->of_probabilities())
    return;
  const double z = double(odds);
  const double tail = std::exp(-std::abs(z));
  const double large = 1 / (1 + tail);
  const double small = tail / (1 + tail);
  probabilities_[1] = z >= 0 ? large : small;
  probabilities_[0] = z >= 0 ? small : large;
  const double margin = label == 1 ? z : -z;
  add_probabilities(label, likeliest,
                    std::max(-margin, 0.0) + std::log1p(tail));
}

void tally::count_class(size_t label, size_t likeliest) {
  ++count(of_->actual, label);
  ++count(of_->predicted, likeliest);
  if (label == likeliest)
    ++count(of_->hits, label);
  if (of_->matrix)
    ++count(of_->matrix, label * of_->classes + likeliest);
}

void tally::count_top(size_t label, std::span<const float> outputs) {
  const float own = outputs[label];
  size_t before = 0;
  for (size_t c = 0; c < outputs.size(); ++c)
    before += outputs[c] > own || (outputs[c] == own && c < label);
  for (size_t i = 0; i < of_->top.size(); ++i)
    count(of_->within, i) += before < of_->top[i];
}

void tally::add_probabilities(size_t label, size_t likeliest, double log_loss) {
  if (of_->log_loss)
    real(of_->log_loss) += log_loss;
  if (of_->brier) {
    double squares = 0;
    const bool two = of_->classes == 2;
    for (size_t c = two ? 1 : 0; c < probabilities_.size(); ++c) {
      const double off = probabilities_[c] - double(c == label);
      squares += off * off;
    }
    real(of_->brier) += squares;
  }
  if (of_->bin_rows) {
    const double confidence = probabilities_[likeliest];
    const double place = confidence * double(calibration_bins);
    const size_t bin =
        place < double(calibration_bins) ? size_t(place) : calibration_bins - 1;
    ++count(of_->bin_rows, bin);
    count(of_->bin_hits, bin) += likeliest == label;
    real(of_->bin_confidence, bin) += confidence;
  }
  if (of_->columns > 0)
    rank(label);
}

/// Of two classes the score of class 1.
void tally::rank(size_t label) {
  const auto scores =
      std::span<const double>(probabilities_).last(of_->columns);
  if (of_->ranked == 0)
    return sketch(label, scores);
  part_.ranked.push_back(double(label));
  part_.ranked.insert(part_.ranked.end(), scores.begin(), scores.end());
}

void tally::sketch(size_t label, std::span<const double> scores) {
  const size_t first = of_->classes - of_->columns;
  for (size_t column = 0; column < of_->columns; ++column) {
    const size_t bin = probability_bin(scores[column], of_->sketch_bits);
    const size_t own = first + column == label ? 1 : 0;
    ++count(of_->sketch, (2 * column + own) * of_->sketch_bins + bin);
  }
}

void tally::sketch_ranked(std::span<const double> rows) {
  if (of_->fits == task::number) {
    for (double error : rows)
      ++count(of_->sketch, error_bin(error, of_->sketch_bits));
    return;
  }
  const size_t each = 1 + of_->columns;
  for (size_t at = 0; at + each <= rows.size(); at += each)
    sketch(size_t(rows[at]), rows.subspan(at + 1, of_->columns));
}

void tally::add_number(double target, double output) {
  const double off = output - target;
  double& rows = part_.reals[0];
  rows += 1;
  real(of_->errors, 0) += std::abs(off);
  real(of_->errors, 1) += off * off;
  double& mean = real(of_->targets, 0);
  const double apart = target - mean;
  mean += apart / rows; // Welford
  real(of_->targets, 1) += apart * (target - mean);
  if (of_->ranked > 0)
    part_.ranked.push_back(std::abs(off));
  else if (of_->sketch)
    ++count(of_->sketch, error_bin(std::abs(off), of_->sketch_bits));
}

ordered_part tally::take_part() {
  ordered_part out = std::move(part_);
  part_ = {};
  part_.reals.resize(of_->reals);
  part_.ranked.reserve(out.ranked.size()); // the next is as long, as a rule
  return out;
}

void tally::append(const ordered_part& rows) {
  merge_reals(*of_, part_.reals, rows.reals);
  part_.ranked.insert(part_.ranked.end(), rows.ranked.begin(),
                      rows.ranked.end());
}

void tally::add_counts(std::span<const uint64_t> counts) {
  for (size_t i = 0; i < counts.size(); ++i)
    counts_[i] += counts[i];
}

void tally::clear_counts() {
  std::fill(counts_.begin(), counts_.end(), 0);
}

} // namespace ballast::metrics
