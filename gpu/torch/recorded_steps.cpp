#include "gpu/torch/recorded_steps.hpp"

#include "gpu/torch/placement.hpp"

#include <ATen/ops/empty_like.h>
#include <algorithm>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <string>

namespace ballast::gpu {
namespace {

/// Enough for the algorithms to be chosen and for memory to be cached.
constexpr uint32_t passes_before = 2;
/// Two gradient arenas alternate; the rows change when the batch is split anew.
constexpr size_t recordings_max = 6;

/// A tensor of the recording's own for each that the batch has.
void copy_to(at::Tensor& own, const at::Tensor& from) {
  if (!own.defined())
    own = at::empty_like(from);
  own.copy_(from);
}

} // namespace

recorded_steps::recorded_steps(const model_place& place, uint32_t features,
                               opener* open)
    : place_(place), features_(features), open_(open) {}

std::unique_ptr<pass_recorder>
recorded_steps::open_recorder(const model_place& place) {
  Dl_info info{};
  if (place.cuda < 0 || !place.records ||
      dladdr(reinterpret_cast<const void*>(&open_recorder), &info) == 0 ||
      !info.dli_fname)
    return nullptr;
  const std::string here = info.dli_fname;
  void* library = dlopen(
      (here.substr(0, here.rfind('/') + 1) + pass_recorder_library).c_str(),
      RTLD_NOW | RTLD_LOCAL);
  auto* make = library ? reinterpret_cast<pass_recorder_maker*>(
                             dlsym(library, pass_recorder_maker_name))
                       : nullptr;
  return std::unique_ptr<pass_recorder>(make ? make(place.cuda) : nullptr);
}

at::Tensor
recorded_steps::run(const batch_view& batch, const bound_arenas& on,
                    batch_norms& norms,
                    const std::function<at::Tensor(const batch_view&)>& pass) {
  if (uses_ == 0)
    recorder_ = open_(place_);
  ++uses_;
  // Statistics that still wait may be in memory that a replay writes.
  if (!recorder_ || norms.any_seen())
    return pass(batch);
  recording& one = recording_for(batch, on);
  if (!one.replayable) {
    if (one.passes++ < passes_before)
      return pass(batch);
    try {
      record(one, batch, norms, pass);
    } catch (const c10::Error&) { // nothing was computed: go on without
      recordings_.clear();
      recorder_ = nullptr;
      return pass(batch);
    }
  }
  copy_inputs(one, batch);
  one.replayable->replay();
  norms.put_seen(one.seen);
  return one.loss;
}

recorded_steps::recording&
recorded_steps::recording_for(const batch_view& batch, const bound_arenas& on) {
  auto found = std::ranges::find_if(recordings_, [&](const auto& one) {
    return one->rows == batch.rows && one->on == on;
  });
  if (found == recordings_.end()) {
    if (recordings_.size() >= recordings_max)
      recordings_.erase(std::ranges::min_element(
          recordings_, {}, [](const auto& one) { return one->used; }));
    recordings_.push_back(std::make_unique<recording>());
    found = recordings_.end() - 1;
    (*found)->rows = batch.rows;
    (*found)->on = on;
  }
  (*found)->used = uses_;
  return **found;
}

void recorded_steps::record(
    recording& into, const batch_view& batch, batch_norms& norms,
    const std::function<at::Tensor(const batch_view&)>& pass) {
  copy_inputs(into, batch);
  // A recording has memory of its own, as much as the passes before used.
  release_cached_memory();
  try {
    into.replayable =
        recorder_->record([&into, pass, inputs = inputs_of(into, batch)] {
          into.loss = pass(inputs);
        });
  } catch (...) {
    (void)norms.take_seen();
    throw;
  }
  into.seen = norms.take_seen();
}

void recorded_steps::copy_inputs(recording& to, const batch_view& batch) const {
  const c10::InferenceMode off(false); // autograd keeps them
  copy_to(to.features,
          features_at(place_, batch, {batch.rows, int64_t(features_)}));
  if (batch.labels)
    copy_to(to.labels, tensor_at(place_, batch.there.labels, {batch.rows}));
  if (batch.targets)
    copy_to(to.targets, tensor_at(place_, batch.there.targets, {batch.rows}));
}

batch_view recorded_steps::inputs_of(const recording& one,
                                     batch_view batch) const {
  batch.there.features = one.features.const_data_ptr<float>();
  if (batch.labels)
    batch.there.labels = one.labels.const_data_ptr<int64_t>();
  if (batch.targets)
    batch.there.targets = one.targets.const_data_ptr<float>();
  return batch;
}

} // namespace ballast::gpu
