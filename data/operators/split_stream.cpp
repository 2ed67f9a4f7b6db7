#include "data/operators/split_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "data/operators/key_column.hpp"
#include "data/operators/row_batches.hpp"
#include "data/source/array_cells.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/random.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace ballast::data {

namespace {

using batch_pointer = std::shared_ptr<arrow::RecordBatch>;
using graph::split_kind;

constexpr uint64_t run_rows_max = 1000;

/// The least number of rows of which every part has a whole number.
uint64_t run_rows_of(const std::vector<double>& fractions) {
  for (uint64_t rows = 2; rows < run_rows_max; ++rows)
    if (std::all_of(fractions.begin(), fractions.end(), [rows](double part) {
          const double share = part * double(rows);
          return std::abs(share - std::round(share)) < 1e-9;
        }))
      return rows;
  return run_rows_max;
}

std::vector<double> sums_of(const std::vector<double>& fractions) {
  std::vector<double> out;
  double sum = 0;
  for (double one : fractions)
    out.push_back(sum += one);
  out.back() = 1;
  return out;
}

uint64_t hash_of(const std::string& text) {
  content_hash hash;
  hash.update(text);
  return hash.digest();
}

/// Deals the rows of one stratum.
class dealer {
public:
  dealer(uint64_t seed, uint64_t stream) : random_(seed, stream) {}

  size_t next(const std::vector<double>& sums, uint64_t run_rows) {
    if (at_ == order_.size())
      shuffle(run_rows);
    const double place = (double(order_[at_++]) + 0.5) / double(run_rows);
    return size_t(std::upper_bound(sums.begin(), sums.end(), place) -
                  sums.begin());
  }

private:
  void shuffle(uint64_t rows) {
    order_.resize(rows);
    for (size_t i = 0; i < rows; ++i)
      order_[i] = uint16_t(i);
    for (size_t i = rows; i-- > 1;)
      std::swap(order_[i], order_[random_.below(i + 1, drawn_++)]);
    at_ = 0;
  }

  counter_random random_;
  uint64_t drawn_ = 0;
  std::vector<uint16_t> order_; // less than run_rows_max
  size_t at_ = 0;
};

/// Numbers and times in their order.
std::vector<double> ranks_of(const arrow::Array& column,
                             const std::function<std::string(int64_t)>& place,
                             const std::string& name,
                             const std::string& pointer) {
  for (int64_t row = 0; row < column.length() && column.null_count() > 0; ++row)
    if (column.IsNull(row))
      throw ballast_error(errc::invalid_data,
                          place(row) + ", column '" + printable(name) +
                              "': the value is missing; a split by time needs "
                              "one in every row",
                          pointer);
  if (holds_numbers(*column.type()))
    return numbers_of(column);
  const bool narrow =
      static_cast<const arrow::FixedWidthType&>(*column.type()).bit_width() ==
      32;
  const auto whole =
      take_arrow(column.View(narrow ? arrow::int32() : arrow::int64()),
                 errc::invalid_data, "column '" + printable(name) + "'");
  return numbers_of(*whole);
}

/// Where a column of a stream with one more column before the origin, `extra`,
/// is in that without it; -1: it is that.
int without_extra(int column, int extra) {
  return column == extra ? -1 : column < extra ? column : column - 1;
}

class dealt_stream final : public operator_stream {
public:
  dealt_stream(stream_pointer from, stream_pointer first_pass,
               split_terms terms, operator_context context)
      : operator_stream(std::move(context)), from_(std::move(from)),
        first_pass_(std::move(first_pass)), terms_(std::move(terms)),
        sums_(sums_of(terms_.fractions)),
        run_rows_(run_rows_of(terms_.fractions)) {
    arrow::FieldVector fields = from_->schema()->fields();
    if (terms_.by != split_kind::random)
      find_key();
    extra_ = int(fields.size()) - 1;
    fields.insert(fields.end() - 1, arrow::field("", arrow::uint8(), false));
    set_schema(arrow::schema(std::move(fields)));
  }

protected:
  void begin(const std::vector<int>& columns) override {
    std::vector<int> read;
    for (int column : columns)
      if (column != extra_)
        read.push_back(without_extra(column, extra_));
    columns_ = columns;
    if (column_ >= 0) {
      std::vector<int> places;
      read = with_keys(read, {column_}, places);
      place_ = places[0];
    }
    from_->choose(std::move(read));
    if (first_pass_ != nullptr)
      first_pass_->choose({column_});
  }

  batch_pointer produce() override {
    if (first_pass_ != nullptr)
      find_edges();
    const batch_pointer rows = from_->next();
    if (rows == nullptr)
      return nullptr;
    std::vector<uint8_t> parts = parts_of(*rows);
    const std::shared_ptr<arrow::Array> numbers =
        std::make_shared<arrow::UInt8Array>(
            rows->num_rows(), arrow::Buffer::FromVector(std::move(parts)));
    arrow::ArrayVector out;
    arrow::FieldVector fields;
    int next = 0;
    for (int column : columns_) {
      out.push_back(column == extra_ ? numbers : rows->column(next));
      next += column == extra_ ? 0 : 1;
      fields.push_back(arrow::field("", out.back()->type()));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                    rows->num_rows(), std::move(out));
  }

private:
  void find_key() {
    const std::string pointer = context().pointer + "/column";
    column_ = find_column(*from_->schema(), terms_.column, pointer);
    const std::shared_ptr<arrow::Schema> schema = from_->schema();
    const arrow::DataType& type = *schema->field(column_)->type();
    const bool time = terms_.by == split_kind::time;
    if (time ? holds_numbers(type) || arrow::is_temporal(type.id())
             : is_key_type(type))
      return;
    throw ballast_error(
        errc::invalid_data,
        pointer + ": '" + printable(terms_.column) + "' has the type " +
            printable(type.ToString(), 200) + "; expected " +
            (time ? "numbers or times (\"cast\" makes timestamps of text)"
                  : "numbers, text, dates or times"),
        pointer);
  }

