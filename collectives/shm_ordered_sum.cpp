// shm_algorithms::sum_in_order. As in all_reduce a rank adds its share of
// everybody's parts and the others copy it; but the result has a place of its
// own, since the parts must stay what they are until all have read them.
#include "collectives/ordered_sum.hpp"
#include "collectives/shm_algorithms.hpp"
#include "collectives/shm_pieces.hpp"

#include <algorithm>
#include <cstring>

namespace ballast::collectives {

namespace {

enum shm_ordered_operation : uint32_t { // beside those of shm_algorithms.cpp
  op_ordered_one_shot = 6,
  op_ordered_run = 7,
  op_ordered_streams = 8,
};

constexpr size_t float_bytes = sizeof(float);

/// Floats of each part that fit into a staging buffer beside the result; whole
/// cache lines, and the same on every rank.
size_t staged_floats(const ledger::fixed_sum& how) {
  return staging_bytes / float_bytes / (most_parts(how) + 1) / 16 * 16;
}

} // namespace

/// The parts and the result of one call, and where all ranks have theirs of the
/// current piece.
struct shm_algorithms::ordered_work final : piece_work {
  ordered_work(shm_algorithms& by, const ledger::fixed_sum& order,
               const float* own_parts, size_t own_stride, float* result,
               size_t floats)
      : in(by), how(order), hash(hash_of(order)), parts(own_parts),
        stride(own_stride), out(result), count(floats) {
    parts_here = how.parts[static_cast<size_t>(rank_of(in.group_.me()))];
    if (parts_here > 0) {
      where = in.group_.locate(parts, ((parts_here - 1) * stride + count) *
                                          float_bytes);
    }
    out_where = in.group_.locate(out, count * float_bytes);
  }

  int rank_of(int member) const { return in.group_.rank_of(member); }

  /// Announces this rank's places of a piece; what is private to it is copied
  /// to staging first.
  void meet(slice of, deadline until) {
    piece = of;
    shm_group& group = in.group_;
    const size_t each = staged_floats(how);
    shm_call call;
    if (where.region > 0) {
      call.region = where.region;
      call.offset = where.offset + piece.begin * float_bytes;
      call.stride = stride * float_bytes;
    } else if (parts_here > 0) {
      call = group.staging_call();
      call.stride = each * float_bytes;
      for (size_t p = 0; p < parts_here; ++p) {
        std::memcpy(group.staging() + p * call.stride,
                    parts + p * stride + piece.begin,
                    (piece.end - piece.begin) * float_bytes);
      }
    }
    if (out_where.region > 0) {
      base = out + piece.begin;
      call.result_region = out_where.region;
      call.result_offset = out_where.offset + piece.begin * float_bytes;
    } else {
      const size_t behind = most_parts(how) * each * float_bytes;
      base = reinterpret_cast<float*>(group.staging() + behind);
      call.result_region = 0;
      call.result_offset = group.staging_call().offset + behind;
    }
    call.operation = op_ordered_run;
    call.detail = hash;
    call.count = count;
    group.meet(call, until);
    for (int m = 0; m < group.count(); ++m) {
      const shm_call& theirs = group.call_of(m);
      if (how.parts[static_cast<size_t>(rank_of(m))] > 0) {
        sources[rank_of(m)] = {
            reinterpret_cast<const float*>(group.readable(m)),
            theirs.stride / float_bytes};
      }
      results[m] = reinterpret_cast<const float*>(group.readable_result(m));
    }
  }

  /// Whether peers read this member's own memory, and only that.
  bool in_place(int member) const {
    return reads_arena(member) &&
           (in.group_.call_of(member).region > 0 ||
            how.parts[static_cast<size_t>(rank_of(member))] == 0) &&
           in.group_.call_of(member).result_region > 0;
  }
  bool reads_arena(int member) const {
    return in.group_.call_of(member).region > 0 ||
           in.group_.call_of(member).result_region > 0;
  }

