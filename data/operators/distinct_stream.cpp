#include "data/operators/distinct_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "data/operators/key_lookup.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/operators/removed_rows.hpp"
#include "data/operators/row_partitions.hpp"
#include "data/operators/sorted_runs.hpp"
#include "data/source/column_choice.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <limits>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

class distinct_stream : public operator_stream {
public:
  distinct_stream(std::unique_ptr<record_stream> from,
                  std::unique_ptr<record_stream> against,
                  const std::vector<std::string>& on, operator_context context)
      : operator_stream(std::move(context)),
        input_(std::move(from), operator_stream::context()),
        memory_(memory_of(operator_stream::context())) {
    const auto names = compared_columns(*input_.schema(), on);
    for (const std::string& name : names)
      keys_.push_back(input_.find_key(name, "compares"));
    if (against != nullptr) {
      against_.emplace(std::move(against), operator_stream::context());
      for (const std::string& name : names)
        others_keys_.push_back(against_->find_key(name, "compares"));
      check_compared(*input_.schema(), *against_->schema(), names,
                     operator_stream::context());
    }
    will_remove(operator_stream::context());
    why_ = "is equal to an earlier row" +
           std::string(against_ ? ", or to one of the second input," : "") +
           (on.empty() ? " in all columns" : " in " + list_of(names));
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
    std::vector<int> wanted = keys_;
    wanted.push_back(input_.schema()->num_fields() - 1);
    input_.choose(with_keys(columns, wanted, places));
    if (against_)
      against_->choose(others_keys_);
    origin_at_ = places.back();
    places.pop_back();
    keys_ = std::move(places);
    numbered_ = with_numbers(input_.chosen(), "");
    number_ = input_.chosen()->num_fields();
  }

  batch produce() override {
    if (keys_.empty()) // only the origin is there: no two rows are told apart
      return input_.next();
    if (against_)
      see_others();
    if (!own_)
      own_.emplace([this] { return input_.next(); }, keys_,
                   table_of(first_, 0));
    while (!runs_)
      if (const std::optional<looked_up_batch> rows = own_->next()) {
        if (batch out = fresh_rows(*first_, *rows))
          return out;
      } else {
        end_of_input();
      }
    return runs_->next();
  }

  /// The keys of the second input, as if its rows came first.
  void see_others() {
    key_lookup others([this] { return next_others(); }, keys_,
                      table_of(first_, 0));
    while (const std::optional<looked_up_batch> rows = others.next())
      fresh_rows(*first_, *rows);
    others_ = position_;
    against_.reset();
  }

  /// The next rows of the second input as rows of the first. Null at the end.
  batch next_others() {
    const batch rows = against_->next();
    if (rows == nullptr)
      return nullptr;
    arrow::ArrayVector all(size_t(number_), nullptr);
    for (size_t i = 0; i < keys_.size(); ++i)
      all[size_t(keys_[i])] = rows->column(int(i));
    for (int i = 0; i < number_; ++i)
      if (all[size_t(i)] == nullptr)
        all[size_t(i)] =
            take_arrow(arrow::MakeArrayOfNull(input_.chosen()->field(i)->type(),
                                              rows->num_rows()),
                       errc::device_failed, context().name);
    return arrow::RecordBatch::Make(input_.chosen(), rows->num_rows(),
                                    std::move(all));
  }

  /// Of a level that is made when its first rows come.
  key_lookup::table_for table_of(std::optional<level>& at, int depth) const {
    return [this, &at, depth](bool words) -> key_table& {
      if (!at)
        at.emplace(new_level(words, depth));
      return at->seen;
    };
  }

  level new_level(bool words, int depth) const {
    // At the end of the bits no key is left out: there are few.
    return {key_table(words, false,
                      depth < partition_depth_max
                          ? memory_ / 4 * 3
                          : std::numeric_limits<int64_t>::max() / 2),
            depth};
  }

  /// The rows with a key that is new; null if there are none. Those in doubt go
  /// to the level's files. The input's rows get their numbers there.
  batch fresh_rows(level& at, const looked_up_batch& from) {
    const auto& [rows, keys, fresh, refused] = from;
    const uint64_t before = position_;
    position_ += uint64_t(rows->num_rows());
    if (!refused.empty()) {
      if (!at.doubtful)
        at.doubtful.emplace(numbered_, context(), memory_ / 4);
      std::vector<uint8_t> part;
      for (const uint32_t row : refused)
        part.push_back(uint8_t(keys->hash(row) >> at.depth * partition_bits &
                               (partitions - 1)));
      batch doubtful = taken(rows, refused, context());
      if (rows->num_columns() == number_) {
        std::vector<uint64_t> numbers;
        for (const uint32_t row : refused)
          numbers.push_back(before + row);
        doubtful = with_numbers(doubtful, numbered_, std::move(numbers));
      }
      at.doubtful->add(doubtful, part);
    }
    if (fresh.size() + refused.size() < size_t(rows->num_rows()))
      tell(from);
    return fresh.empty() ? nullptr : taken(rows, fresh, context());
  }

