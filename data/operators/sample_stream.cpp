#include "data/operators/sample_stream.hpp"

#include "data/operators/held_rows.hpp"
#include "data/operators/key_table.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/source/array_cells.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/random.hpp"
#include "runtime/sampling/reservoir.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace ballast::data {

namespace {

// Of counter_random: part of what a seed means, so it never changes.
constexpr uint64_t sample_stream_number = 0x73616d706c65; // "sample"

using batch = std::shared_ptr<arrow::RecordBatch>;

/// Where a row that is kept lies, and where it was in the stream.
struct kept_place {
  uint32_t piece = 0;
  uint32_t row = 0;
  uint64_t position = 0;
};

/// The rows of one value of the column, or of all.
class stratum {
public:
  stratum(uint64_t rows, bool weighted, const counter_random& random)
      : choice_(weighted ? choice(std::in_place_index<1>, rows, random)
                         : choice(std::in_place_index<0>, rows, random)) {}

  /// How many rows from here on are passed without a look; uniform only.
  uint64_t passes() const { return std::get<0>(choice_).next_row() - seen_; }
  void pass(uint64_t rows) { seen_ += rows; }

  /// The next row gets this place, or none.
  std::optional<uint64_t> place_of_next(double weight) {
    if (auto* weighted = std::get_if<1>(&choice_)) {
      const uint64_t place = weighted->offer(seen_++, weight);
      return place == sampling::weighted_reservoir::passed
                 ? std::nullopt
                 : std::optional(place);
    }
    auto& uniform = std::get<0>(choice_);
    if (uniform.next_row() != seen_++)
      return std::nullopt;
    const uint64_t place = uniform.next_place();
    uniform.take();
    return place;
  }

  std::vector<kept_place> kept;

private:
  using choice =
      std::variant<sampling::uniform_reservoir, sampling::weighted_reservoir>;
  choice choice_;
  uint64_t seen_ = 0;
};

class sample_stream : public operator_stream {
public:
  sample_stream(std::unique_ptr<record_stream> from, sample_terms terms,
                operator_context context)
      : operator_stream(std::move(context)),
        input_(std::move(from), operator_stream::context()),
        terms_(std::move(terms)) {
    if (!terms_.by.empty())
      by_ = input_.find_key(terms_.by, "samples by");
    if (!terms_.weight.empty()) {
      weight_ = input_.find(terms_.weight, "weighs by");
      check_is_number(*input_.schema()->field(weight_));
    }
    set_schema(input_.schema());
  }

private:
  void check_is_number(const arrow::Field& weight) const {
    if (!holds_numbers(*weight.type()))
      throw ballast_error(errc::invalid_data,
                          context().name + ": weighs by column '" +
                              printable(weight.name()) + "', which is " +
                              weight.type()->ToString() +
                              "; expected a column of numbers",
                          context().pointer + "/weight");
  }

  void begin(const std::vector<int>& columns) override {
    std::vector<int> keys;
    for (const int one : {by_, weight_})
      if (one >= 0)
        keys.push_back(one);
    std::vector<int> places;
    input_.choose(with_keys(columns, keys, places));
    // Both may be one column.
    if (weight_ >= 0)
      weight_ = places.back();
    if (by_ >= 0)
      by_ = places.front();
    origin_ = input_.chosen()->GetFieldIndex(origin_column);
  }

  batch produce() override {
    if (!std::exchange(read_, true)) {
      while (const batch rows = input_.next())
        look_at(rows);
      in_order_ = in_order();
    }
    return in_order_.next();
  }

  void look_at(const batch& rows) {
    const std::vector<double> weights = weights_of(*rows);
    fresh_.clear();
    if (by_ >= 0) {
      number_strata(*rows);
      for (int64_t row = 0; row < rows->num_rows(); ++row)
        offer(stratum_numbers_[size_t(row)], row, weights);
    } else {
      if (strata_.empty())
        add_stratum();
      if (weight_ >= 0)
        for (int64_t row = 0; row < rows->num_rows(); ++row)
          offer(0, row, weights);
      else
        skip_through(rows->num_rows());
    }
    position_ += uint64_t(rows->num_rows());
    if (!fresh_.empty())
      keep(rows);
  }

  /// From one that gets in to the next.
  void skip_through(int64_t rows) {
    stratum& all = strata_.front();
    for (uint64_t row = 0;; ++row) {
      const uint64_t passed = std::min(all.passes(), uint64_t(rows) - row);
      all.pass(passed);
      row += passed;
      if (row == uint64_t(rows))
        return;
      offer(0, int64_t(row), {});
    }
  }

  void number_strata(const arrow::RecordBatch& rows) {
    const equal_keys keys({rows.column(by_)});
    if (!values_)
      values_.emplace(keys.are_words(), true, memory_of(context()));
    std::vector<uint32_t> refused;
    values_->add_numbered(keys, stratum_numbers_, refused);
    if (!refused.empty())
      throw ballast_error(errc::invalid_data,
                          context().name + ": column '" + printable(terms_.by) +
                              "' has more than " +
                              std::to_string(values_->count()) +
                              " values, which do not fit into memory; sample "
                              "by a column of few values",
                          context().pointer + "/by");
    while (strata_.size() < values_->count())
      add_stratum();
  }

