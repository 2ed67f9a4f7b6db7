#include "data/operators/sorted_runs.hpp"

#include "data/operators/row_order.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <span>
#include <utility>

namespace ballast::data {

namespace {

// Files that one operator has open at once. A graph has several operators.
constexpr int64_t runs_at_once_max = 32;
constexpr int64_t runs_at_once_min = 4;
// A smaller block costs more than its rows.
constexpr int64_t block_bytes_min = 32 << 10;
constexpr int64_t block_bytes_max = 4 << 20;

/// The first block of a run that is not out yet.
struct run_head {
  spill_reader reader;
  std::shared_ptr<arrow::RecordBatch> block = nullptr;
  std::vector<key_column> keys = {};
  int64_t at = 0;

  uint32_t last() const { return uint32_t(block->num_rows() - 1); }
};

} // namespace

std::vector<key_column>
row_ordering::keys_of(const arrow::RecordBatch& batch) const {
  std::vector<key_column> out;
  out.reserve(by.size());
  for (const one& each : by)
    out.emplace_back(batch.column(each.column), each.use);
  return out;
}

void write_in_order(spill_writer& to,
                    const std::shared_ptr<arrow::RecordBatch>& rows,
                    const row_indices& order, int64_t block_bytes,
                    const operator_context& context) {
  const row_meter meter(*rows);
  std::span<const uint32_t> left(order);
  while (!left.empty()) {
    const size_t count = meter.that_fit(left, rows_at_once, block_bytes);
    to.write(*taken(rows, left.first(count), context));
    left = left.subspan(count);
  }
}

void write_blocks(spill_writer& to,
                  const std::shared_ptr<arrow::RecordBatch>& rows,
                  int64_t block_bytes) {
  const row_meter meter(*rows);
  for (int64_t at = 0; at < rows->num_rows();) {
    const int64_t fit = meter.that_fit_from(at, rows_at_once, block_bytes);
    to.write(*rows->Slice(at, fit));
    at += fit;
  }
}

/// Of runs that can all be open at once.
class sorted_runs::merge {
public:
  merge(const sorted_runs& of, std::vector<spilled_rows> runs) : of_(of) {
    for (spilled_rows& run : runs) {
      heads_.push_back({spill_reader(of.context_, std::move(run))});
      if (!fill(heads_.back()))
        heads_.pop_back();
    }
  }

  /// The rows that no further block can come before: at least one block is
  /// used up by each call.
  std::shared_ptr<arrow::RecordBatch> next() {
    if (heads_.empty())
      return nullptr;
    size_t first = 0; // whose block ends first
    for (size_t i = 1; i < heads_.size(); ++i)
      if (compare_rows(heads_[i].keys, heads_[i].last(), heads_[first].keys,
                       heads_[first].last()) < 0)
        first = i;
    std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
    for (size_t i = 0; i < heads_.size(); ++i) {
      run_head& head = heads_[i];
      const int64_t end = i == first ? head.block->num_rows()
                                     : end_of(head, heads_[first], i < first);
      if (end > head.at)
        parts.push_back(head.block->Slice(head.at, end - head.at));
      head.at = end;
    }
    const size_t count = parts.size();
    std::shared_ptr<arrow::RecordBatch> rows =
        together(of_.schema_, std::move(parts), of_.context_);
    if (count > 1)
      rows = taken(rows,
                   order_of(of_.ordering_.keys_of(*rows), rows->num_rows(),
                            of_.context_.stop),
                   of_.context_);
    std::erase_if(heads_, [this](run_head& head) {
      return head.at == head.block->num_rows() && !fill(head);
    });
    return rows;
  }

private:
  bool fill(run_head& head) const {
    head.block = head.reader.next();
    head.at = 0;
    if (head.block == nullptr)
      return false;
    head.block = arrow::RecordBatch::Make(of_.schema_, head.block->num_rows(),
                                          head.block->columns());
    head.keys = of_.ordering_.keys_of(*head.block);
    return true;
  }

  /// Up to which row those of `head` come before the last one of `bound`;
  /// `equal_too`: of an earlier run, equal rows do.
  static int64_t end_of(const run_head& head, const run_head& bound,
                        bool equal_too) {
    int64_t low = head.at;
    int64_t high = head.block->num_rows();
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const int order =
          compare_rows(head.keys, uint32_t(middle), bound.keys, bound.last());
      if (order < 0 || (order == 0 && equal_too))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  const sorted_runs& of_;
  std::vector<run_head> heads_;
};

sorted_runs::sorted_runs(std::shared_ptr<arrow::Schema> schema,
                         row_ordering ordering, const operator_context& context,
                         int64_t memory)
    : schema_(std::move(schema)), ordering_(std::move(ordering)),
      context_(context),
      // Twice: a block of each, and the rows that leave them.
      at_once_(size_t(std::clamp(memory / (2 * block_bytes_min),
                                 runs_at_once_min, runs_at_once_max))),
      block_bytes_(std::clamp(memory / (2 * int64_t(at_once_)),
                              block_bytes_min / 4, block_bytes_max)) {}

sorted_runs::~sorted_runs() = default;

void sorted_runs::add(spilled_rows run) {
  if (run.rows > 0)
    runs_.push_back(std::move(run));
}

/// Neighbours, so that equal rows stay in order. No more than is needed for
/// the last pass: the first merges then are of few runs.
void sorted_runs::merge_down() {
  while (runs_.size() > at_once_) {
    std::vector<spilled_rows> next;
    size_t too_many = runs_.size() - at_once_;
    for (size_t first = 0; first < runs_.size();) {
      const size_t count = std::min(
          {at_once_, runs_.size() - first, too_many > 0 ? too_many + 1 : 1});
      too_many -= std::min(too_many, count - 1);
      if (count == 1) {
        next.push_back(std::move(runs_[first++]));
        continue;
      }
      merge part(
          *this,
          {std::make_move_iterator(runs_.begin() + int64_t(first)),
           std::make_move_iterator(runs_.begin() + int64_t(first + count))});
      first += count;
      spill_writer out(context_, schema_);
      while (const std::shared_ptr<arrow::RecordBatch> rows = part.next())
        write_blocks(out, rows, block_bytes_);
      next.push_back(out.finish());
    }
    runs_ = std::move(next);
  }
}

std::shared_ptr<arrow::RecordBatch> sorted_runs::next() {
  if (last_ == nullptr) {
    merge_down();
    last_ = std::make_unique<merge>(*this, std::move(runs_));
    runs_.clear();
  }
  return last_->next();
}

} // namespace ballast::data
