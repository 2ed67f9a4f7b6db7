#include "collectives/shm_algorithms.hpp"

#include "collectives/add.hpp"
#include "collectives/fault_point.hpp"
#include "runtime/base/on_threads.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

namespace ballast::collectives {

namespace {

enum shm_operation : uint32_t {
  op_one_shot = 1,
  op_run = 2,
  op_reduce = 3,
  op_broadcast = 4,
  op_barrier = 5,
};

/// Bytes of a slice that are added and published at a time: small enough that
/// the other ranks find them in the cache.
constexpr size_t segment_bytes_min = size_t{256} << 10;
constexpr uint32_t first_segment_stage = 2;
constexpr uint32_t done_stage = 0xffff;
constexpr size_t segments_max = 60000;
constexpr size_t copiers_max = 8; // the memory is no faster for more

size_t bytes_of(slice s, size_t width) {
  return (s.end - s.begin) * width;
}

/// By as many threads as ranks stand here, if there are cores for them: but for
/// those who lack the data they only wait.
void copy_large(char* to, const char* from, size_t bytes, size_t ranks) {
  constexpr size_t piece_bytes = size_t{8} << 20;
  static const size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for_each_piece((bytes + piece_bytes - 1) / piece_bytes,
                 std::min({ranks, cores, copiers_max}), "bl-receive",
                 [&](size_t i) {
                   const size_t begin = i * piece_bytes;
                   std::memcpy(to + begin, from + begin,
                               std::min(piece_bytes, bytes - begin));
                 });
}

slice intersect(slice a, slice b) {
  slice out{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return out.begin < out.end ? out : slice{a.begin, a.begin};
}

} // namespace

/// One operation over `count` elements, cut into pieces that fit all ranks'
/// buffers; a single piece if all data can be read in place.
struct shm_algorithms::work {
  char* data;
  size_t count;
  element_type type;
  size_t width;
  bool add;             // sum the values of all ranks
  bool spread;          // all ranks get all slices
  shm_call where;       // region < 0: `data` is private to this rank
  char* base = nullptr; // start of the readable data of this piece

  bool is_private() const { return where.region < 0; }