  void finish(slice s) override {
    const size_t at = s.begin - piece.begin;
    add_in_order(how, {sources, how.parts.size()}, at, base + at,
                 s.end - s.begin);
  }

  void keep(slice s) override {
    const size_t bytes = (s.end - s.begin) * float_bytes;
    if (out_where.region < 0) {
      std::memcpy(out + s.begin, base + (s.begin - piece.begin), bytes);
    }
    in.bytes_ += bytes;
  }

  void copy(int member, slice s) override {
    std::memcpy(out + s.begin, results[member] + (s.begin - piece.begin),
                (s.end - s.begin) * float_bytes);
  }

  void run(deadline until) {
    const int n = in.group_.count();
    piece_run::plan plan;
    plan.width = float_bytes;
    for (int m = 0; m < n; ++m) {
      const slice share = slice_of(piece.end - piece.begin, m, n);
      plan.shares[m] = {piece.begin + share.begin, piece.begin + share.end};
    }
    piece_run(in.group_, *this, plan).run(until);
  }

  shm_algorithms& in;
  const ledger::fixed_sum& how;
  uint32_t hash;
  const float* parts;
  size_t stride;
  float* out;
  size_t count;
  size_t parts_here = 0;
  shm_call where;     // region < 0: the parts are private to this rank
  shm_call out_where; // likewise the result
  slice piece;
  float* base = nullptr; // where others read this rank's share of the piece
  rank_parts sources[shm_ranks_max]; // by rank
  const float* results[shm_ranks_max] = {};
};

/// Every rank publishes all its parts and adds up everything.
void shm_algorithms::one_shot_in_order(const ledger::fixed_sum& how,
                                       const float* parts, size_t stride,
                                       float* out, size_t count,
                                       deadline until) {
  const size_t mine =
      how.parts[static_cast<size_t>(group_.rank_of(group_.me()))];
  shm_call call = group_.staging_call();
  call.operation = op_ordered_one_shot;
  call.detail = hash_of(how);
  call.count = count;
  for (size_t p = 0; p < mine; ++p) {
    std::memcpy(group_.staging() + p * count * float_bytes, parts + p * stride,
                count * float_bytes);
  }
  group_.meet(call, until);
  rank_parts sources[shm_ranks_max];
  for (int m = 0; m < group_.count(); ++m) {
    sources[group_.rank_of(m)] = {
        reinterpret_cast<const float*>(group_.readable(m)), count};
  }
  add_in_order(how, {sources, how.parts.size()}, 0, out, count);
  group_.check();
  bytes_ += mine * count * float_bytes;
}

void shm_algorithms::announce_sum(const ledger::fixed_sum& how, size_t count,
                                  deadline until) {
  shm_call call;
  call.operation = op_ordered_streams;
  call.detail = hash_of(how);
  call.count = count;
  group_.meet(call, until);
}

void shm_algorithms::sum_in_order(const ledger::fixed_sum& how,
                                  const float* parts, size_t stride, float* out,
                                  size_t count, deadline until) {
  if (most_parts(how) * count * float_bytes <= one_shot_bytes_) {
    return one_shot_in_order(how, parts, stride, out, count, until);
  }
  ordered_work w(*this, how, parts, stride, out, count);
  const size_t staged = staged_floats(how);
  w.meet({0, std::min(count, staged)}, until);
  bool all_in_place = true;
  bool any_in_place = false;
  for (int m = 0; m < group_.count(); ++m) {
    all_in_place &= w.in_place(m);
    any_in_place |= w.reads_arena(m);
  }
  if (all_in_place) {
    w.piece.end = count;
  }
  w.run(until);
  while (w.piece.end < count) {
    w.meet({w.piece.end, std::min(count, w.piece.end + staged)}, until);
    w.run(until);
  }
  if (any_in_place) {
    // A caller gets its arena back only when no rank reads it any more.
    group_.advance(done_stage);
    group_.wait_all(done_stage, until);
  }
  group_.check();
}

} // namespace ballast::collectives
