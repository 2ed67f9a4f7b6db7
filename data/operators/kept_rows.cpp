#include "data/operators/kept_rows.hpp"

#include "data/base/arrow_support.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/row_batches.hpp"
#include "data/operators/spill_file.hpp"
#include "runtime/base/check.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {
using kept_batch = std::shared_ptr<arrow::RecordBatch>;
} // namespace

/// Batches are numbered as they come; a reader is known by its number. Whoever
/// computes rows holds the lock meanwhile, and waits at most for what lies
/// before this node: no circle of those who wait for each other.
class kept_rows::store {
public:
  store(stream_pointer from, operator_context context, late_readers later)
      : context_(std::move(context)), input_(std::move(from), context_),
        again_(later != late_readers::none) {
    if (later != late_readers::any_columns)
      return;
    wanted_.resize(size_t(input_.schema()->num_fields()));
    std::iota(wanted_.begin(), wanted_.end(), 0);
  }

  const operator_context& context() const { return context_; }
  const std::shared_ptr<arrow::Schema>& schema() const {
    return input_.schema();
  }

  uint64_t add_reader() {
    const std::lock_guard lock(mutex_);
    readers_[++last_reader_] = {};
    return last_reader_;
  }
  void remove_reader(uint64_t reader) {
    const std::lock_guard lock(mutex_);
    readers_.erase(reader);
    drop();
  }
  void want(const std::vector<int>& columns) {
    const std::lock_guard lock(mutex_);
    if (begun_) // again, of those that another wanted
      for (int column : columns)
        BALLAST_CHECK(place_in_kept(column) >= 0, "a column that was not kept");
    else
      wanted_.insert(wanted_.end(), columns.begin(), columns.end());
  }
  /// Of a column in what read() returns.
  int place_of(int column) const {
    const std::lock_guard lock(mutex_);
    return place_in_kept(column);
  }

  /// The next batch of this reader; null at the end.
  kept_batch read(uint64_t reader) {
    const std::lock_guard lock(mutex_);
    begin();
    place& at = readers_.at(reader);
    if (at.next == count_) {
      kept_batch rows = ended_ ? nullptr : input_.next();
      if (rows == nullptr) {
        ended_ = true;
        at.file.reset();
        return nullptr;
      }
      ++at.next;
      keep(rows);
      return rows;
    }
    if (at.next >= first_ && at.next < first_ + held_.size()) {
      kept_batch rows = held_[at.next++ - first_].rows;
      drop();
      return rows;
    }
    return from_file(at);
  }

private:
  struct place {
    uint64_t next = 0; // batch
    std::optional<spill_view> file = std::nullopt;
    uint64_t in_file = 0; // the batch that `file` gives next
  };
  struct held {
    kept_batch rows;
    int64_t bytes = 0;
  };

  int place_in_kept(int column) const {
    const auto found = std::lower_bound(wanted_.begin(), wanted_.end(), column);
    return found != wanted_.end() && *found == column
               ? int(found - wanted_.begin())
               : -1;
  }

  void begin() {
    if (std::exchange(begun_, true))
      return;
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    input_.choose(wanted_);
  }

  void keep(const kept_batch& rows) {
    ++count_;
    if (file_) {
      file_->write(*rows);
      return;
    }
    held_.push_back({rows, bytes_of(*rows)});
    held_bytes_ += held_.back().bytes;
    drop();
    if (held_bytes_ <= memory_of(context_))
      return;
    file_.emplace(context_, input_.chosen());
    file_first_ = first_;
    for (; !held_.empty(); held_.pop_front(), ++first_)
      file_->write(*held_.front().rows);
    held_bytes_ = 0;
  }

  /// From memory what every reader has had.
  void drop() {
    if (again_)
      return;
    uint64_t least = std::numeric_limits<uint64_t>::max();
    for (const auto& [number, one] : readers_)
      least = std::min(least, one.next);
    for (; !held_.empty() && first_ < least; held_.pop_front(), ++first_)
      held_bytes_ -= held_.front().bytes;
  }

  kept_batch from_file(place& at) {
    if (!at.file) {
      at.file.emplace(context_, file_->path());
      at.in_file = file_first_;
    }
    kept_batch rows;
    for (; at.in_file <= at.next; ++at.in_file) {
      rows = at.file->next();
      BALLAST_CHECK(rows != nullptr, "a kept batch is in the file");
    }
    ++at.next;
    return rows;
  }

  const operator_context context_;
  mutable std::mutex mutex_; // guards the following
  operator_input input_;
  const bool again_;
  std::vector<int> wanted_; // columns, each once from begin() on
  std::map<uint64_t, place> readers_;
  uint64_t last_reader_ = 0;
  uint64_t count_ = 0; // batches that have come
  uint64_t first_ = 0; // of held_
  std::deque<held> held_;
  int64_t held_bytes_ = 0;
  std::optional<spill_writer> file_;
  uint64_t file_first_ = 0;
  bool begun_ = false;
  bool ended_ = false;
};

class kept_reader final : public operator_stream {
public:
  kept_reader(std::shared_ptr<kept_rows> of, operator_context context)
      : operator_stream(std::move(context)), of_(std::move(of)),
        number_(of_->store_->add_reader()) {
    set_schema(of_->store_->schema());
  }
  ~kept_reader() override { of_->store_->remove_reader(number_); }

protected:
  void begin(const std::vector<int>& columns) override {
    columns_ = columns;
    of_->store_->want(columns_);
  }

  kept_batch produce() override {
    const kept_batch rows = of_->store_->read(number_);
    if (rows == nullptr)
      return nullptr;
    arrow::ArrayVector out;
    arrow::FieldVector fields;
    for (int column : columns_) {
      out.push_back(rows->column(of_->store_->place_of(column)));
      fields.push_back(arrow::field("", out.back()->type()));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                    rows->num_rows(), std::move(out));
  }

private:
  const std::shared_ptr<kept_rows> of_;
  const uint64_t number_;
  std::vector<int> columns_;
};

kept_rows::kept_rows(stream_pointer from, operator_context context,
                     late_readers later)
    : store_(std::make_unique<store>(std::move(from), std::move(context),
                                     later)) {}
kept_rows::~kept_rows() = default;

stream_pointer kept_rows::reader(const std::shared_ptr<kept_rows>& of) {
  return std::make_unique<kept_reader>(of, of->store_->context());
}

} // namespace ballast::data