  /// The slice of `piece` for which `member` is responsible.
  slice share(slice piece, int member, int members) const {
    if (add && spread) {
      slice s = slice_of(piece.end - piece.begin, member, members);
      return {piece.begin + s.begin, piece.begin + s.end};
    }
    return intersect(slice_of(count, member, members), piece);
  }
};

void shm_algorithms::set_one_shot_bytes(size_t bytes) {
  one_shot_bytes_ = std::min(bytes, staging_bytes);
}

void shm_algorithms::all_reduce(void* data, size_t count, element_type type,
                                deadline until) {
  if (count * size_of(type) <= one_shot_bytes_) {
    return one_shot(static_cast<char*>(data), count, type, until);
  }
  work w{static_cast<char*>(data),
         count,
         type,
         size_of(type),
         true,
         true,
         group_.locate(data, count * size_of(type))};
  run(w, until);
}

void shm_algorithms::reduce_scatter(void* data, size_t count, element_type type,
                                    deadline until) {
  work w{static_cast<char*>(data),
         count,
         type,
         size_of(type),
         true,
         false,
         group_.locate(data, count * size_of(type))};
  run(w, until);
}

void shm_algorithms::all_gather(void* data, size_t count, element_type type,
                                deadline until) {
  work w{static_cast<char*>(data),
         count,
         type,
         size_of(type),
         false,
         true,
         group_.locate(data, count * size_of(type))};
  run(w, until);
}

/// Every rank publishes everything and adds everything, in rank order.
void shm_algorithms::one_shot(char* data, size_t count, element_type type,
                              deadline until) {
  const size_t bytes = count * size_of(type);
  shm_call call = group_.staging_call();
  call.operation = op_one_shot;
  call.detail = static_cast<uint32_t>(type);
  call.count = count;
  std::memcpy(group_.staging(), data, bytes);
  group_.meet(call, until);
  const void* sources[shm_ranks_max];
  for (int m = 0; m < group_.count(); ++m) {
    sources[m] = group_.readable(m);
  }
  sum_of(data, {sources, static_cast<size_t>(group_.count())}, count, type);
  group_.check();
  bytes_ += bytes;
}

/// Publishes the place of this rank's part of `piece`; private data is copied
/// to staging first.
shm_call shm_algorithms::offer(work& w, slice piece) {
  shm_call call = w.where;
  if (!w.is_private()) {
    call.offset += piece.begin * w.width;
    w.base = w.data + piece.begin * w.width;
  } else {
    call = group_.staging_call();
    w.base = group_.staging();
    slice mine = w.add ? piece : w.share(piece, group_.me(), group_.count());
    std::memcpy(w.base + (mine.begin - piece.begin) * w.width,
                w.data + mine.begin * w.width, bytes_of(mine, w.width));
  }
  call.operation = op_run;
  call.detail = static_cast<uint32_t>(w.type) | (w.add ? 256u : 0u) |
                (w.spread ? 512u : 0u);
  call.count = w.count;
  return call;
}

void shm_algorithms::run(work& w, deadline until) {
  const size_t piece_elements = staging_bytes / w.width;
  slice piece{0, std::min(w.count, piece_elements)};
  group_.meet(offer(w, piece), until);
  bool all_in_place = true;
  bool any_in_place = false;
  for (int m = 0; m < group_.count(); ++m) {
    bool in_place = group_.call_of(m).region > 0;
    all_in_place &= in_place;
    any_in_place |= in_place;
  }
  if (all_in_place) {
    piece.end = w.count;
  }
  run_piece(w, piece, until);
  while (piece.end < w.count) {
    piece = {piece.end, std::min(w.count, piece.end + piece_elements)};
    group_.meet(offer(w, piece), until);
    run_piece(w, piece, until);
  }
  if (any_in_place) {
    // A caller gets its arena back only when no rank reads it any more.
    group_.advance(done_stage);
    group_.wait_all(done_stage, until);
  }
  group_.check();
}

void shm_algorithms::add_segment(work& w, slice piece, slice segment) {
  const void* sources[shm_ranks_max];
  const size_t at = (segment.begin - piece.begin) * w.width;
  for (int m = 0; m < group_.count(); ++m) {
    sources[m] = group_.readable(m) + at;
  }
  sum_of(w.base + at, {sources, static_cast<size_t>(group_.count())},
         segment.end - segment.begin, w.type);
}

/// One piece on its way through this rank: its own share is added segment by
/// segment, those of the others are copied as they become ready.
struct shm_algorithms::piece_run {
  piece_run(shm_algorithms& in, work& w, slice piece)
      : in_(in), w_(w), piece_(piece), n_(in.group_.count()) {
    size_t largest = 0;
    for (int m = 0; m < n_; ++m) {
      shares_[m] = w.share(piece, m, n_);
      largest = std::max(largest, shares_[m].end - shares_[m].begin);
    }
    segment_ = segment_bytes_min / w.width;
    if (n_ > static_cast<int>(std::thread::hardware_concurrency())) {
      segment_ *= 4; // switching to another rank per segment must pay off
    }
    segment_ = std::max(segment_, (largest + segments_max - 1) / segments_max);
    all_mine_ = segments(me());
    if (!w.add) { // without adding, the data can be copied at once
      mine_ = all_mine_;
      in_.bytes_ += bytes_of(shares_[me()], w.width);
    }
    if (all_mine_ == 0 || !w.add) {
      in_.group_.advance(stage_of(all_mine_));
    }
  }

  /// False: all of this rank's share is added.
  bool add_next() {
    if (mine_ == all_mine_) {
      return false;
    }
    const slice s = nth(me(), mine_);
    in_.add_segment(w_, piece_, s);
    ++mine_;
    in_.group_.advance(stage_of(mine_));
    if (w_.is_private()) {
      std::memcpy(w_.data + s.begin * w_.width,
                  w_.base + (s.begin - piece_.begin) * w_.width,
                  bytes_of(s, w_.width));
    }
    in_.bytes_ += bytes_of(s, w_.width);
    if (mine_ == all_mine_) {
      reach(fault_point::between_phases, in_.group_.rank_of(me()));
    }
    return true;
  }

  /// One segment of each rank that has it ready. False: of none.
  bool copy_ready() {
    bool moved = false;
    behind_ = -1;
    for (int k = 1; k < n_ && w_.spread; ++k) {
      const int m = (me() + k) % n_;
      if (taken_[m] == segments(m)) {
        continue;
      }
      if (!in_.group_.reached(m, stage_of(taken_[m] + 1))) {
        behind_ = behind_ < 0 ? m : behind_;
        continue;
      }
      const slice s = nth(m, taken_[m]++);
      std::memcpy(w_.data + s.begin * w_.width,
                  in_.group_.readable(m) + (s.begin - piece_.begin) * w_.width,
                  bytes_of(s, w_.width));
      moved = true;
    }
    return moved;
  }

