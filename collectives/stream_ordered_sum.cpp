#include "collectives/stream_ordered_sum.hpp"

#include "collectives/fault_point.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ballast::collectives {

namespace {

constexpr uint32_t op_ordered_parts = 6; // beside those of stream_algorithms
/// On the wire the parts of a rank follow each other block by block, so that
/// the blocks of all ranks can be added as they arrive.
constexpr size_t wire_floats = size_t{16} << 10;
/// The parts that a rank receives before it adds them up and goes on.
constexpr size_t arriving_bytes_max = size_t{16} << 20;
/// The most that goes to everybody, and so to this rank from everybody.
constexpr size_t small_bytes_max = size_t{1} << 20;

member_list all_of(const stream_mesh& mesh) {
  member_list out;
  out.ranks.resize(static_cast<size_t>(mesh.size()));
  std::iota(out.ranks.begin(), out.ranks.end(), 0);
  out.me = mesh.rank();
  return out;
}

/// A range of some parts in the order of the wire.
class parts_source final : public byte_source {
public:
  parts_source(rank_parts parts, size_t how_many, slice range)
      : parts_(parts), many_(how_many), range_(range) {
    settle();
  }
  bool done() const override { return left_.empty(); }
  std::span<const char> ready() override { return left_; }
  void taken(size_t bytes) override {
    left_ = left_.subspan(bytes);
    if (left_.empty()) {
      part_ = (part_ + 1) % many_;
      range_.begin += part_ == 0 ? block() : 0;
      settle();
    }
  }

private:
  size_t block() const {
    return std::min(wire_floats, range_.end - range_.begin);
  }
  void settle() {
    if (many_ > 0 && block() > 0) {
      left_ = {reinterpret_cast<const char*>(
                   parts_.first + part_ * parts_.stride + range_.begin),
               block() * sizeof(float)};
    }
  }

  rank_parts parts_;
  size_t many_;
  slice range_; // what is left, from the current block on
  size_t part_ = 0;
  std::span<const char> left_; // of the block of this part
};

} // namespace

/// What one call adds up, and how far it has got with a piece.
struct stream_ordered_sum::exchange {
  const ledger::fixed_sum& how;
  rank_parts mine;
  float* out;
  bool everything = false; // every rank adds up all of it
  stream_label label{};
  int me = 0;
  std::vector<float*> places{};     // by rank: its parts as they arrived
  std::vector<rank_parts> blocks{}; // the same of the current block
  slice own{};                      // of the elements, to be added up here
  size_t added = 0;                 // of them

  size_t parts_of(int rank) const {
    return how.parts[static_cast<size_t>(rank)];
  }

  /// Adds up all whole blocks below `end`, of the own slice.
  void add_until(size_t end) {
    const size_t all = own.end - own.begin;
    while (added < all) {
      const size_t floats = std::min(wire_floats, all - added);
      if (added + floats > end) {
        return;
      }
      for (size_t r = 0; r < places.size(); ++r) {
        blocks[r] = {places[r] + added * how.parts[r], floats};
      }
      blocks[static_cast<size_t>(me)] = {mine.first + own.begin + added,
                                         mine.stride};
      add_in_order(how, blocks, 0, out + own.begin + added, floats);
      added += floats;
    }
  }
};

namespace {

/// The parts of the last rank: with them a block is complete.
template <class Exchange>
class completing_sink final : public byte_sink {
public:
  completing_sink(Exchange& x, float* place, size_t parts)
      : x_(x), in_(place, (x.own.end - x.own.begin) * parts * sizeof(float)),
        bytes_a_float_(parts * sizeof(float)) {}
  bool done() const override { return in_.done(); }
  std::span<char> room() override { return in_.room(); }
  void arrived(size_t bytes) override {
    in_.arrived(bytes);
    got_ += bytes;
    x_.add_until(bytes_a_float_ == 0 ? 0 : got_ / bytes_a_float_);
  }
  size_t coming() const override { return in_.coming(); }

private:
  Exchange& x_;
  buffer_sink in_;
  size_t bytes_a_float_; // of each element that all parts have
  size_t got_ = 0;
};

} // namespace

stream_ordered_sum::stream_ordered_sum(stream_mesh& mesh)
    : mesh_(mesh), everybody_(mesh, all_of(mesh)) {}

void stream_ordered_sum::sum(const ledger::fixed_sum& how, rank_parts mine,
                             float* out, size_t count, const link_cost& cost,
                             deadline until) {
  const auto n = static_cast<size_t>(mesh_.size());
  const size_t parts = all_parts(how);
  const size_t bytes = count * sizeof(float);
  exchange x{how, mine, out};
  x.me = mesh_.rank();
  x.places.resize(n);
  x.blocks.resize(n);
  // What a message holds more, against the message for the way back.
  const double more_bytes =
      double(bytes) / double(n) * (double(parts * (n - 1)) / double(n) - 1);
  x.everything = parts * bytes <= small_bytes_max &&
                 more_bytes * cost.byte_s <= cost.latency_s;
  x.label = {op_ordered_parts, hash_of(how), bytes};
  size_t piece = count;
  if (!x.everything) {
    const size_t fits = arriving_bytes_max / sizeof(float) / parts * n;
    piece = std::max(fits, n * wire_floats);
  }
  for (size_t at = 0; at < count; at += piece) {
    sum_piece(x, {at, std::min(count, at + piece)}, until);
  }
}

void stream_ordered_sum::sum_piece(exchange& x, slice piece, deadline until) {
  const int n = mesh_.size();
  const auto part_of = [&](int rank) {
    const slice s = x.everything ? slice{0, piece.end - piece.begin}
                                 : slice_of(piece.end - piece.begin, rank, n);
    return slice{piece.begin + s.begin, piece.begin + s.end};
  };
  x.own = part_of(x.me);
  x.added = 0;
  const size_t own_floats = x.own.end - x.own.begin;
  arrived_.resize(std::max(arrived_.size(),
                           own_floats * (all_parts(x.how) - x.parts_of(x.me))));
  size_t used = 0;
  for (int r = 0; r < n; ++r) {
    x.places[static_cast<size_t>(r)] = arrived_.data() + used;
    used += r == x.me ? 0 : own_floats * x.parts_of(r);
  }
  // Frames without parts travel, too: they say that the calls are alike.
  for (int distance = 1; distance < n; ++distance) {
    const int to = everybody_.members().around(distance);
    const int from = everybody_.members().around(-distance);
    parts_source source(x.mine, x.parts_of(x.me), part_of(to));
    float* place = x.places[static_cast<size_t>(from)];
    if (distance < n - 1) {
      buffer_sink sink(place, own_floats * x.parts_of(from) * sizeof(float));
      mesh_.transfer(x.label, &source, to, &sink, from, until);
    } else {
      completing_sink<exchange> sink(x, place, x.parts_of(from));
      mesh_.transfer(x.label, &source, to, &sink, from, until);
    }
  }
  x.add_until(own_floats);
  reach(fault_point::between_phases, x.me);
  if (!x.everything) {
    everybody_.all_gather(x.out + piece.begin, piece.end - piece.begin,
                          element_type::float32, until);
  }
}

} // namespace ballast::collectives
