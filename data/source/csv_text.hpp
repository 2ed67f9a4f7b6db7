/// Cuts the text of a CSV file into blocks of whole records, so that a file of
/// any size needs the memory of a few blocks, and several can be parsed at
/// once. Where they end depends on the text alone.
///
/// One owner, one thread. ballast_error{invalid_data}: a record is longer than
/// record_bytes_max; else as the input throws.
#pragma once

#include "data/source/file_text.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ballast::data {

constexpr size_t csv_block_bytes = size_t{1} << 20;
/// A quote that is never closed must not take all memory.
constexpr size_t csv_record_bytes_max = size_t{256} << 20;

/// Whole records. Behind them stand a line end and zeros, so that a parser need
/// not look for the end at each byte.
struct csv_block {
  static constexpr size_t behind = 64;
  std::unique_ptr<char[]> memory;
  size_t size = 0;
  /// Which part of it is still to be read.
  size_t begin = 0;
  bool last = false; // of the file

  std::string_view text() const { return {memory.get() + begin, size - begin}; }
};

class csv_text {
public:
  explicit csv_text(text_input input, size_t block_bytes = csv_block_bytes);

  /// False at the end.
  bool next(csv_block& out);
  /// What separates cells; known once the first block is read.
  char separator() const { return separator_; }
  /// The block that came last ends within a record of this many bytes, which is
  /// too long.
  bool too_long() const { return too_long_; }

private:
  void more(csv_block& to);

  text_input input_;
  const size_t block_bytes_;
  csv_block rest_; // read, and not yet handed out
  bool at_end_ = false;
  bool too_long_ = false;
  char separator_ = 0;
};

/// The end of the last record that `text`, which begins with one, has as a
/// whole; 0: none. `end`: nothing comes behind it.
size_t whole_records(std::string_view text, char separator, bool end);

} // namespace ballast::data
