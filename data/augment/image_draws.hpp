/// What is drawn for one image in one epoch. Number d of the step at place p of
/// `data.augment` is number 64 p + d of the stream that belongs to (epoch,
/// sample) under the job's seed. So a draw depends on nothing else: not on the
/// worker, the thread, the batch, or what was drawn before. A value; pure.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/random.hpp"
#include "runtime/ledger/permutation.hpp"

#include <cstddef>
#include <cstdint>

namespace ballast::data {

class image_draws {
public:
  static constexpr uint64_t numbers_of_a_step = 64;

  constexpr image_draws(uint64_t seed, epoch_number epoch, uint64_t sample)
      : random_(seed, mix(mix(uint64_t(ledger::stream_purpose::augment),
                              value(epoch)),
                          sample)) {}

  /// In [0, 1). Precondition, here and below: number < numbers_of_a_step.
  constexpr double unit(size_t place, uint64_t number) const {
    return random_.unit(numbers_of_a_step * place + number);
  }
  /// In [0, bound).
  constexpr uint64_t below(uint64_t bound, size_t place,
                           uint64_t number) const {
    return random_.below(bound, numbers_of_a_step * place + number);
  }
  /// In [low, high).
  constexpr double between(double low, double high, size_t place,
                           uint64_t number) const {
    return low + unit(place, number) * (high - low);
  }

private:
  counter_random random_;
};

} // namespace ballast::data
