/// The last operation of a step: 64 bytes, fp32, summed over all ranks, never
/// compressed or weighted, sent also by a worker with 0 samples. It carries the
/// sample count, the loss and the lanes.
///
/// A lane turns "everybody is ready" into something that every rank learns in
/// the same step without asking the coordinator: whoever is ready adds 1; a sum
/// equal to the world size at step S means that all of them were, and that all
/// of them know. What was agreed takes effect after step S+1, so that there is
/// a whole step to prepare for it.
#pragma once

#include "runtime/base/ids.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ballast::worker {

class trailer {
public:
  static constexpr size_t floats = 16;
  static constexpr size_t plan_lanes = 8;
  static constexpr size_t loss_sum_at = 1;

  /// A sum of counts is exact up to 2^24, the largest global batch of a job.
  float samples() const { return values_[0]; }
  float loss_sum() const { return values_[loss_sum_at]; }
  float plan_lane(plan_number p) const { return values_[2 + lane_of(p)]; }
  float pause_lane() const { return values_[10]; }
  float stop_lane() const { return values_[11]; }
  float copy_due_lane() const { return values_[12]; }
  float copy_busy_lane() const { return values_[13]; }
  float copy_asked_lane() const { return values_[14]; }

  void set_samples(uint64_t count) { values_[0] = float(count); }
  void set_loss_sum(double sum) { values_[loss_sum_at] = float(sum); }
  void raise_plan_lane(plan_number p) { values_[2 + lane_of(p)] = 1; }
  void raise_pause_lane() { values_[10] = 1; }
  void raise_stop_lane() { values_[11] = 1; }
  /// One is enough: all ranks copy their part of the state after this step,
  /// where one is due and nobody is busy with the copy before, or where one is
  /// asked for. These take effect at once: nothing is prepared for them, but
  /// where gradients are compressed, and then after the next step.
  void raise_copy_due_lane() { values_[12] = 1; }
  void raise_copy_busy_lane() { values_[13] = 1; }
  void raise_copy_asked_lane() { values_[14] = 1; }

  /// What travels; 16 floats.
  float* data() { return values_.data(); }
  const float* data() const { return values_.data(); }

private:
  static size_t lane_of(plan_number p) { return value(p) % plan_lanes; }
  std::array<float, floats> values_{};
};

} // namespace ballast::worker
