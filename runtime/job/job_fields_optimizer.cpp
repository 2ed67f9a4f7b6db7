/// `train.optimizer` and `train.schedule`.
#include "runtime/job/job_field.hpp"

namespace ballast {
namespace {

using fields_t = std::vector<job_field>;

void add_optimizer(fields_t& f) {
  add_field(
      f, "/train/optimizer/kind",
      [](job& j) -> field_place { return &j.train.optimizer.kind; },
      "Update rule, as in PyTorch.");
  add_field(
      f, "/train/optimizer/lr",
      [](job& j) -> field_place { return &j.train.optimizer.lr; },
      "Learning rate, before the schedule.")
      .between(0, 1e6);
  add_field(
      f, "/train/optimizer/lr_of",
      [](job& j) -> field_place { return &j.train.optimizer.lr_of; },
      "Factors of the learning rate of some parameters, from 0 to 1e6, by "
      "their names, in which `*` stands for any text: `{\"fc2.*\": 10}`. Of "
      "several patterns that fit the longest one counts; the others have 1.")
      .any_json();
  add_field(
      f, "/train/optimizer/momentum",
      [](job& j) -> field_place { return &j.train.optimizer.momentum; },
      "Momentum.")
      .below(0, 1)
      .only_with("kind", optimizer_kind::sgd);
  add_field(
      f, "/train/optimizer/weight_decay",
      [](job& j) -> field_place { return &j.train.optimizer.weight_decay; },
      "Weight decay; added to the gradient by `sgd` and `adam`, decoupled in "
      "`adamw`.")
      .between(0, 1e6);
  add_field(
      f, "/train/optimizer/beta1",
      [](job& j) -> field_place { return &j.train.optimizer.beta1; },
      "Decay of the first moment.")
      .below(0, 1)
      .only_with("kind", optimizer_kind::adam, optimizer_kind::adamw);
  add_field(
      f, "/train/optimizer/beta2",
      [](job& j) -> field_place { return &j.train.optimizer.beta2; },
      "Decay of the second moment.")
      .below(0, 1)
      .only_with("kind", optimizer_kind::adam, optimizer_kind::adamw);
  add_field(
      f, "/train/optimizer/eps",
      [](job& j) -> field_place { return &j.train.optimizer.eps; },
      "Added to the denominator.")
      .above(0, 1)
      .only_with("kind", optimizer_kind::adam, optimizer_kind::adamw);
}

void add_schedule(fields_t& f) {
  add_field(
      f, "/train/schedule/kind",
      [](job& j) -> field_place { return &j.train.schedule.kind; },
      "How the learning rate goes on after the warm-up.");
  add_field(
      f, "/train/schedule/warmup_steps",
      [](job& j) -> field_place { return &j.train.schedule.warmup_steps; },
      "Steps in which the learning rate rises to `lr`.")
      .between(0, 1e12);
  add_field(
      f, "/train/schedule/every_steps",
      [](job& j) -> field_place { return &j.train.schedule.every_steps; },
      "Steps after which the rate is multiplied by `gamma`, again and again.")
      .between(1, 1e12)
      .must()
      .only_with("kind", schedule_kind::step);
  add_field(
      f, "/train/schedule/gamma",
      [](job& j) -> field_place { return &j.train.schedule.gamma; },
      "Factor of each fall.")
      .above(0, 1)
      .only_with("kind", schedule_kind::step);
  add_field(
      f, "/train/schedule/final_ratio",
      [](job& j) -> field_place { return &j.train.schedule.final_ratio; },
      "Learning rate of the last step, as a part of `lr`.")
      .between(0, 1)
      .only_with("kind", schedule_kind::cosine, schedule_kind::linear);
}

} // namespace

void add_optimizer_fields(std::vector<job_field>& f) {
  add_optimizer(f);
  add_schedule(f);
}

} // namespace ballast
