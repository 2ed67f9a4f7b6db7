#include "data/operators/near_distinct_stream.hpp"

#include "data/base/ordered_work.hpp"
#include "data/fitting/column_values.hpp"
#include "data/operators/distinct_stream.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/operators/removed_rows.hpp"
#include "data/operators/row_batches.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

/// Whose shingles one thread makes at once.
constexpr int64_t rows_of_a_piece = 512;

class near_distinct_stream final : public operator_stream {
public:
  near_distinct_stream(std::unique_ptr<record_stream> from,
                       std::unique_ptr<record_stream> against,
                       const std::vector<std::string>& on,
                       const near_terms& terms, operator_context context,
                       size_t threads)
      : operator_stream(std::move(context)),
        input_(std::move(from), operator_stream::context()), terms_(terms),
        hash_(terms), threads_(threads), kept_(terms) {
    const arrow::Schema& schema = *input_.schema();
    const auto names = compared_columns(schema, on);
    for (const std::string& name : names) {
      keys_.push_back(input_.find(name, "compares"));
      const arrow::DataType& type = *schema.field(keys_.back())->type();
      if (!is_of_kind(value_kind::any, type))
        throw ballast_error(
            errc::invalid_data,
            this->context().pointer + "/on: column '" + printable(name) +
                "' has the type " + printable(type.ToString(), 200) +
                "; with a similarity below 1 expected text, numbers or "
                "booleans: \"cast\" it, or name other columns",
            this->context().pointer);
    }
    if (against != nullptr)
      compare_with(std::move(against), names);
    will_remove(operator_stream::context());
    set_schema(input_.schema());
  }

private:
  using batch = std::shared_ptr<arrow::RecordBatch>;
  struct prepared_row {
    row_text text;
    std::vector<uint64_t> shingles;
    std::vector<uint64_t> keys;
  };
  /// Some rows of a batch, one after another.
  struct prepared_piece {
    batch of;
    int64_t first = 0;
    std::vector<prepared_row> rows;

    bool is_last() const {
      return first + int64_t(rows.size()) == of->num_rows();
    }
  };

