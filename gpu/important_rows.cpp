#include "gpu/important_rows.hpp"

#include "gpu/step_helpers.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::gpu {

namespace {

/// Of the seed of a step and rank; dropout has others.
constexpr uint64_t draw_stream = 0x696d706f7274;
/// Steps between two looks while it is off. A look costs the host next to
/// nothing; a device cannot replay a recorded pass then.
constexpr uint32_t look_every_host = 8;
constexpr uint32_t look_every_device = 32;

} // namespace

important_rows::important_rows(const importance_spec& how, uint32_t features,
                               compute_device& device, scorer score)
    : features_(features), floor_(how.floor), device_(device),
      score_(std::move(score)),
      switch_({how.keep, how.floor, how.when == importance_when::always,
               device.is_host() ? look_every_host : look_every_device}) {}

batch_view important_rows::choose(const batch_view& take, uint64_t seed) {
  ids_.clear();
  looking_ = false;
  const uint32_t draws = switch_.draws(take.rows);
  uncounted_ = draws >= take.rows;
  if (uncounted_)
    return take;
  scores_.assign(take.rows, std::nanf("")); // a model may know none
  if (!switch_.on()) {
    batch_view all = take;
    looking_ = switch_.looks();
    if (looking_)
      all.scores = scores_.data();
    return all;
  }
  score_(take, scores_);
  // A loss that is not finite is the pass's to report.
  uncounted_ = !sampling::are_scores(scores_);
  if (uncounted_)
    return take;
  const std::vector<double> chances =
      sampling::chances_of(scores_, draws, floor_);
  switch_.scored(sampling::noise_ratio(scores_, chances));
  const counter_random random(seed, draw_stream);
  return gather(take, sampling::draw_rows(chances, random.unit(0)));
}

batch_view
important_rows::gather(const batch_view& take,
                       const std::vector<sampling::drawn_row>& drawn) {
  values_.resize(drawn.size() * features_);
  labels_.clear();
  targets_.clear();
  weights_.clear();
  for (size_t i = 0; i < drawn.size(); ++i) {
    const size_t row = drawn[i].row;
    std::copy_n(take.features + row * features_, features_,
                values_.data() + i * features_);
    if (take.labels)
      labels_.push_back(take.labels[row]);
    if (take.targets)
      targets_.push_back(take.targets[row]);
    ids_.push_back(take.sample_ids[row]);
    weights_.push_back(drawn[i].weight);
  }
  batch_view out =
      device_.bring(step_slot,
                    {.features = values_.data(),
                     .labels = take.labels ? labels_.data() : nullptr,
                     .targets = take.targets ? targets_.data() : nullptr,
                     .sample_ids = ids_.data(),
                     .rows = uint32_t(drawn.size())},
                    uint32_t(features_));
  out.weights = weights_.data();
  return out;
}

void important_rows::stepped(uint32_t rows,
                             const sampling::importance_times& times) {
  if (looking_ && sampling::are_scores(scores_))
    switch_.scored(sampling::noise_ratio(
        scores_, sampling::chances_of(scores_, switch_.draws(rows), floor_)));
  if (!uncounted_)
    switch_.stepped(rows, times);
}

} // namespace ballast::gpu
