/// The loss that is trained with, and what belongs to it.
#include "runtime/job/job_field.hpp"

namespace ballast {

void add_loss_fields(std::vector<job_field>& f) {
  add_field(
      f, "/train/loss", [](job& j) -> field_place { return &j.train.loss; },
      "Mean over the global batch. Of classes: `cross_entropy`; `bce`, of two "
      "classes with one output, whose sigmoid is the probability of class 1; "
      "`hinge`, of two classes with one output, a score without probabilities. "
      "Of a label column of numbers: `mse`, the squared error without 1/2; "
      "`huber`. `next_token` is the mean cross entropy of each token of a row "
      "after the first, given those before it. "
      "[models.md](models.md#losses) has the formulas.");
  add_field(
      f, "/train/huber_delta",
      [](job& j) -> field_place { return &j.train.huber_delta; },
      "Error from which on `huber` grows by the absolute error instead of its "
      "square.")
      .above(0, 1e12)
      .only_with("loss", loss_kind::huber);
  add_field(
      f, "/train/label_smoothing",
      [](job& j) -> field_place { return &j.train.label_smoothing; },
      "Part of a row's loss that all classes (or tokens) share instead of the "
      "label, in `cross_entropy`, `bce` and `next_token`. The loss in training "
      "is smoothed; the one of an evaluation and every metric are not.")
      .below(0, 1);
  add_field(
      f, "/train/class_weights",
      [](job& j) -> field_place {
        return list_or_word{&j.train.class_weights,
                            &j.train.class_weights_balanced, "balanced"};
      },
      "Weight of each class in `cross_entropy`, `bce` and `hinge`; empty: all "
      "1; `balanced`: rows / (classes x rows of the class) of the training "
      "part. In training the weighted sum is divided by the number of rows, in "
      "evaluation by the sum of their weights; the metric `log_loss` is "
      "without weights.")
      .between(0, 1e6)
      .items(0, 65536);
}

} // namespace ballast
