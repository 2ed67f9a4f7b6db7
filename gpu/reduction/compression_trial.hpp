/// Whether compressing pays, found out in the first steps of a generation: some
/// as they are, and, if these waited for others a good part of their time, some
/// compressed. All ranks decide alike, by sums of what each measured.
///
/// Thread: the step thread.
#pragma once

#include "collectives/collective.hpp"

#include <cstddef>
#include <cstdint>

namespace ballast::gpu {

class compression_trial {
public:
  void begin_generation() { *this = {}; }
  /// The step that comes.
  bool compresses() const { return stage_ == stage::compressed || pays(); }
  bool decided() const { return stage_ >= stage::plain_wins; }
  bool pays() const { return stage_ == stage::compressed_wins; }
  /// A step took `seconds`, of them `waited` after its own gradient was
  /// computed. Ends with an operation of `group` now and then, at the same
  /// steps on all ranks; throws collective_error.
  void took(double seconds, double waited, collectives::collective& group,
            collectives::deadline until);

private:
  enum class stage : uint8_t { plain, compressed, plain_wins, compressed_wins };
  struct pace {
    double seconds = 0;
    double waited = 0;
  };

  void agree(collectives::collective& group, collectives::deadline until);

  stage stage_ = stage::plain;
  size_t steps_ = 0; // of this stage
  pace plain_;       // the fastest step of each
  pace compressed_;
};

} // namespace ballast::gpu
