#include "data/fitting/learned_facts.hpp"

#include "data/fitting/category_index.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/random.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace ballast::data {

namespace {

/// How often each of some texts comes, in the order in which they first came;
/// they stay where they are.
class text_counts {
public:
  struct counted {
    std::string_view text;
    uint64_t count = 0;
  };

  void add(std::string_view text) {
    if (2 * all_.size() >= slots_.size())
      grow();
    const size_t slot = slot_of(text);
    if (slots_[slot] == 0) {
      all_.push_back({text, 0});
      slots_[slot] = uint32_t(all_.size());
    }
    ++all_[slots_[slot] - 1].count;
  }
  const std::vector<counted>& all() const { return all_; }

private:
  /// Where it is, or would be.
  size_t slot_of(std::string_view text) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = table_hash(text) & mask;
    while (slots_[slot] != 0 && all_[slots_[slot] - 1].text != text)
      slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    slots_.assign(std::max<size_t>(64, 2 * slots_.size()), 0);
    for (size_t i = 0; i < all_.size(); ++i)
      slots_[slot_of(all_[i].text)] = uint32_t(i + 1);
  }

  std::vector<counted> all_;
  std::vector<uint32_t> slots_; // number in `all_` + 1; a power of two of them
};

/// One hash for each row, not one search in a tree.
void count_categories(const arrow::Array& column, const column_need& need,
                      const cell_owner& owner, const row_finder& place,
                      column_facts& out) {
  const bool texts = column.type_id() == arrow::Type::STRING ||
                     column.type_id() == arrow::Type::LARGE_STRING;
  text_counts counts; // of texts: views
  std::unordered_map<std::string, uint64_t> own;
  for_each_category(column, [&](int64_t row, std::string_view text) {
    if (text.data() == nullptr) {
      if (!need.missing_allowed)
        refuse_missing(owner, place, row);
      ++out.missing;
    } else if (texts) {
      counts.add(text);
    } else {
      ++own[std::string(text)];
    }
  });
  out.values += uint64_t(column.length()) - out.missing;
  for (const auto& [text, count] : counts.all())
    out.categories.add(text, count);
  for (const auto& [text, count] : own)
    out.categories.add(text, count);
}

void look_at_numbers(const number_column& numbers, const column_need& need,
                     column_facts& out) {
  out.missing = uint64_t(numbers.missing());
  out.values = numbers.values().size() - out.missing;
  const std::vector<double> present =
      numbers.has_missing() ? numbers.present() : std::vector<double>();
  const std::span<const double> all = numbers.has_missing()
                                          ? std::span<const double>(present)
                                          : numbers.values();
  if (need.moments)
    out.numbers = moments_of(all);
  if (need.quantiles)
    out.quantiles.add(all);
}

void sum_targets(const arrow::Array& column, const cell_owner& owner,
                 const row_finder& place, std::span<const double> target,
                 const fit_needs& needs, uint64_t first_row,
                 column_facts& out) {
  for_each_category(column, [&](int64_t row, std::string_view text) {
    if (text.data() == nullptr)
      refuse_missing(owner, place, row);
    auto found = out.targets.find(text);
    if (found == out.targets.end())
      found =
          out.targets
              .emplace(std::string(text), std::vector<target_sum>(needs.folds))
              .first;
    found->second[fold_of(first_row + uint64_t(row), needs.folds, needs.seed)]
        .add({target[size_t(row)], 1});
  });
  out.values = uint64_t(column.length());
}

void sum_classes(const arrow::Array& target,
                 const std::vector<std::span<const double>>& columns,
                 const cell_owner& owner, const row_finder& place,
                 learned_facts& out) {
  for_each_category(target, [&](int64_t row, std::string_view text) {
    if (text.data() == nullptr)
      refuse_missing(owner, place, row);
    auto found = out.classes.find(text);
    if (found == out.classes.end())
      found = out.classes
                  .emplace(std::string(text),
                           class_sums{0, std::vector<double>(columns.size())})
                  .first;
    ++found->second.count;
    for (size_t i = 0; i < columns.size(); ++i)
      found->second.sums[i] += columns[i][size_t(row)];
  });
}

