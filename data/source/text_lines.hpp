/// The lines of a text file, one by one, packed or not (by content: gzip, zstd,
/// bzip2, lz4). Includes Arrow; for source files of data/ only.
///
/// One owner, one thread. Errors: as stream_file says them; a line that is too
/// long, text in UTF-16, and a packed file that breaks off are refused.
#pragma once

#include "data/source/stream_file.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ballast::data {

class text_lines {
public:
  /// `file` outlives this.
  text_lines(const stream_file& file, int64_t line_bytes_max);

  /// The next line, without its end and without a byte order mark; false at the
  /// end. Valid until the next call.
  bool next(std::string_view& line);
  /// Its number, from 1.
  uint64_t number() const { return number_; }
  /// The line came last and has no line end: it may have been cut off.
  bool open_ended() const { return open_ended_; }

private:
  bool fill();

  const stream_file& file_;
  const int64_t line_bytes_max_;
  std::shared_ptr<arrow::io::InputStream> stream_;
  bool packed_ = false;
  std::string text_; // what has been read and not yet handed out, from at_
  size_t at_ = 0;
  bool at_end_ = false;
  uint64_t number_ = 0;
  bool open_ended_ = false;
};

} // namespace ballast::data
