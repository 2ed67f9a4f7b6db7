#include "data/resampling/category_columns.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <string_view>
#include <unordered_map>
#include <utility>

namespace ballast::data {

namespace {

/// Finds a text without making one.
struct text_hash : std::hash<std::string_view> {
  using is_transparent = void;
};
using known_categories =
    std::unordered_map<std::string, uint32_t, text_hash, std::equal_to<>>;

} // namespace

category_columns::category_columns(const arrow::RecordBatch& all,
                                   std::vector<int> columns,
                                   const std::string& source,
                                   const row_finder& place)
    : columns_(std::move(columns)),
      codes_(size_t(all.num_rows()) * columns_.size()),
      counts_(columns_.size()), examples_(columns_.size()) {
  for (size_t to = 0; to < columns_.size(); ++to)
    read(all, to, source, place);
}

void category_columns::read(const arrow::RecordBatch& all, size_t to,
                            const std::string& source,
                            const row_finder& place) {
  const arrow::Array& cells = *all.column(columns_[to]);
  const std::string& name = all.schema()->field(columns_[to])->name();
  const std::string whose = printable(source) + ": column '" + printable(name);
  if (!is_of_kind(value_kind::categories, *cells.type()))
    throw ballast_error(errc::invalid_data,
                        whose + "' is of type " + cells.type()->ToString() +
                            "; as categories this method takes text, whole "
                            "numbers and booleans; \"cast\" or \"bin\" it, or "
                            "leave it out");
  known_categories known;
  std::vector<std::string> names;
  for_each_category(cells, [&](int64_t row, std::string_view text) {
    if (text.data() == nullptr)
      throw ballast_error(errc::invalid_data,
                          place(row) + ", column '" + printable(name) +
                              "': the value is missing; this method expects a "
                              "category in each row, so fill it or leave the "
                              "row out first");
    auto at = known.find(text);
    if (at == known.end()) {
      if (names.size() == categories_max)
        throw ballast_error(errc::invalid_data,
                            whose + "' has more than " +
                                std::to_string(categories_max) +
                                " values; expected categories: leave it out");
      at = known.emplace(std::string(text), uint32_t(names.size())).first;
      names.emplace_back(text);
      examples_[to].push_back(uint32_t(row));
    }
    codes_[size_t(row) * columns_.size() + to] = at->second;
  });
  counts_[to] = uint32_t(names.size());
  put_in_order(names, cells.type()->ToString());
  std::vector<uint32_t> number(names.size());
  std::vector<uint32_t> examples(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const uint32_t met = known.find(names[i])->second;
    number[met] = uint32_t(i);
    examples[i] = examples_[to][met];
  }
  examples_[to] = std::move(examples);
  for (size_t at = to; at < codes_.size(); at += columns_.size())
    codes_[at] = number[codes_[at]];
}

} // namespace ballast::data
