#include "gpu/torch/objective.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/metrics/tally.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::gpu {

objective::objective(const job& what, const ledger::row_shape& row)
    : classes_(row.classes), weights_(what.train.class_weights.begin(),
                                      what.train.class_weights.end()),
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
    set_squared(model);
    return;
  case loss_kind::next_token:
    columns_ = 0; // the model has its own, one for each token
    return;
  case loss_kind::cross_entropy:
    set_cross_entropy(model);
  }
}

void objective::set_squared(model_kind model) {
  if (model == model_kind::logistic)
    throw ballast_error(errc::invalid_job,
                        "model 'logistic' has the loss cross_entropy; for "
                        "mse use 'linear'",
                        "/train/loss");
  if (!weights_.empty())
    throw ballast_error(errc::invalid_job,
                        "class_weights need the loss cross_entropy",
                        "/train/class_weights");
  kind_ = kind::squared;
}

void objective::set_cross_entropy(model_kind model) {
  if (classes_ < 2)
    throw ballast_error(errc::invalid_job,
                        "cross_entropy needs a label with at least two "
                        "classes; this label is a number: use mse",
                        "/train/loss");
  if (!weights_.empty() && weights_.size() != classes_)
    throw ballast_error(errc::invalid_job,
                        std::to_string(weights_.size()) +
                            " class_weights for " + std::to_string(classes_) +
                            " classes",
                        "/train/class_weights");
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
  if (kind_ == kind::squared)
    return;
  for (uint32_t r = 0; r < batch.rows; ++r)
    (void)label_of(batch, r);
}

double objective::target_of(const batch_view& batch, uint32_t row) const {
  return batch.targets ? double(batch.targets[row]) : double(batch.labels[row]);
}

double objective::differentiate_row(const batch_view& batch, uint32_t row,
                                    float* out) const {
  if (kind_ == kind::squared) {
    const double off = double(out[0]) - target_of(batch, row);
    out[0] = float(2 * off);
    return off * off;
  }
  const size_t label = label_of(batch, row);
  const float weight = weights_.empty() ? 1.0F : weights_[label];
  if (kind_ == kind::sigmoid) {
    // log(1 + exp(-m)), m = the margin of the label, without overflow.
    const double z = double(out[0]);
    const double margin = label == 1 ? z : -z;
    const double tail = std::exp(-std::abs(margin));
    const double p =
        z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
    out[0] = weight * float(p - double(label));
    return double(weight) * (std::max(-margin, 0.0) + std::log1p(tail));
  }
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
    if (kind_ == kind::squared)
      to.add_number(target_of(batch, r), double(out[0]));
    else if (kind_ == kind::sigmoid)
      to.add_log_odds(label_of(batch, r), out[0]);
    else
      to.add_scores(label_of(batch, r), out);
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
    if (kind_ == kind::squared) {
      const double off = double(out[0]) - target_of(batch, r);
      sums.loss += off * off;
      continue;
    }
    const size_t label = label_of(batch, r);
    const double weight = weights_.empty() ? 1.0 : double(weights_[label]);
    if (kind_ == kind::sigmoid) {
      const double margin = label == 1 ? double(out[0]) : -double(out[0]);
      sums.loss += weight * (std::max(-margin, 0.0) +
                             std::log1p(std::exp(-std::abs(margin))));
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
