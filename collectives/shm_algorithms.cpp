#include "collectives/shm_algorithms.hpp"

#include "collectives/add.hpp"
#include "collectives/fault_point.hpp"
#include "collectives/shm_pieces.hpp"
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

/// The segments of one piece.
struct shm_algorithms::segment_work final : piece_work {
  segment_work(shm_algorithms& by, work& of, slice whole)
      : in(by), w(of), piece(whole) {}

  void finish(slice s) override { in.add_segment(w, piece, s); }

  void keep(slice s) override {
    if (w.is_private()) {
      std::memcpy(w.data + s.begin * w.width,
                  w.base + (s.begin - piece.begin) * w.width,
                  bytes_of(s, w.width));
    }
    in.bytes_ += bytes_of(s, w.width);
  }

  void copy(int member, slice s) override {
    std::memcpy(w.data + s.begin * w.width,
                in.group_.readable(member) + (s.begin - piece.begin) * w.width,
                bytes_of(s, w.width));
  }

  shm_algorithms& in;
  work& w;
  slice piece;
};

void shm_algorithms::run_piece(work& w, slice piece, deadline until) {
  segment_work segments(*this, w, piece);
  piece_run::plan plan;
  plan.width = w.width;
  plan.finish = w.add;
  plan.copy = w.spread;
  for (int m = 0; m < group_.count(); ++m) {
    plan.shares[m] = w.share(piece, m, group_.count());
  }
  if (!w.add) {
    bytes_ += bytes_of(plan.shares[group_.me()], w.width);
  }
  piece_run(group_, segments, plan).run(until);
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