  void compare_with(std::unique_ptr<record_stream> against,
                    const std::vector<std::string>& names) {
    against_.emplace(std::move(against), context());
    for (const std::string& name : names)
      others_keys_.push_back(against_->find(name, "compares"));
    check_compared(*input_.schema(), *against_->schema(), names, context());
    others_keys_.push_back(against_->schema()->num_fields() - 1);
  }

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
  }

  batch produce() override {
    if (keys_.empty()) // only the origin is there: no two rows are told apart
      return input_.next();
    if (against_)
      keep_others();
    while (const std::optional<prepared_piece> piece =
               next_piece(input_, keys_)) {
      choose(*piece);
      if (!piece->is_last())
        continue;
      const row_indices stay = std::exchange(stay_, {});
      if (!stay.empty())
        return taken(piece->of, stay, context());
    }
    return nullptr;
  }

  /// All rows of the second input, those that are near each other, too.
  void keep_others() {
    std::vector<int> keys(keys_.size());
    std::iota(keys.begin(), keys.end(), 0);
    while (const std::optional<prepared_piece> piece =
               next_piece(*against_, keys)) {
      const std::span<const uint64_t> origins =
          numbers_in(*piece->of, int(keys.size()))
              .subspan(size_t(piece->first), piece->rows.size());
      origins_.insert(origins_.end(), origins.begin(), origins.end());
      for (const prepared_row& one : piece->rows)
        kept_.keep(one.text.bytes(), one.keys);
      check_memory();
    }
    against_.reset();
  }

  void choose(const prepared_piece& piece) {
    std::vector<bad_row> gone;
    const std::span<const uint64_t> origins = numbers_in(*piece.of, origin_at_);
    for (size_t i = 0; i < piece.rows.size(); ++i) {
      const prepared_row& one = piece.rows[i];
      const int64_t row = piece.first + int64_t(i);
      if (i + 1 < piece.rows.size())
        kept_.expect(piece.rows[i + 1].keys);
      const auto near = kept_.add(one.text.bytes(), one.shingles, one.keys);
      if (near) {
        if (context().removed != nullptr && context().origins != nullptr)
          gone.push_back({row, {}, why(*near), {}});
        continue;
      }
      stay_.push_back(uint32_t(row));
      origins_.push_back(origins[size_t(row)]);
    }
    tell_removed(context(), *piece.of, origin_at_, gone);
    check_memory();
  }

  /// In the order of the rows, made ahead by other threads. Nothing at the end.
  std::optional<prepared_piece> next_piece(operator_input& from,
                                           const std::vector<int>& keys) {
    if (!work_)
      work_.emplace(threads_ > 0 ? threads_ : work_threads(), "bl-near");
    while (work_->under_way() < work_->wanted()) {
      if (batch_ == nullptr || at_ == batch_->num_rows()) {
        batch_ = from.next();
        at_ = 0;
      }
      if (batch_ == nullptr)
        break;
      const int64_t count = std::min(rows_of_a_piece, batch_->num_rows() - at_);
      work_->give([this, of = batch_, first = at_, count, keys] {
        return prepared_piece{of, first, prepared(*of, keys, first, count)};
      });
      at_ += count;
    }
    if (work_->under_way() == 0)
      return std::nullopt;
    return work_->take();
  }

  /// Any thread.
  std::vector<prepared_row> prepared(const arrow::RecordBatch& rows,
                                     const std::vector<int>& keys,
                                     int64_t first, int64_t count) const {
    std::vector<prepared_row> out;
    out.resize(size_t(count));
    for (const int key : keys) {
      const auto column = rows.column(key)->Slice(first, count);
      const bool is_text = column->type_id() == arrow::Type::STRING ||
                           column->type_id() == arrow::Type::LARGE_STRING;
      for_each_category(*column, [&](int64_t row, std::string_view cell) {
        row_text& text = out[size_t(row)].text;
        if (cell.data() == nullptr)
          text.add_missing();
        else if (is_text)
          text.add_text(cell);
        else
          text.add_value(cell);
      });
    }
    for (prepared_row& one : out) {
      one.shingles = shingles_of(one.text.bytes(), terms_);
      one.keys.resize(hash_.bands());
      hash_.keys_of(one.shingles, one.keys);
    }
    return out;
  }

  std::string why(const near_index::match& near) const {
    char alike[32];
    std::snprintf(alike, sizeof alike, "%.3g", near.similarity);
    return "is near " + context().origins->place_of(origins_[near.kept]) +
           ", which stays (similarity " + alike + ")";
  }

  void check_memory() const {
    const uint64_t bytes =
        kept_.bytes() + origins_.capacity() * sizeof(uint64_t);
    if (bytes <= uint64_t(memory_of(context())))
      return;
    throw ballast_error(
        errc::invalid_data,
        context().name +
            ": with a similarity below 1 the rows that stay are "
            "held in memory, and the first " +
            std::to_string(kept_.rows()) + " are more than the " +
            std::to_string(memory_of(context()) >> 20) +
            " MB of this operator; give the data more memory "
            "(/data/memory_mb), take fewer columns or bands, or a \"distinct\" "
            "of equal rows before it",
        context().pointer);
  }

  operator_input input_;
  std::optional<operator_input> against_; // until it was read
  std::vector<int> others_keys_;          // of its schema, and its origin
  const near_terms terms_;
  const min_hash hash_;
  const size_t threads_;
  near_index kept_;
  std::vector<uint64_t> origins_; // of those that stay
  std::vector<int> keys_; // of the input's schema, later of what is read
  int origin_at_ = 0;     // of what is read
  batch batch_;           // of which pieces are given out, up to
  int64_t at_ = 0;
  row_indices stay_; // of the batch whose pieces come back
  std::optional<ordered_work<prepared_piece>> work_; // ends first
};

} // namespace

std::unique_ptr<record_stream>
near_distinct_rows(std::unique_ptr<record_stream> from,
                   const std::vector<std::string>& on, const near_terms& terms,
                   operator_context context, size_t threads,
                   std::unique_ptr<record_stream> against) {
  return std::make_unique<near_distinct_stream>(std::move(from),
                                                std::move(against), on, terms,
                                                std::move(context), threads);
}

} // namespace ballast::data