/// The number of a class among those that are known, to which it is added.
double number_of_class(std::vector<std::string>& known,
                       std::map<std::string, size_t, std::less<>>& numbers,
                       std::string_view name) {
  auto found = numbers.find(name);
  if (found == numbers.end()) {
    found = numbers.emplace(std::string(name), known.size()).first;
    known.emplace_back(name);
  }
  return double(found->second);
}

/// Numbers, and the class behind them. `classes`: null if there are none.
void keep_rows(const std::vector<number_column>& columns,
               const arrow::Array* classes, uint64_t first_row,
               uint64_t rows_max, learned_facts& out) {
  const size_t width = columns.size() + (classes != nullptr ? 1 : 0);
  out.sample = row_sample(rows_max, width);
  std::vector<double> of_row;
  std::map<std::string, size_t, std::less<>> numbers;
  if (classes != nullptr)
    for_each_category(*classes, [&](int64_t /*row*/, std::string_view name) {
      of_row.push_back(number_of_class(out.class_names, numbers, name));
    });
  std::vector<double> row(width);
  for (uint64_t i = 0; i < out.rows; ++i) {
    for (size_t c = 0; c < columns.size(); ++c)
      row[c] = columns[c].is_missing(int64_t(i))
                   ? std::numeric_limits<double>::quiet_NaN()
                   : columns[c].values()[i];
    if (classes != nullptr)
      row.back() = of_row[i];
    out.sample.add(first_row + i, row);
  }
  out.sample.thin_out();
}

/// The classes of `later` get the numbers that they have here.
void merge_samples(learned_facts& into, learned_facts& later) {
  std::map<std::string, size_t, std::less<>> numbers;
  for (size_t i = 0; i < into.class_names.size(); ++i)
    numbers.emplace(into.class_names[i], i);
  std::vector<double> number_of;
  for (const std::string& name : later.class_names)
    number_of.push_back(number_of_class(into.class_names, numbers, name));
  if (!number_of.empty())
    later.sample.change_last(
        [&](double of_class) { return number_of[size_t(of_class)]; });
  into.sample.merge(later.sample);
}

void count_tokens(const arrow::Array& column, const text_tokens& of,
                  const cell_owner& owner, const row_finder& place,
                  column_facts& out) {
  of.for_each(column, owner, place,
              [&](int64_t row, const std::vector<std::string_view>& tokens) {
                for (const std::string_view one : tokens)
                  out.tokens.add(row, one);
              });
  out.tokens.end_rows();
  out.values = uint64_t(column.length());
}

void count_rows(const arrow::Array& column, column_facts& out) {
  out.missing = uint64_t(column.null_count());
  out.values = uint64_t(column.length()) - out.missing;
}

[[noreturn]] void refuse_tokens(const std::string& column,
                                const std::string& pointer) {
  throw ballast_error(
      errc::invalid_data,
      pointer + "/columns: '" + printable(column) + "' has more than " +
          std::to_string(token_counts::most) +
          " different tokens; expected fewer: lower \"ngram_max\", or take "
          "\"hash_text\", which learns none",
      pointer + "/columns");
}

template <class All>
void check_count(const All& all, const column_need& need,
                 const std::string& pointer) {
  if (all.size() > category_counts::most)
    throw ballast_error(
        errc::invalid_data,
        pointer + "/columns: '" + printable(need.column) + "' has more than " +
            std::to_string(category_counts::most) +
            " different values; expected categories: \"hash_encode\" takes any "
            "number of them, and \"bin\" makes few of numbers",
        pointer + "/columns");
}

} // namespace

uint64_t fold_of(uint64_t row, uint64_t folds, uint64_t seed) {
  return counter_random(seed, 0x666f6c64).below(folds, row);
}

