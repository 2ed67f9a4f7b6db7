#include "data/operators/split_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "data/source/array_cells.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/random.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>

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
      order_[i] = uint32_t(i);
    for (size_t i = rows; i-- > 1;)
      std::swap(order_[i], order_[random_.below(i + 1, drawn_++)]);
    at_ = 0;
  }

  counter_random random_;
  uint64_t drawn_ = 0;
  std::vector<uint32_t> order_;
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

class split_stream final : public operator_stream {
public:
  split_stream(stream_maker make, split_terms terms, size_t part,
               operator_context context)
      : operator_stream(std::move(context)), make_(std::move(make)),
        from_(make_()), terms_(std::move(terms)), part_(part),
        sums_(sums_of(terms_.fractions)),
        run_rows_(run_rows_of(terms_.fractions)) {
    if (terms_.by != split_kind::random)
      column_ = find_column(*from_->schema(), terms_.column,
                            this->context().pointer + "/column");
    if (terms_.by == split_kind::time)
      check_is_ordered();
    set_schema(from_->schema());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    if (terms_.by == split_kind::time)
      find_edges();
    std::vector<int> read = columns;
    if (column_ >= 0) {
      std::vector<int> places;
      read = with_keys(columns, {column_}, places);
      place_ = places[0];
    }
    from_->choose(std::move(read));
  }

  batch_pointer produce() override {
    while (const batch_pointer rows = from_->next()) {
      arrow::Int64Builder mine;
      const std::vector<size_t> parts = parts_of(*rows);
      for (size_t row = 0; row < parts.size(); ++row)
        if (parts[row] == part_)
          check_arrow(mine.Append(int64_t(row)), errc::device_failed,
                      context().name);
      if (mine.length() == 0)
        continue;
      const auto taken =
          take_arrow(arrow::compute::Take(rows, take_arrow(mine.Finish(),
                                                           errc::device_failed,
                                                           context().name)),
                     errc::device_failed, context().name);
      return taken.record_batch();
    }
    return nullptr;
  }

private:
  void check_is_ordered() const {
    const auto& type = *from_->schema()->field(column_)->type();
    if (!holds_numbers(type) && !arrow::is_temporal(type.id()))
      throw ballast_error(errc::invalid_data,
                          context().pointer + "/column: '" +
                              printable(terms_.column) + "' has the type " +
                              type.ToString() +
                              "; expected numbers or times (\"cast\" makes "
                              "timestamps of text)",
                          context().pointer + "/column");
  }

  std::vector<size_t> parts_of(const arrow::RecordBatch& rows) {
    std::vector<size_t> out(size_t(rows.num_rows()));
    if (terms_.by == split_kind::time) {
      const std::vector<double> ranks = times(rows, *from_, place_);
      for (size_t row = 0; row < out.size(); ++row)
        out[row] =
            size_t(std::upper_bound(edges_.begin(), edges_.end(), ranks[row]) -
                   edges_.begin());
      return out;
    }
    for (size_t row = 0; row < out.size(); ++row) {
      const std::string value =
          column_ < 0 ? "" : cell_of(*rows.column(place_), int64_t(row));
      out[row] = terms_.by == split_kind::group ? part_of_group(value)
                                                : part_of_stratum(value);
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
      if (strata_.size() == strata_max)
        throw ballast_error(errc::invalid_data,
                            context().pointer + "/column: '" +
                                printable(terms_.column) + "' has more than " +
                                std::to_string(strata_max) +
                                " values; split by \"group\", or stratify by a "
                                "column that has fewer",
                            context().pointer + "/column");
      found =
          strata_.emplace(value, dealer(context().seed, hash_of(value))).first;
    }
    return found->second.next(sums_, run_rows_);
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
    const stream_pointer all = make_();
    all->choose({column_});
    std::vector<double> values;
    while (const batch_pointer rows = all->next()) {
      store::check_stop(context().stop);
      const std::vector<double> more = times(*rows, *all, 0);
      values.insert(values.end(), more.begin(), more.end());
    }
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

  const stream_maker make_;
  const stream_pointer from_;
  const split_terms terms_;
  const size_t part_;
  const std::vector<double> sums_;
  const uint64_t run_rows_;
  int column_ = -1;
  int place_ = -1; // of it in what is read
  std::map<std::string, dealer> strata_;
  std::vector<double> edges_;
};

} // namespace

stream_pointer split_rows(stream_maker from, const split_terms& terms,
                          size_t part, operator_context context) {
  return std::make_unique<split_stream>(std::move(from), terms, part,
                                        std::move(context));
}

} // namespace ballast::data