  void add_stratum() {
    strata_.emplace_back(terms_.rows, weight_ >= 0,
                         counter_random(mix(context().seed, strata_.size()),
                                        sample_stream_number));
  }

  void offer(size_t to, int64_t row, const std::vector<double>& weights) {
    stratum& at = strata_[to];
    const std::optional<uint64_t> place =
        at.place_of_next(weights.empty() ? 1 : weights[size_t(row)]);
    if (!place)
      return;
    if (*place == at.kept.size()) {
      at.kept.emplace_back();
      ++kept_rows_;
    }
    fresh_.push_back(uint32_t(row));
    at.kept[*place] = {uint32_t(pieces_.size()), uint32_t(fresh_.size() - 1),
                       position_ + uint64_t(row)};
  }

  /// The rows of a batch that got in, some of which may be out again.
  void keep(const batch& rows) {
    pieces_.push_back(taken(rows, fresh_, context()));
    held_rows_ += fresh_.size();
    held_bytes_ += bytes_of(*pieces_.back());
    if (held_bytes_ <= memory_of(context()) &&
        held_rows_ <= 2 * kept_rows_ + uint64_t(rows_at_once))
      return;
    compact();
    if (held_bytes_ > memory_of(context()))
      throw ballast_error(
          errc::invalid_data,
          context().name + ": " + std::to_string(kept_rows_) +
              " kept rows are more than the " +
              std::to_string(memory_of(context()) >> 20) +
              " MB of this operator hold; keep fewer, or give the data more "
              "memory (/data/memory_mb)",
          context().pointer + "/rows");
  }

  /// All that is kept in one piece, in the order of the stream.
  void compact() {
    std::vector<kept_place*> all;
    all.reserve(kept_rows_);
    for (stratum& one : strata_)
      for (kept_place& place : one.kept)
        all.push_back(&place);
    std::sort(all.begin(), all.end(),
              [](const kept_place* a, const kept_place* b) {
                return a->position < b->position;
              });
    std::vector<uint32_t> before{0};
    for (const batch& piece : pieces_)
      before.push_back(before.back() + uint32_t(piece->num_rows()));
    row_indices order;
    order.reserve(all.size());
    for (kept_place* one : all) {
      order.push_back(before[one->piece] + one->row);
      one->piece = 0;
      one->row = uint32_t(order.size() - 1);
    }
    const batch held = together(input_.chosen(), std::move(pieces_), context());
    pieces_ = {taken(held, order, context())};
    held_rows_ = order.size();
    held_bytes_ = bytes_of(*pieces_.back());
  }

  ordered_rows in_order() {
    if (pieces_.empty()) {
      if (weight_ >= 0 && position_ > 0 && terms_.rows > 0)
        refuse_weights();
      return {};
    }
    compact();
    row_indices order(held_rows_);
    std::iota(order.begin(), order.end(), uint32_t{0});
    strata_.clear();
    values_.reset();
    return {std::move(pieces_.front()), std::move(order), context()};
  }

  [[noreturn]] void refuse_weights() const {
    throw ballast_error(errc::invalid_data,
                        context().name + ": the weights of all " +
                            std::to_string(position_) + " rows in column '" +
                            printable(terms_.weight) +
                            "' are 0; expected one above 0",
                        context().pointer + "/weight");
  }

  std::vector<double> weights_of(const arrow::RecordBatch& rows) const {
    if (weight_ < 0)
      return {};
    const arrow::Array& column = *rows.column(weight_);
    std::vector<double> out = numbers_of(column);
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      const double one = out[size_t(row)];
      if (column.IsNull(row) || !(one >= 0) || !std::isfinite(one))
        throw ballast_error(
            errc::invalid_data,
            place_in(rows, row) + ", column '" + printable(terms_.weight) +
                "': the weight is " +
                (column.IsNull(row) ? "missing" : std::to_string(one)) +
                "; expected a number of 0 or more",
            context().pointer + "/weight");
    }
    return out;
  }

  std::string place_in(const arrow::RecordBatch& rows, int64_t row) const {
    const uint64_t origin = numbers_in(rows, origin_)[size_t(row)];
    return context().origins != nullptr
               ? context().origins->place_of(origin)
               : context().name + ": row " +
                     std::to_string(position_ + uint64_t(row) + 1);
  }

  operator_input input_;
  const sample_terms terms_;
  int by_ = -1; // of the input's schema, later of what is read
  int weight_ = -1;
  int origin_ = -1;
  std::optional<key_table> values_; // of the column `by`
  key_table::numbers stratum_numbers_;
  std::vector<stratum> strata_;
  uint64_t position_ = 0; // of the batch in the stream
  row_indices fresh_;     // of the batch
  std::vector<batch> pieces_;
  uint64_t kept_rows_ = 0;
  uint64_t held_rows_ = 0; // with those that are out again
  int64_t held_bytes_ = 0;
  bool read_ = false;
  ordered_rows in_order_;
};

} // namespace

std::unique_ptr<record_stream> sampled_rows(std::unique_ptr<record_stream> from,
                                            const sample_terms& terms,
                                            operator_context context) {
  return std::make_unique<sample_stream>(std::move(from), terms,
                                         std::move(context));
}

} // namespace ballast::data
