#include "collectives/shm_pieces.hpp"

#include "collectives/fault_point.hpp"

#include <algorithm>
#include <thread>

namespace ballast::collectives {

namespace {

/// Bytes of a share that are finished and published at a time: small enough
/// that the other ranks find them in the cache.
constexpr size_t segment_bytes_min = size_t{256} << 10;
constexpr uint32_t first_segment_stage = 2;
constexpr size_t segments_max = 60000;

uint32_t stage_of(size_t segments_done) {
  return first_segment_stage + static_cast<uint32_t>(segments_done);
}

} // namespace

piece_run::piece_run(shm_group& group, piece_work& work, const plan& what)
    : group_(group), work_(work), plan_(what) {
  size_t largest = 0;
  for (int m = 0; m < group_.count(); ++m) {
    largest = std::max(largest, plan_.shares[m].end - plan_.shares[m].begin);
  }
  segment_ = segment_bytes_min / plan_.width;
  if (group_.count() > static_cast<int>(std::thread::hardware_concurrency())) {
    segment_ *= 4; // switching to another rank per segment must pay off
  }
  segment_ = std::max(segment_, (largest + segments_max - 1) / segments_max);
  all_mine_ = segments(me());
  if (!plan_.finish) { // the data can be copied at once
    mine_ = all_mine_;
  }
  if (mine_ == all_mine_) {
    group_.advance(stage_of(all_mine_));
  }
}

void piece_run::run(deadline until) {
  while (true) {
    const bool finished = finish_next();
    const bool copied = copy_ready();
    if (finished || copied) {
      reach(fault_point::segment, group_.rank_of(me()));
    } else if (!wait(until)) {
      return;
    }
  }
}

/// False: all of this rank's share is finished.
bool piece_run::finish_next() {
  if (mine_ == all_mine_) {
    return false;
  }
  const slice next = nth(me(), mine_);
  work_.finish(next);
  ++mine_;
  group_.advance(stage_of(mine_));
  work_.keep(next);
  if (mine_ == all_mine_) {
    reach(fault_point::between_phases, group_.rank_of(me()));
  }
  return true;
}

/// One segment of each rank that has it ready. False: of none.
bool piece_run::copy_ready() {
  bool moved = false;
  behind_ = -1;
  for (int k = 1; k < group_.count() && plan_.copy; ++k) {
    const int m = (me() + k) % group_.count();
    if (taken_[m] == segments(m)) {
      continue;
    }
    if (!group_.reached(m, stage_of(taken_[m] + 1))) {
      behind_ = behind_ < 0 ? m : behind_;
      continue;
    }
    work_.copy(m, nth(m, taken_[m]++));
    moved = true;
  }
  return moved;
}

/// For the first rank that was not ready. False: all is here.
bool piece_run::wait(deadline until) {
  if (behind_ < 0) {
    return false;
  }
  group_.wait(behind_, stage_of(taken_[behind_] + 1), until);
  return true;
}

size_t piece_run::segments(int member) const {
  const slice& share = plan_.shares[member];
  return (share.end - share.begin + segment_ - 1) / segment_;
}

slice piece_run::nth(int member, size_t k) const {
  const slice& share = plan_.shares[member];
  const size_t begin = share.begin + k * segment_;
  return {begin, std::min(share.end, begin + segment_)};
}

} // namespace ballast::collectives
