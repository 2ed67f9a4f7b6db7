/// The pace of an operation over shared memory: a piece of its data is cut into
/// one share a rank, each share into segments. A rank finishes its own share
/// segment by segment and tells the others after each (the stages of
/// shm_group); meanwhile it copies the segments that others have finished.
///
/// The operating thread uses it, between two meetings of its group.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/shm_group.hpp"

#include <cstddef>
#include <cstdint>

namespace ballast::collectives {

/// What is done with the segments; elements as in the shares.
class piece_work {
public:
  virtual ~piece_work() = default;
  /// Computes one of this rank's share, to where the others read it.
  virtual void finish(slice segment) = 0;
  /// After the others have been told of it.
  virtual void keep(slice segment) = 0;
  /// Copies one of another rank's.
  virtual void copy(int member, slice segment) = 0;
};

class piece_run {
public:
  struct plan {
    slice shares[shm_ranks_max]; // by member
    size_t width = 4;            // bytes of an element
    bool finish = true;          // false: this rank's share is there already
    bool copy = true;            // false: a rank needs its own share only
  };

  piece_run(shm_group& group, piece_work& work, const plan& what);
  /// Returns when this rank's share is finished, and the others' are copied.
  void run(deadline until);

private:
  bool finish_next();
  bool copy_ready();
  bool wait(deadline until);
  size_t segments(int member) const;
  slice nth(int member, size_t k) const;
  int me() const { return group_.me(); }

  shm_group& group_;
  piece_work& work_;
  const plan& plan_;
  size_t segment_ = 1;               // elements
  size_t taken_[shm_ranks_max] = {}; // segments of each rank that are copied
  size_t mine_ = 0;                  // of my own that are finished
  size_t all_mine_ = 0;
  int behind_ = -1; // the first rank whose next segment was not ready
};

/// The stage of a rank that needs nothing of the others' memory any more.
constexpr uint32_t done_stage = 0xffff;

} // namespace ballast::collectives
