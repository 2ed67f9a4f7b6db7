#include "data/operators/row_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

namespace ballast::data {

namespace {

struct keyed_row {
  uint64_t word;
  uint32_t row;
};
using keyed_rows = std::span<keyed_row>;

// So few rows are sorted faster by comparing them.
constexpr size_t compared_rows = 192;
// Of a pass: 2048 counters, which stay in the nearest cache with their targets.
constexpr int digit_bits = 11;
constexpr int few_digit_bits = 8;
constexpr size_t many_rows = 16 << 10;

void sort_by_comparing(keyed_rows rows) {
  std::sort(rows.begin(), rows.end(),
            [](const keyed_row& a, const keyed_row& b) {
              return a.word != b.word ? a.word < b.word : a.row < b.row;
            });
}

/// One pass: by `bits` bits of (word - least) from `shift` on.
void scatter(keyed_rows from, keyed_rows to, uint64_t least, int shift,
             int bits) {
  std::array<uint32_t, 1 << digit_bits> at{};
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  for (const keyed_row& one : from)
    ++at[(one.word - least) >> shift & mask];
  uint32_t before = 0;
  for (size_t digit = 0; digit <= mask; ++digit)
    before += std::exchange(at[digit], before);
  for (const keyed_row& one : from)
    to[at[(one.word - least) >> shift & mask]++] = one;
}

/// Calls `work` for each part of more than one row whose `same` is equal.
template <class Same, class Work>
void for_equal(keyed_rows rows, Same same, Work work) {
  for (size_t first = 0; first < rows.size();) {
    size_t last = first + 1;
    while (last < rows.size() && same(rows[first], rows[last]))
      ++last;
    if (last - first > 1)
      work(first, last - first);
    first = last;
  }
}

/// Stable, by word. `spare` is as long.
void sort_by_word(keyed_rows rows, keyed_rows spare,
                  const store::work_watch& stop) {
  if (rows.size() <= compared_rows)
    return sort_by_comparing(rows);
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  bool sorted = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    sorted = sorted && most <= rows[i].word;
    least = std::min(least, rows[i].word);
    most = std::max(most, rows[i].word);
  }
  if (sorted)
    return;
  const int differ = 64 - std::countl_zero(most - least);
  const int digit = rows.size() < many_rows ? few_digit_bits : digit_bits;
  // So many of the upper bits that few rows have the same.
  const int enough = std::min(differ, 8 + int(std::bit_width(rows.size())));
  const int passes = (enough + digit - 1) / digit;
  const int first = std::max(0, differ - passes * digit);
  const keyed_rows whole = rows;
  keyed_rows from = rows;
  keyed_rows to = spare;
  for (int shift = first; shift < differ; shift += digit) {
    if (rows.size() > many_rows)
      store::check_stop(stop);
    scatter(from, to, least, shift, std::min(digit, differ - shift));
    std::swap(from, to);
  }
  if (from.data() != whole.data())
    std::copy(from.begin(), from.end(), whole.begin());
  if (first > 0)
    for_equal(
        whole,
        [&](const keyed_row& a, const keyed_row& b) {
          return (a.word - least) >> first == (b.word - least) >> first;
        },
        [&](size_t begin, size_t count) {
          sort_by_word(whole.subspan(begin, count), spare.subspan(begin, count),
                       stop);
        });
}

/// By the key columns from `key` on. Rows come in ascending.
void sort_by_key(const std::vector<key_column>& keys, size_t key,
                 keyed_rows rows, keyed_rows spare,
                 const store::work_watch& stop) {
  if (key == keys.size() || rows.size() < 2)
    return;
  const key_column& by = keys[key];
  if (by.has_nulls() || by.all_null()) {
    size_t present = 0;
    size_t nulls = 0;
    for (const keyed_row& one : rows)
      if (by.is_null(one.row))
        spare[nulls++] = one;
      else
        rows[present++] = one;
    std::copy_n(spare.begin(), nulls, rows.begin() + int64_t(present));
    sort_by_key(keys, key + 1, rows.subspan(present), spare.subspan(present),
                stop);
    rows = rows.first(present);
    spare = spare.first(present);
  }
  const large_vector<uint64_t>& words = by.words();
  for (keyed_row& one : rows)
    one.word = words[one.row];
  sort_by_word(rows, spare, stop);
  const auto further = [&](size_t first, size_t count) {
    sort_by_key(keys, key + 1, rows.subspan(first, count),
                spare.subspan(first, count), stop);
  };
  const auto same_word = [](const keyed_row& a, const keyed_row& b) {
    return a.word == b.word;
  };
  if (by.exact()) {
    if (key + 1 < keys.size())
      for_equal(rows, same_word, further);
    return;
  }
  for_equal(rows, same_word, [&](size_t first, size_t count) {
    const keyed_rows equal = rows.subspan(first, count);
    std::sort(equal.begin(), equal.end(),
              [&](const keyed_row& a, const keyed_row& b) {
                const int order = by.compare(a.row, by, b.row);
                return order != 0 ? order < 0 : a.row < b.row;
              });
    if (key + 1 < keys.size())
      for_equal(
          equal,
          [&](const keyed_row& a, const keyed_row& b) {
            return by.text(a.row) == by.text(b.row);
          },
          [&](size_t begin, size_t same) { further(first + begin, same); });
  });
}

} // namespace

row_indices order_of(const std::vector<key_column>& keys, int64_t rows,
                     const store::work_watch& stop) {
  large_vector<keyed_row> all(static_cast<size_t>(rows));
  for (size_t i = 0; i < all.size(); ++i)
    all[i].row = uint32_t(i);
  {
    large_vector<keyed_row> spare(all.size());
    sort_by_key(keys, 0, all, spare, stop);
  }
  row_indices out(all.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = all[i].row;
  return out;
}

} // namespace ballast::data
