/// Where a row of a graph comes from: a source, and a row of it, as one number
/// that goes with the row through every operator; and the files by which a user
/// finds it. Any thread: a prefetch has one of its own.
#pragma once

#include "data/source/source_table.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

/// More rows than a source has.
constexpr uint64_t rows_of_source_max = uint64_t{1} << 48;

constexpr uint64_t origin_of(size_t source, uint64_t row) {
  return uint64_t(source) * rows_of_source_max + row;
}

class row_origins {
public:
  row_origins() = default;
  explicit row_origins(std::vector<std::string> sources)
      : sources_(std::move(sources)) {}

  /// A source's file, when its first row is read; again if it is read again.
  void opened(size_t source, const std::string& file, uint64_t first_row) {
    const std::lock_guard lock(mutex_);
    files_[origin_of(source, first_row)] = file;
  }
  /// A file of a source has none; maybe told again.
  void without_rows(size_t source, const std::string& file) {
    const std::lock_guard lock(mutex_);
    without_rows_.emplace(source, file);
  }
  /// For a user; maybe told again.
  void note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    notes_.insert(text);
  }
  /// What was told, and which files have no rows.
  std::vector<std::string> notes() const;
  /// "people.csv: row 12", counted from 1.
  std::string place_of(uint64_t origin) const;
  struct found {
    std::string source; // its name in the job
    std::string file;
    uint64_t row = 0; // of the file, from 1
  };
  found find(uint64_t origin) const;
  /// In order; `first_row` is an origin.
  std::vector<source_table::file> files() const;

private:
  std::vector<std::string> sources_;      // by number
  mutable std::mutex mutex_;              // guards the following
  std::map<uint64_t, std::string> files_; // by the origin of the first row
  std::set<std::pair<size_t, std::string>> without_rows_; // by source
  std::set<std::string> notes_;
};

} // namespace ballast::data