  /// Those of the rows that are neither new nor in doubt.
  void tell(const looked_up_batch& from) const {
    if (context().removed == nullptr)
      return;
    const arrow::RecordBatch& rows = *from.rows;
    row_indices gone;
    const auto row_in = [](const row_indices& some, size_t& at, uint32_t row) {
      at += size_t(at < some.size() && some[at] < row);
      return at < some.size() && some[at] == row;
    };
    size_t fresh = 0;
    size_t refused = 0;
    for (uint32_t row = 0; row < uint32_t(rows.num_rows()); ++row)
      if (!row_in(from.fresh, fresh, row) &&
          !row_in(from.refused, refused, row) && is_own(rows, row))
        gone.push_back(row);
    tell_removed(context(), rows, origin_at_, gone, why_);
  }

  /// None of the second input.
  bool is_own(const arrow::RecordBatch& rows, size_t row) const {
    if (rows.num_columns() > number_)
      return numbers_in(rows, number_)[row] >= others_;
    return !against_;
  }

  /// Of the rows of a part; null if there are none.
  batch own_rows(const batch& rows) const {
    if (others_ == 0 || rows == nullptr)
      return rows;
    row_indices own;
    for (uint32_t row = 0; row < uint32_t(rows->num_rows()); ++row)
      if (is_own(*rows, row))
        own.push_back(row);
    return own.empty() ? nullptr : taken(rows, own, context());
  }

  void end_of_input() {
    own_.reset(); // with its threads
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
    batch block;
    int64_t first = 0;
    const auto piece = [&]() -> batch {
      if (block == nullptr || first >= block->num_rows()) {
        block = from->next();
        first = 0;
      }
      if (block == nullptr)
        return nullptr;
      return block->Slice(std::exchange(first, first + rows_at_once),
                          rows_at_once);
    };
    std::optional<key_lookup> of_part;
    of_part.emplace(piece, keys_, table_of(at, depth));
    while (const std::optional<looked_up_batch> rows = of_part->next())
      if (const batch fresh = own_rows(fresh_rows(*at, *rows))) {
        if (!out)
          out.emplace(context(), numbered_);
        write_blocks(*out, fresh, runs_->block_bytes());
      }
    if (out)
      runs_->add(out->finish());
    of_part.reset();
    from.reset(); // and its file
    do_parts(at);
  }

  operator_input input_;
  std::optional<operator_input> against_; // until it was read
  std::vector<int> others_keys_;          // of its schema
  const int64_t memory_;
  std::string why_; // a row goes
  int origin_at_ = 0;
  uint64_t others_ = 0;   // rows of the second input, whose numbers come first
  std::vector<int> keys_; // of the input's schema, later of what is read
  std::shared_ptr<arrow::Schema> numbered_;
  int number_ = 0; // the column of the rows' numbers in files
  uint64_t position_ = 0;
  std::optional<level> first_;
  std::optional<sorted_runs> runs_; // once the input is read
  std::optional<key_lookup> own_;   // of the input; ends before its table
};

} // namespace

std::vector<std::string> compared_columns(const arrow::Schema& schema,
                                          const std::vector<std::string>& on) {
  std::vector<std::string> out = on;
  if (on.empty())
    for (const std::string& name : schema.field_names())
      if (name != origin_column)
        out.push_back(name);
  return out;
}

void check_compared(const arrow::Schema& first, const arrow::Schema& second,
                    const std::vector<std::string>& columns,
                    const operator_context& context) {
  for (const std::string& name : columns) {
    const auto own = first.GetFieldByName(name);
    const auto other = second.GetFieldByName(name);
    if (own != nullptr && other != nullptr &&
        !own->type()->Equals(other->type()))
      throw ballast_error(
          errc::invalid_data,
          context.pointer + "/on: column '" + printable(name) + "' is " +
              printable(own->type()->ToString(), 200) +
              " in the first input and " +
              printable(other->type()->ToString(), 200) +
              " in the second; expected one type: \"cast\" one of them",
          context.pointer + "/on");
  }
}

std::unique_ptr<record_stream>
distinct_rows(std::unique_ptr<record_stream> from,
              const std::vector<std::string>& on, operator_context context,
              std::unique_ptr<record_stream> against) {
  return std::make_unique<distinct_stream>(std::move(from), std::move(against),
                                           on, std::move(context));
}

} // namespace ballast::data
