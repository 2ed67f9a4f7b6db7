/// `train.importance`: its fields, and which models it is for.
#include "runtime/job/job_field.hpp"

namespace ballast {

namespace {

bool is_wrong_at(const std::vector<failure>& mistakes,
                 const std::string& prefix) {
  for (const failure& one : mistakes)
    if (one.pointer.empty() || one.pointer.rfind(prefix, 0) == 0)
      return true;
  return false;
}

/// Why a row of this model has no score that a draw could go by, and what to do
/// instead; empty if it has.
std::string unfit_for_draws(const model_spec& model) {
  if (model.kind == model_kind::emulated)
    return "the emulated model computes no losses to draw rows by; expected "
           "\"none\", or another model";
  const bool normalises = model.kind == model_kind::resnet18 ||
                          (model.kind == model_kind::cnn && model.batch_norm);
  if (normalises)
    return "batch normalisation takes mean and variance from the rows of a "
           "pass, and those of drawn rows are not those of the data; expected "
           "\"none\"" +
           std::string(model.kind == model_kind::cnn
                           ? ", or /model/batch_norm false"
                           : ", or a model without it, such as \"cnn\"");
  return {};
}

} // namespace

void add_importance_fields(std::vector<job_field>& f) {
  add_field(
      f, "/train/importance/by",
      [](job& j) -> field_place { return &j.train.importance.by; },
      "Importance sampling: of its rows of a step a worker computes the "
      "gradient of some only, drawn by this, each divided by its chance, so "
      "that their sum is right on average; `none`: of all. `loss`: the loss of "
      "a row. `gradient_norm`: the norm of the gradient by the model's "
      "outputs. docs/importance.md says when it pays.");
  const auto with_score = [](job_field& out) {
    out.only_with("by", importance_score::loss,
                  importance_score::gradient_norm);
  };
  with_score(add_field(
                 f, "/train/importance/keep",
                 [](job& j) -> field_place { return &j.train.importance.keep; },
                 "Part of a worker's rows of a step whose gradient is "
                 "computed, rounded up.")
                 .above(0, 1));
  with_score(
      add_field(
          f, "/train/importance/floor",
          [](job& j) -> field_place { return &j.train.importance.floor; },
          "Least chance of a row, as a part of the chance that all would have "
          "if they were drawn alike: no row counts more than 1 / (keep x "
          "floor) times.")
          .above(0, 1));
  with_score(add_field(
      f, "/train/importance/when",
      [](job& j) -> field_place { return &j.train.importance.when; },
      "`measured`: a worker draws while the time that it saves outweighs the "
      "noise that it adds, by its own scores and times, so that the same seed "
      "may give other weights. `always`: in every step."));
}

void check_importance(const job& in, std::vector<failure>& mistakes) {
  const std::string field = "/train/importance/by";
  if (in.train.importance.by == importance_score::none ||
      is_wrong_at(mistakes, field) || is_wrong_at(mistakes, "/model/kind") ||
      is_wrong_at(mistakes, "/model/batch_norm"))
    return;
  if (const std::string why = unfit_for_draws(in.model); !why.empty())
    mistakes.push_back({errc::invalid_job, field + ": " + why, field});
}

} // namespace ballast
