#include "data/operators/distinct_stream.hpp"

#include "data/operators/key_table.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/operators/row_partitions.hpp"
#include "data/operators/sorted_runs.hpp"

#include <arrow/api.h>

#include <limits>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

class distinct_stream : public operator_stream {
public:
  distinct_stream(std::unique_ptr<record_stream> from,
                  const std::vector<std::string>& on, operator_context context)
      : operator_stream(std::move(context)),
        input_(std::move(from), operator_stream::context()),
        memory_(memory_of(operator_stream::context())) {
    std::vector<std::string> names = on;
    if (on.empty())
      for (const std::string& name : input_.schema()->field_names())
        if (name != origin_column)
          names.push_back(name);
    for (const std::string& name : names)
      keys_.push_back(input_.find_key(name, "compares"));
    set_schema(input_.schema());
  }

private:
  using batch = std::shared_ptr<arrow::RecordBatch>;
  /// Of one level: the keys that fit, and the rows whose keys do not.
  struct level {
    key_table seen;
    int depth = 0;
    std::optional<row_partitions> doubtful = std::nullopt;
  };

  void begin(const std::vector<int>& columns) override {
    std::vector<int> places;
    input_.choose(with_keys(columns, keys_, places));
    keys_ = std::move(places);
    numbered_ = with_numbers(input_.chosen(), "");
    number_ = input_.chosen()->num_fields();
  }

  batch produce() override {
    if (keys_.empty()) // only the origin is there: no two rows are told apart
      return input_.next();
    while (!runs_)
      if (const batch rows = input_.next()) {
        if (!first_)
          first_.emplace(new_level(*rows, 0));
        if (batch out = fresh_rows(*first_, rows))
          return out;
      } else {
        end_of_input();
      }
    return runs_->next();
  }

  arrow::ArrayVector key_columns(const arrow::RecordBatch& rows) const {
    arrow::ArrayVector out;
    for (int key : keys_)
      out.push_back(rows.column(key));
    return out;
  }

  level new_level(const arrow::RecordBatch& rows, int depth) const {
    // At the end of the bits no key is left out: there are few.
    return {key_table(equal_keys::are_words(key_columns(rows)), false,
                      depth < partition_depth_max
                          ? memory_ / 4 * 3
                          : std::numeric_limits<int64_t>::max() / 2),
            depth};
  }

  /// The rows with a key that is new; null if there are none. Those in doubt go
  /// to the level's files. The input's rows get their numbers there.
  batch fresh_rows(level& at, const batch& rows) {
    const equal_keys keys(key_columns(*rows));
    at.seen.add(keys, fresh_, refused_);
    const uint64_t before = position_;
    position_ += uint64_t(rows->num_rows());
    if (!refused_.empty()) {
      if (!at.doubtful)
        at.doubtful.emplace(numbered_, context(), memory_ / 4);
      std::vector<uint8_t> part;
      for (const uint32_t row : refused_)
        part.push_back(uint8_t(keys.hash(row) >> at.depth * partition_bits &
                               (partitions - 1)));
      batch doubtful = taken(rows, refused_, context());
      if (rows->num_columns() == number_) {
        std::vector<uint64_t> numbers;
        for (const uint32_t row : refused_)
          numbers.push_back(before + row);
        doubtful = with_numbers(doubtful, numbered_, std::move(numbers));
      }
      at.doubtful->add(doubtful, part);
    }
    return fresh_.empty() ? nullptr : taken(rows, fresh_, context());
  }

  void end_of_input() {
    runs_.emplace(numbered_, row_ordering{{{number_, key_use::ascending}}},
                  context(), memory_);
    do_parts(first_);
  }

  /// The files of a level whose own rows are done.
  void do_parts(std::optional<level>& done) {
    if (!done || !done->doubtful)
      return;
    std::vector<std::optional<spilled_rows>> parts = done->doubtful->finish();
    const int depth = done->depth + 1;
    done.reset(); // its memory is for the next
    for (std::optional<spilled_rows>& part : parts)
      if (part)
        do_part(*std::exchange(part, std::nullopt), depth);
  }

  void do_part(spilled_rows part, int depth) {
    std::optional<level> at;
    std::optional<spill_writer> out;
    std::optional<spill_reader> from;
    from.emplace(context(), std::move(part));
    while (const batch rows = from->next()) {
      if (!at)
        at.emplace(new_level(*rows, depth));
      for (int64_t first = 0; first < rows->num_rows(); first += rows_at_once)
        if (const batch fresh =
                fresh_rows(*at, rows->Slice(first, rows_at_once))) {
          if (!out)
            out.emplace(context(), numbered_);
          write_blocks(*out, fresh, runs_->block_bytes());
        }
    }
    if (out)
      runs_->add(out->finish());
    from.reset(); // and its file
    do_parts(at);
  }

  operator_input input_;
  const int64_t memory_;
  std::vector<int> keys_; // of the input's schema, later of what is read
  std::shared_ptr<arrow::Schema> numbered_;
  int number_ = 0; // the column of the rows' numbers in files
  uint64_t position_ = 0;
  std::optional<level> first_;
  std::optional<sorted_runs> runs_; // once the input is read
  row_indices fresh_;
  row_indices refused_;
};

} // namespace

std::unique_ptr<record_stream>
distinct_rows(std::unique_ptr<record_stream> from, std::vector<std::string> on,
              operator_context context) {
  return std::make_unique<distinct_stream>(std::move(from), on,
                                           std::move(context));
}

} // namespace ballast::data
