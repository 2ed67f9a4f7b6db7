#include "data/profile/profiler.hpp"

#include "data/base/arrow_support.hpp"
#include "data/fitting/column_values.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <xxhash.h>

namespace ballast::data {

namespace {

constexpr uint64_t hash_of_missing = 0x6d697373696e6721;

profiled_kind kind_of(const arrow::DataType& type) {
  if (is_of_kind(value_kind::times, type))
    return profiled_kind::times;
  if (arrow::is_integer(type.id()) || arrow::is_floating(type.id()))
    return profiled_kind::numbers;
  return is_of_kind(value_kind::any, type) ? profiled_kind::words // or booleans
                                           : profiled_kind::other;
}

std::shared_ptr<arrow::Array>
cast_to(const std::shared_ptr<arrow::Array>& from,
        const std::shared_ptr<arrow::DataType>& to) {
  return take_arrow(arrow::compute::Cast(from, to), errc::internal, "a profile")
      .make_array();
}

/// Of times the number that they are stored as.
std::shared_ptr<arrow::Array>
numbers_of(const std::shared_ptr<arrow::Array>& column) {
  switch (column->type_id()) {
  case arrow::Type::DATE32:
    return take_arrow(column->View(arrow::int32()), errc::internal,
                      "a profile");
  case arrow::Type::DATE64:
  case arrow::Type::TIMESTAMP:
    return take_arrow(column->View(arrow::int64()), errc::internal,
                      "a profile");
  default:
    return column;
  }
}

struct number_values {
  std::vector<double> rounded; // NaN where there is none; infinities, too
  std::span<const int64_t> exact = {}; // of 64-bit whole numbers: their bits
  bool is_signed = true;
  std::shared_ptr<arrow::Array> keeps = {};
};

number_values values_of(const std::shared_ptr<arrow::Array>& column) {
  number_values out;
  out.keeps = numbers_of(column);
  // Of whole numbers beyond 2^53 the nearest.
  const auto as_float =
      take_arrow(arrow::compute::Cast(out.keeps, arrow::float64(),
                                      arrow::compute::CastOptions::Unsafe()),
                 errc::internal, "a profile")
          .make_array();
  const auto& typed = static_cast<const arrow::DoubleArray&>(*as_float);
  out.rounded.assign(typed.raw_values(), typed.raw_values() + typed.length());
  if (typed.null_count() > 0)
    for (int64_t row = 0; row < typed.length(); ++row)
      if (typed.IsNull(row))
        out.rounded[size_t(row)] = std::nan("");
  out.is_signed = out.keeps->type_id() != arrow::Type::UINT64;
  if (out.keeps->type_id() == arrow::Type::INT64 || !out.is_signed)
    out.exact = {out.keeps->data()->GetValues<int64_t>(1),
                 size_t(out.keeps->length())};
  return out;
}

bool is_below(int64_t a, int64_t b, bool is_signed) {
  return is_signed ? a < b : uint64_t(a) < uint64_t(b);
}

void widen(std::optional<whole_range>& range, const whole_range& by) {
  if (!range) {
    range = by;
    return;
  }
  if (is_below(by.least, range->least, by.is_signed))
    range->least = by.least;
  if (is_below(range->most, by.most, by.is_signed))
    range->most = by.most;
}

void look_at_numbers(const number_values& of, profiler::column_part& to,
                     std::vector<uint64_t>& hashes) {
  const std::vector<double>& values = of.rounded;
  number_profile& numbers = to.about.numbers;
  std::vector<double> finite;
  finite.reserve(values.size());
  for (size_t row = 0; row < values.size(); ++row) {
    const double value = values[row];
    if (std::isnan(value)) {
      ++to.about.missing;
      hashes[row] = hash_of_missing;
      continue;
    }
    hashes[row] =
        hash_of_number(of.exact.empty() ? std::bit_cast<uint64_t>(value + 0.0)
                                        : uint64_t(of.exact[row]));
    to.different.add(hashes[row]);
    if (std::isinf(value)) {
      ++numbers.infinite;
      numbers.negative_infinite += value < 0 ? 1 : 0;
      continue;
    }
    if (!of.exact.empty())
      widen(numbers.exact, {of.is_signed, of.exact[row], of.exact[row]});
    finite.push_back(value);
    numbers.zeros += value == 0 ? 1 : 0;
    numbers.whole = numbers.whole && value == std::trunc(value);
  }
  numbers.spread = moments_of(finite);
  numbers.counts.add(finite);
}

void look_at_words(const std::shared_ptr<arrow::Array>& column,
                   profiler::column_part& to, std::vector<uint64_t>& hashes) {
  const auto as_text = cast_to(column, arrow::utf8());
  const auto& texts = static_cast<const arrow::StringArray&>(*as_text);
  word_profile& words = to.about.words;
  words_seen seen;
  bool first = true;
  // Equal words often follow each other.
  std::string_view last;
  uint64_t last_hash = 0;
  uint64_t times = 0;
  for (int64_t row = 0; row < texts.length(); ++row) {
    if (texts.IsNull(row)) {
      ++to.about.missing;
      hashes[size_t(row)] = hash_of_missing;
      continue;
    }
    const std::string_view word = texts.GetView(row);
    const uint64_t bytes = word.size();
    words.least_bytes = first ? bytes : std::min(words.least_bytes, bytes);
    words.most_bytes = std::max(words.most_bytes, bytes);
    words.empty += bytes == 0 ? 1 : 0;
    first = false;
    if (times > 0 && word == last) {
      hashes[size_t(row)] = last_hash;
      ++times;
      continue;
    }
    if (times > 0)
      seen.add(last_hash, last, times);
    last = word;
    last_hash = hashes[size_t(row)] = XXH3_64bits(word.data(), word.size());
    times = 1;
    to.different.add(last_hash);
  }
  if (times > 0)
    seen.add(last_hash, last, times);
  words.counts = word_counts(seen.take());
}

void merge_words(profiler::column_part& into,
                 const profiler::column_part& later) {
  word_profile& a = into.about.words;
  const word_profile& b = later.about.words;
  a.least_bytes = into.about.present() == 0 ? b.least_bytes
                  : later.about.present() == 0
                      ? a.least_bytes
                      : std::min(a.least_bytes, b.least_bytes);
  a.most_bytes = std::max(a.most_bytes, b.most_bytes);
  a.empty += b.empty;
  a.counts.merge(b.counts);
}

void merge_column(profiler::column_part& into,
                  const profiler::column_part& later) {
  merge_words(into, later);
  into.different.merge(later.different);
  number_profile& a = into.about.numbers;
  const number_profile& b = later.about.numbers;
  a.spread = together(a.spread, b.spread);
  a.counts.merge(b.counts);
  a.zeros += b.zeros;
  a.infinite += b.infinite;
  a.negative_infinite += b.negative_infinite;
  if (b.exact)
    widen(a.exact, *b.exact);
  a.whole = a.whole && b.whole;
  into.about.rows += later.about.rows;
  into.about.missing += later.about.missing;
}

uint64_t repeated(std::vector<uint64_t>& hashes) {
  std::sort(hashes.begin(), hashes.end());
  const auto end = std::unique(hashes.begin(), hashes.end());
  return uint64_t(hashes.end() - end);
}

} // namespace

profiler::profiler(const arrow::RecordBatch& first, uint64_t rows_max)
    : rows_max_(rows_max) {
  for (int i = 0; i < first.num_columns(); ++i) {
    column_part& one = all_.columns.emplace_back();
    one.about.name = first.column_name(i);
    one.about.type = first.column(i)->type()->ToString();
    one.about.kind = kind_of(*first.column(i)->type());
    origins_.push_back(0);
    if (one.about.kind != profiled_kind::numbers &&
        one.about.kind != profiled_kind::times)
      continue;
    std::vector<double> values = values_of(first.column(i)).rounded;
    std::erase_if(values, [](double v) { return !std::isfinite(v); });
    origins_.back() = origin_of(values);
    one.about.numbers.counts = value_counts(origins_.back());
    if (one.about.kind == profiled_kind::times)
      continue;
    if (correlated_.size() == correlated_max) {
      uncorrelated_.push_back(size_t(i));
      continue;
    }
    correlated_.push_back(size_t(i));
    shifts_.push_back(values.empty() ? 0 : values[0]);
  }
  all_.pairs.emplace(shifts_);
}

profiler::part profiler::look(const arrow::RecordBatch& batch) const {
  part out;
  const auto rows = size_t(batch.num_rows());
  out.row_hashes.assign(rows, 0);
  pair_sums::columns numbers;
  std::vector<uint64_t> hashes;
  for (size_t i = 0; i < all_.columns.size(); ++i) {
    const std::shared_ptr<arrow::Array> column = batch.column(int(i));
    column_part& to = out.columns.emplace_back();
    to.about.kind = all_.columns[i].about.kind;
    to.about.rows = rows;
    to.about.numbers.counts = value_counts(origins_[i]);
    hashes.assign(rows, 0);
    if (to.about.kind == profiled_kind::words) {
      look_at_words(column, to, hashes);
    } else if (to.about.kind == profiled_kind::other) {
      to.about.missing = uint64_t(column->null_count());
    } else {
      number_values looked_at = values_of(column);
      look_at_numbers(looked_at, to, hashes);
      if (std::find(correlated_.begin(), correlated_.end(), i) !=
          correlated_.end()) {
        for (double& one : looked_at.rounded)
          one = std::isinf(one) ? std::nan("") : one;
        numbers.push_back(std::move(looked_at.rounded));
      }
    }
    for (size_t row = 0; row < rows; ++row)
      out.row_hashes[row] =
          hash_of_number(out.row_hashes[row] * 31 + hashes[row]);
  }
  out.pairs.emplace(shifts_);
  out.pairs->add(numbers);
  return out;
}

void profiler::add(part next) {
  for (size_t i = 0; i < all_.columns.size(); ++i)
    merge_column(all_.columns[i], next.columns[i]);
  all_.pairs->merge(*next.pairs);
  rows_ += next.row_hashes.size();
  if (rows_ <= rows_max_)
    all_.row_hashes.insert(all_.row_hashes.end(), next.row_hashes.begin(),
                           next.row_hashes.end());
  else
    all_.row_hashes = {};
}

table_profile profiler::finish(std::string source) {
  table_profile out;
  out.source = std::move(source);
  out.rows = rows_;
  bool all_seen = rows_ <= rows_max_;
  for (column_part& one : all_.columns) {
    const word_counts& words = one.about.words.counts;
    one.about.distinct =
        one.about.kind == profiled_kind::words && words.is_exact()
            ? double(words.frequent().size())
            : std::min(one.different.estimate(), double(one.about.present()));
    all_seen = all_seen && one.about.kind != profiled_kind::other;
    out.columns.push_back(std::move(one.about));
  }
  out.correlated_columns = correlated_.size();
  out.uncorrelated = uncorrelated_;
  for (size_t b = 0; b < correlated_.size(); ++b)
    for (size_t a = 0; a < b; ++a)
      if (const auto r = all_.pairs->correlation(a, b))
        out.correlations.push_back(
            {correlated_[a], correlated_[b], *r, all_.pairs->rows(a, b)});
  if (all_seen)
    out.repeated_rows = repeated(all_.row_hashes);
  return out;
}

} // namespace ballast::data
