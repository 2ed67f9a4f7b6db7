/// Rows in a file without a name, for a source that does not fit
/// into memory: gone with the process, however it ends. One owner appends;
/// any thread reads what is there. Errors: what `refuse` makes of an errno.
#pragma once

#include "data/source/stored_rows.hpp"
#include "runtime/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace ballast::data {

/// A file that has no name any more, to write and to read.
class nameless_file {
public:
  /// Throws the ballast_error of a write that failed with this errno.
  using refusal = void (*)(const std::filesystem::path& path, int number);

  nameless_file(std::filesystem::path path, refusal refuse);

  void write(uint64_t at, const void* bytes, size_t count);
  void read(uint64_t at, void* bytes, size_t count) const;

private:
  std::filesystem::path path_; // for messages
  refusal refuse_;
  unique_fd file_;
};

class row_file final : public stored_rows {
public:
  row_file(std::filesystem::path path, nameless_file::refusal refuse)
      : file_(std::move(path), refuse) {}

  void append(const void* bytes, size_t count) {
    file_.write(bytes_, bytes, count);
    bytes_ += count;
  }
  /// Once all are there: how many values each has, and of which type.
  void are_of(uint32_t features,
              ledger::stored_type stored = ledger::stored_type::float32);

  ledger::stored_type stored() const override { return stored_; }
  void read(uint64_t first, uint64_t count, unsigned char* out) const override {
    file_.read(first * row_bytes_, out, count * row_bytes_);
  }

private:
  nameless_file file_;
  uint64_t bytes_ = 0;
  uint64_t row_bytes_ = 0;
  ledger::stored_type stored_ = ledger::stored_type::float32;
};

} // namespace ballast::data