learned_facts facts_of(const arrow::ArrayVector& columns,
                       const fit_needs& needs, const std::string& step,
                       const std::string& pointer, const row_finder& place,
                       uint64_t first_row) {
  learned_facts out;
  out.rows = columns.empty() ? 0 : uint64_t(columns[0]->length());
  out.columns.resize(needs.columns.size());
  const auto owner_of = [&](size_t i) {
    return cell_owner{pointer, step, needs.columns[i].column};
  };
  std::vector<number_column> numbers; // of those that are numbers
  std::vector<int> number_of(columns.size(), -1);
  numbers.reserve(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const column_need& need = needs.columns[i];
    const bool is_class = needs.classes && int(i) == needs.target;
    if (need.kind != value_kind::numbers || is_class ||
        (need.categories && !need.moments && !need.quantiles)) {
      if (need.tokens != nullptr)
        count_tokens(*columns[i], *need.tokens, owner_of(i), place,
                     out.columns[i]);
      else if (need.categories)
        count_categories(*columns[i], need, owner_of(i), place, out.columns[i]);
      else
        count_rows(*columns[i], out.columns[i]);
      continue;
    }
    number_of[i] = int(numbers.size());
    numbers.emplace_back(columns[i]);
    if (need.missing_allowed)
      check_finite(numbers.back(), owner_of(i), place);
    else
      check_numbers(numbers.back(), owner_of(i), place);
    look_at_numbers(numbers.back(), need, out.columns[i]);
  }
  std::vector<std::span<const double>> together;
  for (size_t i = 0; i < columns.size(); ++i)
    if (number_of[i] >= 0 && (needs.together || needs.classes))
      together.push_back(numbers[size_t(number_of[i])].values());
  if (needs.together)
    out.together = comoments_of(together);
  if (needs.classes)
    sum_classes(*columns[size_t(needs.target)], together,
                owner_of(size_t(needs.target)), place, out);
  if (needs.sample_rows > 0)
    keep_rows(numbers,
              needs.classes ? columns[size_t(needs.target)].get() : nullptr,
              first_row, needs.sample_rows, out);
  if (needs.folds == 0)
    return out;
  const std::span<const double> target =
      numbers[size_t(number_of[size_t(needs.target)])].values();
  out.folds.resize(needs.folds);
  for (size_t row = 0; row < target.size(); ++row)
    out.folds[fold_of(first_row + row, needs.folds, needs.seed)].add(
        {target[row], 1});
  for (size_t i = 0; i < columns.size(); ++i)
    if (needs.columns[i].targets)
      sum_targets(*columns[i], owner_of(i), place, target, needs, first_row,
                  out.columns[i]);
  return out;
}

void merge(learned_facts& into, learned_facts later, const fit_needs& needs,
           const std::string& pointer) {
  into.rows += later.rows;
  for (size_t i = 0; i < into.columns.size(); ++i) {
    column_facts& a = into.columns[i];
    column_facts& b = later.columns[i];
    a.values += b.values;
    a.missing += b.missing;
    a.numbers = data::together(a.numbers, b.numbers);
    a.quantiles.merge(b.quantiles);
    a.categories.merge(b.categories);
    a.tokens.merge(std::move(b.tokens));
    if (a.tokens.size() > token_counts::most)
      refuse_tokens(needs.columns[i].column, pointer);
    check_count(a.categories.all(), needs.columns[i], pointer);
    for (auto& [category, sums] : b.targets) {
      const auto found = a.targets.find(category);
      if (found == a.targets.end()) {
        a.targets.emplace(category, std::move(sums));
        continue;
      }
      for (size_t fold = 0; fold < sums.size(); ++fold)
        found->second[fold].add(sums[fold]);
    }
    check_count(a.targets, needs.columns[i], pointer);
  }
  for (size_t fold = 0; fold < into.folds.size(); ++fold)
    into.folds[fold].add(later.folds[fold]);
  if (needs.sample_rows > 0)
    merge_samples(into, later);
  into.together = data::together(std::move(into.together), later.together);
  for (auto& [name, sums] : later.classes) {
    const auto found = into.classes.find(name);
    if (found == into.classes.end()) {
      into.classes.emplace(name, std::move(sums));
      continue;
    }
    found->second.count += sums.count;
    for (size_t i = 0; i < sums.sums.size(); ++i)
      found->second.sums[i] += sums.sums[i];
  }
}

} // namespace ballast::data