  std::vector<uint8_t> parts_of(const arrow::RecordBatch& rows) {
    std::vector<uint8_t> out(size_t(rows.num_rows()));
    if (terms_.by == split_kind::time) {
      const std::vector<double> ranks = times(rows, *from_, place_);
      for (size_t row = 0; row < out.size(); ++row)
        out[row] =
            uint8_t(std::upper_bound(edges_.begin(), edges_.end(), ranks[row]) -
                    edges_.begin());
      return out;
    }
    for (size_t row = 0; row < out.size(); ++row) {
      const std::string value =
          column_ < 0 ? "" : cell_of(*rows.column(place_), int64_t(row));
      out[row] =
          uint8_t(terms_.by == split_kind::group ? part_of_group(value)
                                                 : part_of_stratum(value));
    }
    return out;
  }

  size_t part_of_group(const std::string& value) const {
    const uint64_t drawn = counter_random(context().seed, hash_of(value)).at(0);
    const double place = double(drawn >> 11) * 0x1p-53;
    return size_t(std::upper_bound(sums_.begin(), sums_.end(), place) -
                  sums_.begin());
  }

  size_t part_of_stratum(const std::string& value) {
    auto found = strata_.find(value);
    if (found == strata_.end()) {
      strata_bytes_ += bytes_beside + value.size() + run_rows_ * 2;
      if (strata_.size() == strata_max ||
          strata_bytes_ > uint64_t(memory_of(context()) / 10))
        refuse_strata();
      found =
          strata_.emplace(value, dealer(context().seed, hash_of(value))).first;
    }
    return found->second.next(sums_, run_rows_);
  }

  [[noreturn]] void refuse_strata() const {
    const std::string pointer = context().pointer + "/column";
    throw ballast_error(
        errc::invalid_data,
        pointer + ": '" + printable(terms_.column) + "' has more than " +
            std::to_string(strata_.size()) +
            " values, and every one keeps a run of " +
            std::to_string(run_rows_) + " rows in memory; expected at most " +
            std::to_string(strata_max) + ", within " +
            std::to_string(memory_of(context()) / 10 >> 10) +
            " KiB; split by \"group\" or \"random\", or stratify by a column "
            "that has fewer",
        pointer);
  }

  std::vector<double> times(const arrow::RecordBatch& rows,
                            const record_stream& from, int place) const {
    return ranks_of(
        *rows.column(place),
        [&from](int64_t row) { return from.place_of(row); }, terms_.column,
        context().pointer + "/column");
  }

  /// The value at which each part but the first begins.
  void find_edges() {
    std::vector<double> values;
    while (const batch_pointer rows = first_pass_->next()) {
      const std::vector<double> more = times(*rows, *first_pass_, 0);
      values.insert(values.end(), more.begin(), more.end());
    }
    first_pass_ = nullptr;
    for (size_t i = 0; i + 1 < sums_.size() && !values.empty(); ++i) {
      const size_t at = std::min(
          values.size() - 1, size_t(std::llround(sums_[i] * values.size())));
      std::nth_element(values.begin(), values.begin() + ptrdiff_t(at),
                       values.end());
      // Those that are equal to it fall behind the edge.
      edges_.push_back(
          std::nextafter(values[at], -std::numeric_limits<double>::infinity()));
    }
  }

  static constexpr size_t bytes_beside = 200; // of a stratum in a map

  const stream_pointer from_;
  stream_pointer first_pass_; // until it is read
  const split_terms terms_;
  const std::vector<double> sums_;
  const uint64_t run_rows_;
  int column_ = -1;
  int extra_ = -1;
  int place_ = -1; // of the column in what is read
  std::vector<int> columns_;
  std::map<std::string, dealer> strata_;
  uint64_t strata_bytes_ = 0;
  std::vector<double> edges_;
};

class part_stream final : public operator_stream {
public:
  part_stream(stream_pointer dealt, size_t part, operator_context context)
      : operator_stream(std::move(context)), from_(std::move(dealt)),
        part_(uint8_t(part)) {
    arrow::FieldVector fields = from_->schema()->fields();
    extra_ = int(fields.size()) - 2;
    fields.erase(fields.end() - 2);
    set_schema(arrow::schema(std::move(fields)));
  }

protected:
  void begin(const std::vector<int>& columns) override {
    std::vector<int> read;
    for (int column : columns)
      read.push_back(column < extra_ ? column : column + 1);
    read.push_back(extra_);
    from_->choose(std::move(read));
  }

  batch_pointer produce() override {
    while (const batch_pointer rows = from_->next()) {
      const auto& parts = static_cast<const arrow::UInt8Array&>(
          *rows->column(rows->num_columns() - 1));
      row_indices mine;
      for (int64_t row = 0; row < parts.length(); ++row)
        if (parts.Value(row) == part_)
          mine.push_back(uint32_t(row));
      if (!mine.empty())
        return taken(rows, mine, context());
    }
    return nullptr;
  }

private:
  const stream_pointer from_;
  const uint8_t part_;
  int extra_ = -1; // the column of the parts
};

} // namespace

stream_pointer dealt_rows(stream_pointer from, stream_pointer first_pass,
                          const split_terms& terms, operator_context context) {
  return std::make_unique<dealt_stream>(std::move(from), std::move(first_pass),
                                        terms, std::move(context));
}

stream_pointer rows_of_part(stream_pointer dealt, size_t part,
                            operator_context context) {
  return std::make_unique<part_stream>(std::move(dealt), part,
                                       std::move(context));
}

} // namespace ballast::data
