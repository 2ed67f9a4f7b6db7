/// What a worker's compressed gradients left out so far, to be added to its
/// next ones (error feedback). It belongs to the worker, not to a generation,
/// and changes with the parameters only: what a step leaves out is pending
/// until the step is applied, so that a step that breaks changes nothing and is
/// tried again from the same values.
///
/// Before a copy of the state, and before ranks part, a step leaves nothing
/// out: what is kept is in no checkpoint, and a worker that joins or resumes
/// begins with zeros. Only what one that dies has not sent is lost.
///
/// Thread: the step thread, and the communication thread while buckets of a
/// step are with it.
#pragma once

#include "runtime/base/ids.hpp"

#include <cstddef>
#include <memory>
#include <optional>

namespace ballast::gpu {

class residuals {
public:
  /// `count` elements, of an arena. Begins to keep, with zeros; afterwards
  /// without effect.
  void keep(size_t count);
  bool kept() const { return count_ > 0; }

  /// A step begins: what an earlier try of it, or a step that broke, left
  /// pending is dropped.
  void begin(step_number step);
  /// Everything that the step leaves out is in pending().
  void complete() {
    whole_ = true;
    none_ = false;
  }
  /// The step leaves nothing out; pending() is without meaning.
  void complete_without_any() { whole_ = none_ = true; }
  /// The step is in the parameters, with gradients summed over `samples` rows:
  /// what it left out is what this worker keeps.
  void applied(step_number step, double samples);

  /// What is kept, times factor(), is to be added; elements as in an arena.
  const float* values() const { return values_[now_].get(); }
  float* pending() { return values_[1 - now_].get(); }
  /// Brings what was summed in a step of other size to the size of a step of
  /// `samples` rows, as an update takes the mean. 0: nothing is kept.
  float factor(double samples) const;

private:
  std::shared_ptr<float[]> values_[2];
  size_t count_ = 0;
  size_t now_ = 0;
  double samples_ = 0;            // of the step that left values()
  std::optional<step_number> of_; // whose pending() it is
  bool whole_ = false;
  bool none_ = false;
};

} // namespace ballast::gpu