  /// For the first rank that was not ready. False: all is here.
  bool wait(deadline until) {
    if (behind_ < 0) {
      return false;
    }
    in_.group_.wait(behind_, stage_of(taken_[behind_] + 1), until);
    return true;
  }

private:
  int me() const { return in_.group_.me(); }
  static uint32_t stage_of(size_t segments_done) {
    return first_segment_stage + static_cast<uint32_t>(segments_done);
  }
  size_t segments(int m) const {
    return (shares_[m].end - shares_[m].begin + segment_ - 1) / segment_;
  }
  slice nth(int m, size_t k) const {
    const size_t begin = shares_[m].begin + k * segment_;
    return {begin, std::min(shares_[m].end, begin + segment_)};
  }

  shm_algorithms& in_;
  work& w_;
  slice piece_;
  int n_;
  slice shares_[shm_ranks_max];
  size_t segment_ = 1;
  size_t taken_[shm_ranks_max] = {}; // segments of each rank that are copied
  size_t mine_ = 0;                  // of my own that are added
  size_t all_mine_ = 0;
  int behind_ = -1; // the first rank whose next segment was not ready
};

void shm_algorithms::run_piece(work& w, slice piece, deadline until) {
  piece_run run(*this, w, piece);
  while (true) {
    const bool added = run.add_next();
    const bool copied = run.copy_ready();
    if (added || copied) {
      reach(fault_point::segment, group_.rank_of(group_.me()));
    } else if (!run.wait(until)) {
      return;
    }
  }
}

void shm_algorithms::reduce(void* data, size_t count, element_type type,
                            int root, deadline until) {
  const size_t width = size_of(type);
  const bool is_root = group_.me() == root;
  char* bytes = static_cast<char*>(data);
  const shm_call where = group_.locate(data, count * width);
  const size_t piece_elements = staging_bytes / width;
  slice piece{0, std::min(count, piece_elements)};
  for (bool first = true; first || piece.end < count; first = false) {
    if (!first) {
      piece = {piece.end, std::min(count, piece.end + piece_elements)};
    }
    shm_call call = where;
    if (!is_root && where.region < 0) {
      call = group_.staging_call();
      std::memcpy(group_.staging(), bytes + piece.begin * width,
                  bytes_of(piece, width));
    } else {
      call.offset += piece.begin * width;
    }
    call.operation = op_reduce;
    call.detail = static_cast<uint32_t>(type) | static_cast<uint32_t>(root)
                                                    << 8;
    call.count = count;
    group_.meet(call, until);
    bool all_in_place = true;
    for (int m = 0; m < group_.count(); ++m) {
      all_in_place &= m == root || group_.call_of(m).region > 0;
    }
    if (first && all_in_place) {
      piece.end = count;
    }
    if (is_root) {
      const void* sources[shm_ranks_max];
      for (int m = 0; m < group_.count(); ++m) {
        sources[m] =
            m == root ? bytes + piece.begin * width : group_.readable(m);
      }
      sum_of(bytes + piece.begin * width,
             {sources, static_cast<size_t>(group_.count())},
             piece.end - piece.begin, type);
    } else {
      bytes_ += bytes_of(piece, width);
    }
    reach(fault_point::segment, group_.rank_of(group_.me()));
  }
  if (is_root) {
    group_.advance(done_stage);
  } else {
    group_.wait(root, done_stage, until);
  }
  group_.check();
}

void shm_algorithms::broadcast(void* data, size_t count, int root, int origin,
                               bool lacks, deadline until) {
  const bool is_root = group_.me() == root;
  char* bytes = static_cast<char*>(data);
  const shm_call where = group_.locate(data, count);
  slice piece{0, std::min(count, staging_bytes)};
  bool in_place = false;
  for (bool first = true; first || piece.end < count; first = false) {
    if (!first) {
      piece = {piece.end, std::min(count, piece.end + staging_bytes)};
    }
    shm_call call = where;
    if (is_root && where.region < 0) {
      call = group_.staging_call();
      std::memcpy(group_.staging(), bytes + piece.begin,
                  piece.end - piece.begin);
    }
    call.operation = op_broadcast;
    call.detail = static_cast<uint32_t>(root) | static_cast<uint32_t>(origin)
                                                    << 8;
    call.count = count;
    group_.meet(call, until);
    in_place = group_.call_of(root).region > 0;
    if (in_place) {
      piece.end = count;
    }
    if (!is_root && lacks) {
      copy_large(bytes + piece.begin, group_.readable(root),
                 piece.end - piece.begin, size_t(group_.count()));
    } else if (is_root) {
      bytes_ += piece.end - piece.begin;
    }
    reach(fault_point::segment, group_.rank_of(group_.me()));
  }
  if (in_place) {
    group_.advance(done_stage);
    group_.wait_all(done_stage, until);
  }
  group_.check();
}

void shm_algorithms::barrier(deadline until) {
  shm_call call;
  call.operation = op_barrier;
  group_.meet(call, until); // nothing was read: the next call sees a failure
}

} // namespace ballast::collectives
