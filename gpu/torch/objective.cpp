#include "gpu/torch/objective.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/metrics/tally.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::gpu {

namespace {

double huber(double off, double delta) {
  const double size = std::abs(off);
  return size <= delta ? off * off / 2 : delta * (size - delta / 2);
}

double hinge(size_t label, float score) {
  const double missing = 1 - (label == 1 ? double(score) : -double(score));
  return missing <= 0 ? 0 : missing; // keeps NaN
}

/// log(1 + exp(-m)), m = the margin of the label, without overflow.
double log_loss_of_odds(size_t label, double odds) {
  const double margin = label == 1 ? odds : -odds;
  return std::max(-margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
}

} // namespace

objective::objective(const job& what, const ledger::row_shape& row)
    : classes_(row.classes), weights_(what.train.class_weights.begin(),
                                      what.train.class_weights.end()),
      smoothing_(what.train.label_smoothing),
      huber_delta_(what.train.huber_delta),
      scores_loss_(what.train.importance.by == importance_score::loss) {
  const loss_kind loss = what.train.loss;
  const model_kind model = what.model.kind;
  if ((loss == loss_kind::next_token) != (model == model_kind::transformer))
    throw ballast_error(errc::invalid_job,
                        "the loss 'next_token' and the model 'transformer' "
                        "belong together; this is the loss '" +
                            to_string(loss) + "' for the model '" +
                            to_string(model) + "'",
                        "/train/loss");
  switch (loss) {
  case loss_kind::mse:
  case loss_kind::huber:
    set_number(what);
    return;
  case loss_kind::next_token:
    columns_ = 0; // the model has its own, one for each token
    return;
  case loss_kind::bce:
  case loss_kind::hinge:
    set_two_classes(what);
    return;
  case loss_kind::cross_entropy:
    set_cross_entropy(model);
  }
}

void objective::set_number(const job& what) {
  const std::string loss = to_string(what.train.loss);
  if (what.model.kind == model_kind::logistic)
    throw ballast_error(errc::invalid_job,
                        "model 'logistic' has the loss cross_entropy; for " +
                            loss + " use 'linear'",
                        "/train/loss");
  if (!weights_.empty())
    throw ballast_error(errc::invalid_job,
                        "class_weights need a loss of classes, such as "
                        "cross_entropy",
                        "/train/class_weights");
  kind_ = what.train.loss == loss_kind::huber ? kind::huber : kind::squared;
}

void objective::check_class_weights() const {
  if (!weights_.empty() && weights_.size() != classes_)
    throw ballast_error(errc::invalid_job,
                        std::to_string(weights_.size()) +
                            " class_weights for " + std::to_string(classes_) +
                            " classes",
                        "/train/class_weights");
}

void objective::set_two_classes(const job& what) {
  const std::string loss = to_string(what.train.loss);
  if (classes_ != 2)
    throw ballast_error(errc::invalid_job,
                        loss + " needs a label with two classes; this label " +
                            (classes_ == 0 ? "is a number: use mse or huber"
                                           : "has numbers up to " +
                                                 std::to_string(classes_ - 1) +
                                                 ": use cross_entropy, or "
                                                 "number the classes 0 and 1"),
                        "/train/loss");
  check_class_weights();
  kind_ = what.train.loss == loss_kind::bce ? kind::sigmoid : kind::hinge;
}

void objective::set_cross_entropy(model_kind model) {
  if (classes_ < 2)
    throw ballast_error(errc::invalid_job,
                        "cross_entropy needs a label with at least two "
                        "classes; this label is a number: use mse",
                        "/train/loss");
  check_class_weights();
  const bool log_odds = model == model_kind::logistic && classes_ == 2;
  kind_ = log_odds ? kind::sigmoid : kind::softmax;
  columns_ = log_odds ? 1 : classes_;
}

size_t objective::label_of(const batch_view& batch, uint32_t row) const {
  const int64_t label = batch.labels[row];
  if (label < 0 || label >= int64_t(classes_))
    throw ballast_error(
        errc::invalid_data,
        "label " + std::to_string(label) + " of sample " +
            (batch.sample_ids ? std::to_string(batch.sample_ids[row])
                              : "in row " + std::to_string(row)) +
            " is out of range; expected 0 to " + std::to_string(classes_ - 1));
  return size_t(label);
}

void objective::check_labels(const batch_view& batch) const {
  if (is_of_numbers())
    return;
  for (uint32_t r = 0; r < batch.rows; ++r)
    (void)label_of(batch, r);
}

double objective::target_of(const batch_view& batch, uint32_t row) const {
  return batch.targets ? double(batch.targets[row]) : double(batch.labels[row]);
}

double objective::differentiate_number(double target, float* out) const {
  const double off = double(out[0]) - target;
  if (kind_ == kind::squared) {
    out[0] = float(2 * off);
    return off * off;
  }
  out[0] = float(std::clamp(off, -huber_delta_, huber_delta_));
  return huber(off, huber_delta_);
}

double objective::differentiate_hinge(size_t label, float* out) const {
  const float weight = weight_of_class(label);
  const double loss = hinge(label, out[0]);
  out[0] = loss == 0 ? 0 : label == 1 ? -weight : weight;
  return double(weight) * loss;
}

double objective::differentiate_sigmoid(size_t label, float* out) const {
  const double z = double(out[0]);
  const double p =
      z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
  if (smoothing_ == 0) {
    const float weight = weight_of_class(label);
    out[0] = weight * float(p - double(label));
    return double(weight) * log_loss_of_odds(label, z);
  }
  const auto part_of = [&](size_t one) {
    return double(weight_of_class(one)) *
           (smoothing_ / 2 + (one == label ? 1 - smoothing_ : 0));
  };
  out[0] = float(part_of(0) * p - part_of(1) * (1 - p));
  return part_of(0) * log_loss_of_odds(0, z) +
         part_of(1) * log_loss_of_odds(1, z);
}

double objective::differentiate_softmax(size_t label, float* out) const {
  const float weight = weight_of_class(label);
  const float largest = *std::max_element(out, out + columns_);
  const float of_label = out[label] - largest;
  float sum = 0;
  for (uint32_t c = 0; c < columns_; ++c) {
    out[c] = std::exp(out[c] - largest);
    sum += out[c];
  }
  const float share = weight / sum;
  for (uint32_t c = 0; c < columns_; ++c)
    out[c] *= share;
  out[label] -= weight;
  return double(weight) * (double(std::log(sum)) - double(of_label));
}

double objective::differentiate_smoothed(size_t label, float* out) const {
  const float largest = *std::max_element(out, out + columns_);
  double sum = 0;
  for (uint32_t c = 0; c < columns_; ++c)
    sum += double(std::exp(out[c] - largest));
  const double log_of_sum = std::log(sum) + double(largest);
  const auto part_of = [&](uint32_t c) {
    return double(weight_of_class(c)) *
           (smoothing_ / columns_ + (c == label ? 1 - smoothing_ : 0));
  };
  double parts = 0;
  for (uint32_t c = 0; c < columns_; ++c)
    parts += part_of(c);
  double loss = 0;
  for (uint32_t c = 0; c < columns_; ++c) {
    const double less = log_of_sum - double(out[c]); // -log of its probability
    loss += part_of(c) * less;
    out[c] = float(parts * std::exp(-less) - part_of(c));
  }
  return loss;
}

double objective::differentiate_row(const batch_view& batch, uint32_t row,
                                    float* out) const {
  if (is_of_numbers())
    return differentiate_number(target_of(batch, row), out);
  const size_t label = label_of(batch, row);
  if (kind_ == kind::hinge)
    return differentiate_hinge(label, out);
  if (kind_ == kind::sigmoid)
    return differentiate_sigmoid(label, out);
  return smoothing_ > 0 ? differentiate_smoothed(label, out)
                        : differentiate_softmax(label, out);
}

float objective::score_of(double loss, const float* derivative) const {
  if (scores_loss_)
    return float(loss);
  double squares = 0;
  for (uint32_t c = 0; c < columns_; ++c)
    squares += double(derivative[c]) * double(derivative[c]);
  return float(std::sqrt(squares));
}

double objective::differentiate(const batch_view& batch,
                                std::span<float> outputs) const {
  double loss = 0;
  for (uint32_t r = 0; r < batch.rows; ++r) {
    float* out = outputs.data() + size_t(r) * columns_;
    const double of_row = differentiate_row(batch, r, out);
    if (batch.scores)
      batch.scores[r] = score_of(of_row, out);
    if (!batch.weights) {
      loss += of_row;
      continue;
    }
    const float weight = batch.weights[r];
    loss += double(weight) * of_row;
    for (uint32_t c = 0; c < columns_; ++c)
      out[c] *= weight;
  }
  return loss;
}

void objective::score(const batch_view& batch,
                      std::span<const float> outputs) const {
  std::vector<float> out(columns_);
  for (uint32_t r = 0; r < batch.rows; ++r) {
    std::copy_n(outputs.data() + size_t(r) * columns_, columns_, out.data());
    const double loss = differentiate_row(batch, r, out.data());
    batch.scores[r] = score_of(loss, out.data());
  }
}

double objective::weight_of(const batch_view& batch) const {
  if (weights_.empty())
    return batch.rows;
  double sum = 0;
  for (uint32_t r = 0; r < batch.rows; ++r)
    sum += double(weights_[label_of(batch, r)]);
  return sum;
}

void objective::tell_tally(const batch_view& batch,
                           std::span<const float> outputs) const {
  metrics::tally& to = *batch.tally;
  if (to.empty())
    return;
  for (uint32_t r = 0; r < batch.rows; ++r) {
    const std::span<const float> out =
        outputs.subspan(size_t(r) * columns_, columns_);
    if (is_of_numbers())
      to.add_number(target_of(batch, r), double(out[0]));
    else if (kind_ == kind::softmax)
      to.add_scores(label_of(batch, r), out);
    else // of hinge only the sign and the order count, which odds have, too
      to.add_log_odds(label_of(batch, r), out[0]);
  }
}

evaluation_sums objective::evaluate(const batch_view& batch,
                                    std::span<const float> outputs) const {
  evaluation_sums sums;
  sums.rows = batch.rows;
  sums.weight = weight_of(batch);
  if (batch.scores)
    score(batch, outputs);
  if (batch.tally)
    tell_tally(batch, outputs);
  for (uint32_t r = 0; r < batch.rows; ++r) {
    const float* out = outputs.data() + size_t(r) * columns_;
    if (is_of_numbers()) {
      const double off = double(out[0]) - target_of(batch, r);
      sums.loss += kind_ == kind::huber ? huber(off, huber_delta_) : off * off;
      continue;
    }
    const size_t label = label_of(batch, r);
    const auto weight = double(weight_of_class(label));
    if (kind_ != kind::softmax) {
      sums.loss += weight * (kind_ == kind::hinge
                                 ? hinge(label, out[0])
                                 : log_loss_of_odds(label, double(out[0])));
      sums.correct += (out[0] > 0) == (label == 1);
      continue;
    }
    const float* largest = std::max_element(out, out + columns_);
    double sum = 0;
    for (uint32_t c = 0; c < columns_; ++c)
      sum += double(std::exp(out[c] - *largest));
    sums.loss += weight * (std::log(sum) - double(out[label] - *largest));
    sums.correct += size_t(largest - out) == label;
  }
  return sums;
}

} // namespace ballast::gpu
