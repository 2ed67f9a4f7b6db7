/// `stop`, `keep`, `init` and `card`: how a run begins, when it ends, and what
/// its model says of itself.
#include "runtime/job/job_field.hpp"

namespace ballast {

namespace {

using fields_t = std::vector<job_field>;

constexpr size_t patterns_max = 256;

void add_stop(fields_t& f) {
  add_field(
      f, "/stop/metric", [](job& j) -> field_place { return &j.stop.metric; },
      "What `patience` and `target` look at after each evaluation: `loss`, or "
      "one of `evaluate.metrics` that is one number.");
  add_field(
      f, "/stop/patience",
      [](job& j) -> field_place { return &j.stop.patience; },
      "The run ends after so many evaluations in a row that found nothing "
      "better; null: it does not end for that.")
      .between(1, 1e6);
  add_field(
      f, "/stop/min_delta",
      [](job& j) -> field_place { return &j.stop.min_delta; },
      "What is better by no more than that counts as no better for `patience`.")
      .between(0, 1e12);
  add_field(
      f, "/stop/target", [](job& j) -> field_place { return &j.stop.target; },
      "The run ends once the metric is as good as that.")
      .between(-1e300, 1e300);
  add_field(
      f, "/stop/max_minutes",
      [](job& j) -> field_place { return &j.stop.max_minutes; },
      "The run is stopped after so many minutes of steps, of all its lives, "
      "like with Ctrl-C: it can be resumed, with a larger number.")
      .above(0, 1e7);
}

void add_keep(fields_t& f) {
  add_field(
      f, "/keep/best/metric",
      [](job& j) -> field_place { return &j.keep.best.metric; },
      "The model of the run is that of the epoch whose evaluation was the best "
      "by this: `loss`, or one of `evaluate.metrics` that is one number; the "
      "last parameters go to `last/`. Empty: the model is the last one.");
  add_field(
      f, "/keep/best/mode",
      [](job& j) -> field_place { return &j.keep.best.mode; },
      "Whether a small or a large value is good; `auto`: as "
      "[metrics-of-models.md](metrics-of-models.md) says of the metric.");
}

void add_init(fields_t& f) {
  add_field(
      f, "/init/from", [](job& j) -> field_place { return &j.init.from; },
      "A new run begins with these parameters: the folder of a run, with "
      "`@STEP` behind it for one of its checkpoints, or `@best` for its best "
      "model; with nothing, its model, or else its newest checkpoint; or a "
      "`.safetensors` file. `ballast run --from` sets it. "
      "[go-on-from-a-model.md](go-on-from-a-model.md) tells more.")
      .is(text_kind::path);
  add_field(
      f, "/init/optimizer",
      [](job& j) -> field_place { return &j.init.optimizer; },
      "And with the optimizer's state of that checkpoint, which must be of the "
      "same kind. Its count of steps goes on; the schedule begins anew.");
  add_field(
      f, "/init/except", [](job& j) -> field_place { return &j.init.except; },
      "Parameters that `from` does not give, by name, in which `*` stands for "
      "any text: `[\"fc2.*\"]`. They begin as `seed` makes them, and may have "
      "another shape, like the last layer for other classes.")
      .items(0, patterns_max);
  add_field(
      f, "/init/freeze", [](job& j) -> field_place { return &j.init.freeze; },
      "Parameters that training does not change, likewise by name; also "
      "without `from`.")
      .items(0, patterns_max);
}

void add_card(fields_t& f) {
  add_field(
      f, "/card", [](job& j) -> field_place { return &j.card; },
      "What the card of the model says to those who use it, beside what the "
      "run knows: `{\"licence\": \"CC-BY-4.0\", \"intended use\": ..}`. Any "
      "names and texts.");
}

} // namespace

void add_course_fields(fields_t& f) {
  add_stop(f);
  add_keep(f);
  add_init(f);
  add_card(f);
}

} // namespace ballast
