/// Builders that keep the tests of data/ short.
#pragma once

#include "data/store/chunk.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ballast::data {

/// The wheel's gRPC and Arrow are not built for the thread sanitizer: it does
/// not see how their threads synchronise and takes all they hand over for
/// races. Tests that cross their threads are skipped there (the rest needs
/// thread_sanitizer_test.cpp).
#ifdef __SANITIZE_THREAD__
constexpr bool under_thread_sanitizer = true;
#else
constexpr bool under_thread_sanitizer = false;
#endif

/// `features` values a row, scale 1, shape {features}.
inline ledger::row_shape shape_of(ledger::stored_type stored, uint32_t features,
                                  uint32_t classes) {
  return {features, {features}, stored, 1, 0, classes};
}

/// Value j of row i of chunk `id` = (id * 31 + i * 7 + j) % 251;
/// label (or target) = i % classes; sample_id = 1000 * id + i.
template <class T>
chunk_ptr some_chunk(uint32_t id, uint32_t rows, const ledger::row_shape& row) {
  chunk_columns columns;
  std::vector<T> values;
  for (uint32_t i = 0; i < rows; ++i) {
    for (uint32_t j = 0; j < row.features; ++j)
      values.push_back(T((id * 31 + i * 7 + j) % 251));
    if (row.classes > 0)
      columns.labels.push_back(int32_t(i % row.classes));
    else
      columns.targets.push_back(float(i) / 2);
    columns.sample_ids.push_back(1000 * id + i);
  }
  columns.features.resize(values.size() * sizeof(T));
  std::memcpy(columns.features.data(), values.data(), columns.features.size());
  return make_chunk(chunk_id(id), row, make_batch(row, std::move(columns)));
}

/// A new folder that goes when the test ends.
class temporary_folder {
public:
  temporary_folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "ballast-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error("cannot make " + pattern);
    path_ = pattern;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }

private:
  std::filesystem::path path_;
};

} // namespace ballast::data
