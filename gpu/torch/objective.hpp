/// The training objective of a model: its loss, the number of output columns,
/// and the derivative of the loss by the outputs. Plain C++, one pass, sums in
/// double; needs no LibTorch.
///
/// Of a row with the outputs f, the label y, and a weight w for each class:
///
///   cross_entropy  w_y * -log softmax(f)[y]: one column per class. `logistic`
///                  with two classes has one column instead, the log-odds of
///                  class 1, that is, the outputs 0 and f.
///   bce            the same for any model: -w_1 log sigmoid(f) of class 1, and
///                  -w_0 log(1 - sigmoid(f)) of class 0; one column
///   hinge          w_y * max(0, 1 - s f), s = -1 of class 0 and 1 of class 1;
///                  one column
///   mse            (f - y)^2; one column
///   huber          (f - y)^2 / 2 within delta, beyond it
///                  delta (|f - y| - delta / 2); one column
///
/// With label smoothing e the first two are, in training alone,
/// (1 - e) * the above + e / classes * the sum of it over all labels.
///
/// The transformer implements next_token itself: an objective only reports
/// whether the job uses it, and how much it smooths.
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

  enum class kind { softmax, sigmoid, hinge, squared, huber };
  kind what() const { return kind_; }
  /// The label is a number, not a class.
  bool is_of_numbers() const {
    return kind_ == kind::squared || kind_ == kind::huber;
  }
  uint32_t columns() const { return columns_; }
  /// By class, empty = all 1.
  const std::vector<float>& class_weights() const { return weights_; }
  double smoothing() const { return smoothing_; }
  double huber_delta() const { return huber_delta_; }
  /// Throws ballast_error{invalid_data} for a label out of range.
  void check_labels(const batch_view& batch) const;

  /// `outputs` (rows x columns) becomes d loss / d outputs. Returns the loss
  /// sum. Both with the batch's weights; writes the scores that it asks for.
  /// Throws ballast_error{invalid_data} for a label out of range.
  double differentiate(const batch_view& batch, std::span<float> outputs) const;
  /// A row's score is its loss, not the norm of the derivative.
  bool scores_loss() const { return scores_loss_; }
  /// Loss without smoothing, and number of rows whose most likely class is the
  /// label. Writes the scores, too, which are those of training.
  evaluation_sums evaluate(const batch_view& batch,
                           std::span<const float> outputs) const;
  /// Tells the batch's tally its rows. evaluate() does that, too.
  void tell_tally(const batch_view& batch,
                  std::span<const float> outputs) const;
  /// Of the rows in an evaluation's loss.
  double weight_of(const batch_view& batch) const;

private:
  void set_number(const job& what);
  void set_cross_entropy(model_kind model);
  void set_two_classes(const job& what);
  void check_class_weights() const;
  /// Loss of a row, whose outputs become the derivative.
  double differentiate_row(const batch_view& batch, uint32_t row,
                           float* out) const;
  double differentiate_number(double target, float* out) const;
  double differentiate_hinge(size_t label, float* out) const;
  double differentiate_sigmoid(size_t label, float* out) const;
  double differentiate_softmax(size_t label, float* out) const;
  double differentiate_smoothed(size_t label, float* out) const;
  float score_of(double loss, const float* derivative) const;
  void score(const batch_view& batch, std::span<const float> outputs) const;
  size_t label_of(const batch_view& batch, uint32_t row) const;
  double target_of(const batch_view& batch, uint32_t row) const;
  float weight_of_class(size_t label) const {
    return weights_.empty() ? 1.0F : weights_[label];
  }

  kind kind_ = kind::softmax;
  uint32_t columns_ = 1;
  uint32_t classes_ = 0;
  std::vector<float> weights_;
  double smoothing_;
  double huber_delta_;
  bool scores_loss_;
};

} // namespace ballast::gpu
