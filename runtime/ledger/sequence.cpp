#include "runtime/ledger/sequence.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/random.hpp"
#include "runtime/ledger/epoch_uses.hpp"
#include "runtime/ledger/permutation.hpp"

#include <algorithm>
#include <utility>

namespace ballast::ledger {

struct sequence::layout {
  uint64_t seed;
  epoch_number epoch;
  counter_random random;
  shared_list<interval> intervals;
  /// By distinct chunk of the share, in the order of the intervals.
  std::vector<uint32_t> chunk_rows;
  /// interval -> its index in chunk_rows.
  std::vector<uint32_t> chunk_index;
  /// With a window: the epoch's order; without one empty, and the intervals
  /// stand in their own order.
  uint32_t window = 0;
  std::vector<uint32_t> order;
  std::shared_ptr<const epoch_uses> uses; // null: each row once
};

namespace {

/// Every (epoch, since, stream) has its own random numbers.
uint64_t draw_stream(epoch_number epoch, const share& part) {
  uint64_t stream = mix(uint64_t(stream_purpose::draw), value(epoch));
  stream = mix(stream, part.stream);
  return mix(stream, value(part.since));
}

/// In `order`, or in the share's if that is empty.
std::vector<uint32_t> remaining_rows(const share& part,
                                     const std::vector<uint32_t>& cursors,
                                     const std::vector<uint32_t>& order) {
  BALLAST_CHECK(cursors.size() == part.intervals.size(),
                "one cursor per interval of the share");
  std::vector<uint32_t> left(cursors.size());
  for (size_t k = 0; k < left.size(); ++k) {
    const size_t i = order.empty() ? k : order[k];
    BALLAST_CHECK(cursors[i] <= rows(part.intervals[i]),
                  "a cursor lies inside its interval");
    left[k] = rows(part.intervals[i]) - cursors[i];
  }
  return left;
}

} // namespace

std::vector<uint32_t> epoch_order(uint64_t seed, epoch_number epoch,
                                  const share& part) {
  const uint64_t stream =
      mix(mix(uint64_t(stream_purpose::chunk_turn), value(epoch)), seed);
  std::vector<std::pair<uint64_t, uint32_t>> ranked(part.intervals.size());
  for (uint32_t i = 0; i < ranked.size(); ++i)
    ranked[i] = {mix(stream, value(part.intervals[i].chunk)), i};
  std::sort(ranked.begin(), ranked.end());
  std::vector<uint32_t> out(ranked.size());
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = ranked[k].second;
  return out;
}

sequence::sequence(uint64_t seed, epoch_number epoch, const share& part,
                   const std::vector<uint32_t>& chunk_rows,
                   std::vector<uint32_t> cursors, uint64_t draws,
                   uint32_t window, std::shared_ptr<const epoch_uses> uses)
    : cursors_(std::move(cursors)), remaining_({}), draws_(draws) {
  auto made = std::make_shared<layout>(
      layout{.seed = seed,
             .epoch = epoch,
             .random = counter_random(seed, draw_stream(epoch, part)),
             .intervals = part.intervals,
             .chunk_rows = {},
             .chunk_index = {},
             .window = window,
             .order = {},
             .uses = std::move(uses)});
  if (window > 0)
    made->order = epoch_order(seed, epoch, part);
  remaining_ = fenwick_tree(remaining_rows(part, cursors_, made->order));
  rows_left_ = remaining_.total();
  made->chunk_index.reserve(part.intervals.size());
  for (size_t i = 0; i < part.intervals.size(); ++i) {
    const interval& piece = part.intervals[i];
    BALLAST_CHECK(value(piece.chunk) < chunk_rows.size() &&
                      piece.end <= chunk_rows[value(piece.chunk)],
                  "an interval lies inside its chunk");
    if (i == 0 || part.intervals[i - 1].chunk != piece.chunk)
      made->chunk_rows.push_back(chunk_rows[value(piece.chunk)]);
    made->chunk_index.push_back(uint32_t(made->chunk_rows.size() - 1));
  }
  layout_ = std::move(made);
  if (window > 0)
    fill_window();
}

/// Takes in intervals with rows left until as many are there as there may be.
void sequence::fill_window() {
  const layout& fixed = *layout_;
  for (; window_size_ < fixed.window && window_end_ < fixed.order.size();
       ++window_end_) {
    const uint32_t i = fixed.order[window_end_];
    const uint32_t left = rows(fixed.intervals[i]) - cursors_[i];
    window_rows_ += left;
    window_size_ += left > 0 ? 1 : 0;
  }
}

/// One draw: returns its interval and advances that interval's cursor.
inline size_t sequence::pick() {
  const layout& fixed = *layout_;
  const bool windowed = fixed.window > 0;
  // What lies behind the window has the higher prefix sums.
  const uint64_t among = windowed ? window_rows_ : rows_left_;
  size_t which = remaining_.take(fixed.random.below(among, draws_));
  --rows_left_;
  ++draws_;
  if (!windowed) {
    ++cursors_[which];
    return which;
  }
  which = fixed.order[which];
  --window_rows_;
  if (++cursors_[which] == rows(fixed.intervals[which])) {
    --window_size_;
    fill_window();
  }
  return which;
}

const std::vector<uint32_t>& sequence::order_of(size_t which) {
  const layout& fixed = *layout_;
  if (orders_.empty())
    orders_.resize(fixed.chunk_rows.size());
  uint32_t index = fixed.chunk_index[which];
  auto& order = orders_[index];
  if (!order)
    order = std::make_shared<const std::vector<uint32_t>>(
        fixed.uses
            ? fixed.uses->order(fixed.epoch, fixed.intervals[which].chunk)
            : epoch_permutation(fixed.seed, fixed.epoch,
                                fixed.intervals[which].chunk,
                                fixed.chunk_rows[index]));
  return *order;
}

row_ref sequence::draw() {
  BALLAST_CHECK(rows_left_ > 0, "a draw needs a row that is left");
  size_t which = pick();
  const interval& piece = layout_->intervals[which];
  const row_ref out{piece.chunk,
                    order_of(which)[piece.begin + cursors_[which] - 1]};
  // What a window has left behind is not drawn from again. Another interval of
  // the chunk makes the order anew.
  if (layout_->window > 0 && cursors_[which] == rows(piece))
    orders_[layout_->chunk_index[which]].reset();
  return out;
}

void sequence::draw(uint64_t count, std::vector<row_ref>& out) {
  BALLAST_CHECK(count <= rows_left_, "draws need rows that are left");
  out.reserve(out.size() + count);
  for (; count > 0; --count)
    out.push_back(draw());
}

void sequence::skip(uint64_t count) {
  BALLAST_CHECK(count <= rows_left_, "draws need rows that are left");
  for (; count > 0; --count)
    pick();
}

void sequence::upcoming(std::vector<chunk_id>& out) const {
  const layout& fixed = *layout_;
  const size_t before = out.size();
  for (uint32_t i : fixed.order) {
    const interval& piece = fixed.intervals[i];
    // The intervals of a chunk stand side by side.
    if (cursors_[i] < rows(piece) &&
        (out.size() == before || out.back() != piece.chunk))
      out.push_back(piece.chunk);
  }
}

bool sequence::has_window() const {
  return layout_->window > 0;
}
uint64_t sequence::rows_left() const {
  return rows_left_;
}
uint64_t sequence::draws() const {
  return draws_;
}
const std::vector<uint32_t>& sequence::cursors() const {
  return cursors_;
}

uint64_t sequence::digest() const {
  return cursor_digest(layout_->epoch, draws_, cursors_);
}

uint64_t cursor_digest(epoch_number epoch, uint64_t draws,
                       const std::vector<uint32_t>& cursors) {
  // Multiply and rotate over all words, then a strong mix: cheap for thousands
  // of cursors, and any single difference changes the result.
  uint64_t hash = mix(value(epoch), draws);
  for (uint32_t cursor : cursors) {
    hash = (hash ^ cursor) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  return mix(hash, cursors.size());
}

} // namespace ballast::ledger
