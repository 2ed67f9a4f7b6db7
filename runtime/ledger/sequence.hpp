/// The order in which a worker consumes its rows: a pure function of (seed,
/// epoch, share, draw number), share = (the last plan that changed its
/// intervals, its stream under that plan).
///
/// One draw picks an interval of the share with probability proportional to its
/// remaining rows (counter-based random numbers, integers only, a Fenwick
/// tree), and takes that interval's next permuted row. This is exactly a
/// uniform shuffle of all rows of the worker; and the state of an epoch is one
/// cursor for each interval, so that any process can compute the position of
/// any other, a dead one included.
///
/// With a window, only the first intervals in the epoch's order that have rows
/// left take part in a draw, as many as the window has: a shuffle that needs no
/// more than these chunks in memory. Which they are follows from the cursors
/// alone; and the epoch's order ranks chunks, not a share's intervals, so rows
/// that another worker has begun with are begun with here.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/ledger/fenwick.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace ballast::ledger {

class epoch_uses; // epoch_uses.hpp

/// Of a window.
constexpr uint32_t window_chunks_max = 65536;

/// A row of a chunk in storage order.
struct row_ref {
  chunk_id chunk{};
  uint32_t row = 0;
  friend auto operator<=>(const row_ref&, const row_ref&) = default;
};

/// The row order of a chunk in an epoch: position -> row.
std::vector<uint32_t> epoch_permutation(uint64_t seed, epoch_number epoch,
                                        chunk_id chunk, uint32_t chunk_rows);

/// The intervals of a share, by their index in it, in the order in which a
/// window of an epoch takes them in.
std::vector<uint32_t> epoch_order(uint64_t seed, epoch_number epoch,
                                  const share& part);

/// A hash of a position, to detect that two processes disagree.
uint64_t cursor_digest(epoch_number epoch, uint64_t draws,
                       const std::vector<uint32_t>& cursors);

/// One share's sequence within one epoch. A value: copy it to look ahead, keep
/// a copy to go back.
class sequence {
public:
  /// `cursors[i]` rows of `part.intervals[i]` are consumed already in `epoch`;
  /// this share made `draws` draws in it. `chunk_rows[c]` = rows of chunk c.
  /// `window`: intervals that a draw chooses from; 0 = all. `uses`: says which
  /// rows those of a chunk are; null: each once.
  sequence(uint64_t seed, epoch_number epoch, const share& part,
           const std::vector<uint32_t>& chunk_rows,
           std::vector<uint32_t> cursors, uint64_t draws, uint32_t window = 0,
           std::shared_ptr<const epoch_uses> uses = nullptr);

  /// The next row. Precondition: rows_left() > 0.
  row_ref draw();
  /// Appends the next `count` rows to `out`. Precondition: enough rows are
  /// left.
  void draw(uint64_t count, std::vector<row_ref>& out);

  /// Draws without looking up rows: faster, for following another worker.
  void skip(uint64_t count);

  /// Of a sequence with a window: appends the chunks that have rows left, each
  /// once, in the order in which the window takes them in.
  void upcoming(std::vector<chunk_id>& out) const;
  bool has_window() const;
  /// How many intervals have been in the window.
  uint32_t window_end() const { return window_end_; }

  uint64_t rows_left() const;
  uint64_t draws() const;
  /// Consumed rows of each interval, in the share's order.
  const std::vector<uint32_t>& cursors() const;
  /// Of its position.
  uint64_t digest() const;

private:
  /// The constants of the sequence; shared between copies.
  struct layout;
  size_t pick();
  void fill_window();
  const std::vector<uint32_t>& order_of(size_t interval);

  std::shared_ptr<const layout> layout_;
  std::vector<uint32_t> cursors_;
  fenwick_tree remaining_;
  uint64_t rows_left_ = 0;
  uint64_t draws_ = 0;
  /// Of the intervals in the window: how many have rows left, these rows, and
  /// where in the epoch's order it ends.
  uint32_t window_size_ = 0;
  uint64_t window_rows_ = 0;
  uint32_t window_end_ = 0;
  /// Row orders by distinct chunk of the share, computed at its first draw;
  /// empty until then, so that following another worker needs none.
  std::vector<std::shared_ptr<const std::vector<uint32_t>>> orders_;
};

} // namespace ballast::ledger
