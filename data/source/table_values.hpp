/// The values of a source's table: by column, by place, by row. Free functions;
/// any thread while nobody changes the table.
#pragma once

#include "data/source/source_table.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

/// The values of a column by row: of a feature as stored, before any pipeline
/// step, or of the label. ballast_error{invalid_data} at `pointer` lists the
/// available columns.
std::vector<double> column_values(const source_table& table,
                                  const std::string& name,
                                  const std::string& pointer);

/// Calls `see` with the features of every row, in the order in which they lie
/// (elsewhere: by place), as they are before any pipeline step.
void for_each_place(
    const source_table& table,
    const std::function<void(uint64_t place, std::span<const float>)>& see);
/// What for_each_place() was told, by row.
template <class T>
std::vector<T> by_row(const source_table& table, std::vector<T> by_place) {
  if (table.elsewhere == nullptr)
    return by_place;
  std::vector<T> out(by_place.size());
  for (uint64_t row = 0; row < out.size(); ++row)
    out[row] = by_place[table.elsewhere->place_of(row)];
  return out;
}

/// A row's features as stored, before any pipeline step; not verified where
/// they lie elsewhere.
void row_values(const source_table& table, uint64_t row, std::span<float> out);

} // namespace ballast::data
