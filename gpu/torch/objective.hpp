/// The training objective of a model: its loss, the number of output columns,
/// and the derivative of the loss by the outputs. Plain C++, one pass, sums in
/// double; needs no LibTorch.
///
/// cross_entropy: one column per class, softmax; `logistic` with two classes
/// has one column instead, the log-odds of class 1. mse: one column. The
/// transformer implements next_token itself: an objective only reports whether
/// the job uses it.
#pragma once

#include "gpu/model.hpp"

#include <span>
#include <vector>

namespace ballast::gpu {

class objective {
public:
  /// Throws ballast_error{invalid_job}, with pointer, if loss, model and label
  /// do not match.
  objective(const job& what, const ledger::row_shape& row);

  enum class kind { softmax, sigmoid, squared };
  kind what() const { return kind_; }
  uint32_t columns() const { return columns_; }
  /// By class, empty = all 1.
  const std::vector<float>& class_weights() const { return weights_; }
  /// Throws ballast_error{invalid_data} for a label out of range.
  void check_labels(const batch_view& batch) const;

  /// `outputs` (rows x columns) becomes d loss / d outputs. Returns the loss
  /// sum. Both with the batch's weights; writes the scores that it asks for.
  /// Throws ballast_error{invalid_data} for a label out of range.
  double differentiate(const batch_view& batch, std::span<float> outputs) const;
  /// A row's score is its loss, not the norm of the derivative.
  bool scores_loss() const { return scores_loss_; }
  /// Loss and number of rows whose most likely class is the label. Writes the
  /// scores, too.
  evaluation_sums evaluate(const batch_view& batch,
                           std::span<const float> outputs) const;
  /// Tells the batch's tally its rows. evaluate() does that, too.
  void tell_tally(const batch_view& batch,
                  std::span<const float> outputs) const;
  /// Of the rows in an evaluation's loss.
  double weight_of(const batch_view& batch) const;

private:
  void set_squared(model_kind model);
  void set_cross_entropy(model_kind model);
  /// Loss of a row, whose outputs become the derivative.
  double differentiate_row(const batch_view& batch, uint32_t row,
                           float* out) const;
  float score_of(double loss, const float* derivative) const;
  void score(const batch_view& batch, std::span<const float> outputs) const;
  size_t label_of(const batch_view& batch, uint32_t row) const;
  double target_of(const batch_view& batch, uint32_t row) const;

  kind kind_ = kind::softmax;
  uint32_t columns_ = 1;
  uint32_t classes_ = 0;
  std::vector<float> weights_;
  bool scores_loss_;
};

} // namespace ballast::gpu
