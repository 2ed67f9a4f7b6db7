#include "data/operators/shuffle_stream.hpp"

#include "data/operators/held_rows.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/operators/row_partitions.hpp"
#include "runtime/base/random.hpp"

#include <arrow/api.h>

#include <optional>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

// Of counter_random: part of what a seed means, so it never changes.
constexpr uint64_t shuffle_stream_number = 0x73687566666c65; // "shuffle"

class shuffle_stream : public operator_stream {
public:
  shuffle_stream(std::unique_ptr<record_stream> from, operator_context context)
      : operator_stream(std::move(context)),
        input_(std::move(from), operator_stream::context()),
        random_(operator_stream::context().seed, shuffle_stream_number) {
    set_schema(input_.schema());
  }

private:
  /// A file of rows whose numbers begin alike.
  struct part {
    spilled_rows rows;
    int depth = 0; // of the bits that share out its rows
  };

  void begin(const std::vector<int>& columns) override {
    input_.choose(columns);
    numbered_ = with_numbers(input_.chosen(), "");
    number_ = int(columns.size());
    ordering_.by = {{number_, key_use::ascending}};
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    if (!std::exchange(read_, true))
      order([this] { return numbered(); }, 0);
    for (;;) {
      if (std::shared_ptr<arrow::RecordBatch> rows = in_memory_.next())
        return rows;
      if (parts_.empty())
        return nullptr;
      part next = std::move(parts_.back());
      parts_.pop_back();
      spill_reader reader(context(), std::move(next.rows));
      order([&] { return reader.next(); }, next.depth);
    }
  }

  /// The next rows of the input, with their numbers.
  std::shared_ptr<arrow::RecordBatch> numbered() {
    const std::shared_ptr<arrow::RecordBatch> rows = input_.next();
    if (rows == nullptr)
      return nullptr;
    std::vector<uint64_t> numbers(size_t(rows->num_rows()));
    for (uint64_t& one : numbers)
      one = random_.at(position_++);
    return with_numbers(rows, numbered_, std::move(numbers));
  }

  /// In memory if they fit, else in parts, which come next.
  template <class Next>
  void order(Next next_rows, int depth) {
    held_rows held(numbered_, context(), 1);
    std::optional<row_partitions> shared;
    while (std::shared_ptr<arrow::RecordBatch> rows = next_rows()) {
      if (!shared && depth <= partition_depth_max &&
          held.would_be_too_many(*rows)) {
        shared.emplace(numbered_, context(), memory_of(context()) / 4);
        for (std::shared_ptr<arrow::RecordBatch>& one : held.take())
          share(*shared, std::exchange(one, nullptr), depth);
      }
      if (shared)
        share(*shared, rows, depth);
      else
        held.add(std::move(rows));
    }
    if (!shared) {
      in_memory_ = held.in_order(ordering_);
      return;
    }
    std::vector<std::optional<spilled_rows>> parts = shared->finish();
    for (auto one = parts.rbegin(); one != parts.rend(); ++one)
      if (*one)
        parts_.push_back({std::move(**one), depth + 1});
  }

  void share(row_partitions& among,
             const std::shared_ptr<arrow::RecordBatch>& rows, int depth) const {
    std::vector<uint8_t> of;
    for (const uint64_t number : numbers_in(*rows, number_))
      of.push_back(uint8_t(number >> (64 - (depth + 1) * partition_bits) &
                           (partitions - 1)));
    among.add(rows, of);
  }

  operator_input input_;
  const counter_random random_;
  uint64_t position_ = 0;
  std::shared_ptr<arrow::Schema> numbered_;
  int number_ = 0; // the column of the numbers
  row_ordering ordering_;
  bool read_ = false;
  ordered_rows in_memory_;
  std::vector<part> parts_; // the next one last
};

} // namespace

std::unique_ptr<record_stream> shuffle_rows(std::unique_ptr<record_stream> from,
                                            operator_context context) {
  return std::make_unique<shuffle_stream>(std::move(from), std::move(context));
}

} // namespace ballast::data
