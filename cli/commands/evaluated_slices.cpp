#include "cli/commands/evaluated_slices.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::cli {

evaluated_slices::evaluated_slices(const data::trained_run& of,
                                   data::feature_rows& input,
                                   std::string column)
    : of_(of), input_(input), column_(std::move(column)) {}

void evaluated_slices::hold(data::labelled_features more) {
  const size_t width = of_.row.features;
  for (size_t row = 0; row < more.rows; ++row) {
    data::labelled_features& to = held_[more.slices[row]];
    if (held_.size() > slices_max)
      throw ballast_error(errc::invalid_data,
                          "--by: column '" + printable(column_) +
                              "' has more than " + std::to_string(slices_max) +
                              " values; expected one that names groups");
    const auto first = more.features.begin() + ptrdiff_t(row * width);
    to.features.insert(to.features.end(), first, first + ptrdiff_t(width));
    to.labels.push_back(more.labels[row]);
    ++to.rows;
  }
}

data::labelled_features evaluated_slices::take(const std::string& value,
                                               size_t rows) {
  data::labelled_features& from = held_.at(value);
  const size_t width = of_.row.features;
  data::labelled_features out;
  out.rows = std::min(rows, from.rows);
  const auto features = from.features.begin();
  const auto labels = from.labels.begin();
  out.features.assign(features, features + ptrdiff_t(out.rows * width));
  out.labels.assign(labels, labels + ptrdiff_t(out.rows));
  from.features.erase(features, features + ptrdiff_t(out.rows * width));
  from.labels.erase(labels, labels + ptrdiff_t(out.rows));
  from.rows -= out.rows;
  values_.push_back(value);
  return out;
}

std::optional<data::labelled_features> evaluated_slices::next(size_t rows) {
  while (true) {
    const auto ready = std::ranges::find_if(held_, [&](const auto& one) {
      return one.second.rows >= (ended_ ? 1 : rows);
    });
    if (ready != held_.end())
      return take(ready->first, rows);
    if (ended_)
      return std::nullopt;
    data::labelled_features more = input_.next(rows);
    ended_ = more.rows < rows;
    hold(std::move(more));
  }
}

void evaluated_slices::add(uint64_t part, const evaluated_part& found) {
  found_.try_emplace(values_.at(part), of_).first->second.add(found);
}

nlohmann::ordered_json evaluated_slices::to_json() const {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [value, one] : found_)
    out[value] = one.to_json();
  return out;
}

} // namespace ballast::cli
