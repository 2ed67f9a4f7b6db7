#include "data/operators/row_origin.hpp"

#include "runtime/base/printable.hpp"

#include <iterator>

namespace ballast::data {

std::string row_origins::place_of(uint64_t origin) const {
  const std::lock_guard lock(mutex_);
  const auto behind = files_.upper_bound(origin);
  if (behind == files_.begin())
    return "the source: row " + std::to_string(origin + 1);
  const auto& [first, name] = *std::prev(behind);
  return printable(name) + ": row " + std::to_string(origin - first + 1);
}

row_origins::found row_origins::find(uint64_t origin) const {
  const std::lock_guard lock(mutex_);
  found out;
  const auto source = size_t(origin / rows_of_source_max);
  if (source < sources_.size())
    out.source = sources_[source];
  out.row = origin % rows_of_source_max + 1;
  if (const auto behind = files_.upper_bound(origin);
      behind != files_.begin()) {
    const auto& [first, name] = *std::prev(behind);
    out.file = name;
    out.row = origin - first + 1;
  }
  return out;
}

std::vector<source_table::file> row_origins::files() const {
  const std::lock_guard lock(mutex_);
  std::vector<source_table::file> out;
  for (const auto& [first, name] : files_)
    out.push_back({name, first});
  return out;
}

std::vector<std::string> row_origins::notes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out(notes_.begin(), notes_.end());
  if (!without_rows_.empty())
    out.push_back(
        no_rows_note(without_rows_.size(), without_rows_.begin()->second));
  return out;
}

} // namespace ballast::data
