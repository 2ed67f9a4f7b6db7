#include "data/fitting/fitted_stream.hpp"

#include "data/base/ordered_work.hpp"
#include "data/expression/binding.hpp"
#include "data/fitting/fit_rows.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/removed_rows.hpp"
#include "data/operators/row_batches.hpp"
#include "data/source/bad_rows.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

class fitted_stream final : public operator_stream {
public:
  fitted_stream(stream_pointer from, fitted_terms terms,
                operator_context context)
      : operator_stream(std::move(context)), terms_(std::move(terms)),
        in_(std::move(from), this->context()) {
    prepare_functions();
    const arrow::Schema& input = *in_.schema();
    check_schema(*terms_.state, input, this->context().pointer);
    for (const learned_column& one : terms_.state->columns)
      if (!one.target)
        given_.push_back(input.GetFieldIndex(one.name));
    columns_ = terms_.what->layout(input, *terms_.state);
    columns_.push_back(
        {origin_column, arrow::uint64(), input.num_fields() - 1});
    arrow::FieldVector fields;
    for (const output_column& one : columns_)
      fields.push_back(
          arrow::field(one.name, one.type,
                       one.input < 0 || input.field(one.input)->nullable()));
    set_schema(arrow::schema(std::move(fields)));
    bound_ = terms_.what->bind(terms_.state);
    if (terms_.what->drops_rows())
      will_remove(this->context());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    std::vector<int> place;
    for (int column : columns)
      applies_ = applies_ || columns_[size_t(column)].made >= 0;
    applies_ = applies_ || terms_.what->drops_rows();
    std::vector<int> read;
    if (applies_)
      read = with_keys({}, given_, given_at_);
    read = with_keys(std::move(read), {in_.schema()->num_fields() - 1}, place);
    origin_at_ = place[0];
    arrow::FieldVector fields;
    for (int column : columns) {
      const output_column& one = columns_[size_t(column)];
      wanted_.push_back({-1, one.made});
      fields.push_back(arrow::field(one.name, one.type));
      if (one.made >= 0)
        continue;
      read = with_keys(std::move(read), {one.input}, place);
      wanted_.back().first = place[0];
    }
    wanted_schema_ = arrow::schema(std::move(fields));
    const auto made =
        std::count_if(columns_.begin(), columns_.end(),
                      [](const output_column& one) { return one.made >= 0; });
    rows_max_ = std::clamp(
        int64_t(std::bit_floor(uint64_t(cells_most) /
                               std::max<uint64_t>(1, uint64_t(made)))),
        rows_least, fit_batch_rows);
    in_.choose(read);
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    while (const std::optional<changed_batch> one = changed()) {
      tell_removed(context(), *one->given, origin_at_, one->removed);
      rows_out_ += uint64_t(one->rows->num_rows());
      if (one->rows->num_rows() > 0)
        return one->rows;
    }
    if (rows_in_ > rows_out_ && terms_.note)
      terms_.note(context().pointer + ": \"" + terms_.what->terms().step() +
                  "\" left out " + std::to_string(rows_in_ - rows_out_) +
                  " of " + std::to_string(rows_in_) + " rows" +
                  (terms_.of_training ? " that it was fitted on" : ""));
    return nullptr;
  }

private:
  using rows_pointer = std::shared_ptr<arrow::RecordBatch>;
  struct changed_batch {
    rows_pointer rows; // maybe none
    rows_pointer given;
    std::vector<bad_row> removed; // of these
  };
  /// Of what is made of a batch, so that it stays near the core that makes it;
  /// but so many rows at least, and no more than are fitted at once. A power of
  /// two: what is fitted on them is cut where they end.
  static constexpr int64_t cells_most = 1 << 19;
  static constexpr int64_t rows_least = 256;

  /// Nothing at the end.
  std::optional<changed_batch> changed() {
    const size_t threads = terms_.threads > 0 ? terms_.threads : work_threads();
    if (bound_->in_order() || threads == 1) {
      const rows_pointer rows = next_rows();
      if (rows == nullptr)
        return std::nullopt;
      return made_of(rows, count(*rows));
    }
    if (!work_)
      work_.emplace(threads, "bl-fitted");
    while (!all_given_ && work_->under_way() < work_->wanted()) {
      const rows_pointer rows = next_rows();
      all_given_ = rows == nullptr;
      if (rows != nullptr)
        work_->give([this, rows, first = count(*rows)] {
          return made_of(rows, first);
        });
    }
    if (work_->under_way() == 0)
      return std::nullopt;
    return work_->take();
  }

  /// Fewer at once where many columns are made of them. Null at the end.
  rows_pointer next_rows() {
    if (rest_ == nullptr)
      rest_ = in_.next();
    rows_pointer all = std::exchange(rest_, nullptr);
    if (all == nullptr || all->num_rows() <= rows_max_)
      return all;
    rest_ = all->Slice(rows_max_);
    return all->Slice(0, rows_max_);
  }

  /// Of the first of these rows, in what came in.
  uint64_t count(const arrow::RecordBatch& rows) {
    return std::exchange(rows_in_, rows_in_ + uint64_t(rows.num_rows()));
  }

  std::string place_in(const arrow::RecordBatch& rows, uint64_t first,
                       int64_t row) const {
    if (context().origins == nullptr)
      return printable(context().name) + ": row " +
             std::to_string(first + uint64_t(row) + 1);
    return context().origins->place_of(
        numbers_in(rows, origin_at_)[size_t(row)]);
  }

  /// Any thread.
  changed_batch made_of(const rows_pointer& rows, uint64_t first) const {
    given_rows given;
    for (int place : given_at_)
      given.columns.push_back(rows->column(place));
    given.rows = rows->num_rows();
    given.first_row = first;
    given.of_training = terms_.of_training;
    given.place = [&](int64_t row) { return place_in(*rows, first, row); };
    made_rows made = applies_ ? bound_->apply(given) : made_rows();
    arrow::ArrayVector out;
    for (const auto& [input, made_at] : wanted_)
      out.push_back(input >= 0 ? rows->column(input)
                               : made.columns.at(size_t(made_at)));
    rows_pointer all = arrow::RecordBatch::Make(
        wanted_schema_, rows->num_rows(), std::move(out));
    return {made.removed.empty() ? all : without_rows(all, made.removed).batch,
            rows, std::move(made.removed)};
  }

  const fitted_terms terms_;
  operator_input in_;
  std::vector<int> given_; // by the state's columns, of the input
  std::vector<int> given_at_;
  int origin_at_ = 0;
  bool applies_ = false; // somebody wants what it makes, or leaves
  std::vector<output_column> columns_;
  std::vector<std::pair<int, int>> wanted_; // of what is read, or is made
  std::shared_ptr<arrow::Schema> wanted_schema_;
  std::unique_ptr<bound_operator> bound_;
  uint64_t rows_in_ = 0;
  uint64_t rows_out_ = 0;
  bool all_given_ = false;
  int64_t rows_max_ = 0; // at once
  rows_pointer rest_;    // of a batch that is worked on in parts
  std::optional<ordered_work<changed_batch>> work_; // ends first
};

} // namespace

stream_pointer fitted_rows(stream_pointer from, fitted_terms terms,
                           operator_context context) {
  return std::make_unique<fitted_stream>(std::move(from), std::move(terms),
                                         std::move(context));
}

} // namespace ballast::data
