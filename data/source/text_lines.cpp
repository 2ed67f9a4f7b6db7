#include "data/source/text_lines.hpp"

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/util/compression.h>

#include <optional>

namespace ballast::data {

namespace {

using arrow::Compression;

std::optional<Compression::type> packing_of(std::string_view head) {
  if (head.starts_with("\x1F\x8B"))
    return Compression::GZIP;
  if (head.starts_with("\x28\xB5\x2F\xFD"))
    return Compression::ZSTD;
  if (head.starts_with("BZh"))
    return Compression::BZ2;
  if (head.starts_with("\x04\x22\x4D\x18"))
    return Compression::LZ4_FRAME;
  return std::nullopt;
}

constexpr int64_t read_at_once = 1 << 20;

} // namespace

text_lines::text_lines(const stream_file& file, int64_t line_bytes_max)
    : file_(file), line_bytes_max_(line_bytes_max), stream_(file.file()) {
  file.check(file.file()->Seek(0), "cannot be read");
  constexpr int64_t looked_at = 64;
  const std::string head = file.head(looked_at);
  if (const auto packing = packing_of(head)) {
    packed_ = true;
    std::shared_ptr<arrow::util::Codec> codec =
        file.take(arrow::util::Codec::Create(*packing), "cannot be unpacked");
    stream_ = file.take(arrow::io::CompressedInputStream::Make(
                            codec.get(), file.file(), limited_pool()),
                        "cannot be unpacked");
    return;
  }
  // A brace is how JSON lines begin; what is of other kinds is told below.
  const known_content is = content_of(head, file.tail(looked_at));
  if (is.name == text_in_utf16 || (!is.name.empty() && !head.starts_with("{")))
    file.refuse("this is " + std::string(is.name) + "; " +
                std::string(is.remedy));
}

/// Reads on; false at the end.
bool text_lines::fill() {
  if (at_end_)
    return false;
  file_.check_stop();
  if (at_ > 0) {
    text_.erase(0, at_);
    at_ = 0;
  }
  const arrow::Result<std::shared_ptr<arrow::Buffer>> more =
      stream_->Read(read_at_once);
  if (packed_ && !more.ok())
    file_.check(more.status(), "is truncated or damaged after line " +
                                   std::to_string(number_) +
                                   "; fetch the file again");
  const std::shared_ptr<arrow::Buffer> got = file_.take(more, "cannot be read");
  if (got->size() == 0) {
    at_end_ = true;
    return false;
  }
  const bool first = number_ == 0 && text_.empty();
  text_.append(reinterpret_cast<const char*>(got->data()), size_t(got->size()));
  if (first && text_.starts_with("\xEF\xBB\xBF"))
    at_ = 3;
  return true;
}

bool text_lines::next(std::string_view& line) {
  size_t searched = 0; // behind at_
  for (;;) {
    const size_t end = text_.find('\n', at_ + searched);
    const size_t length = (end == std::string::npos ? text_.size() : end) - at_;
    if (int64_t(length) > line_bytes_max_)
      file_.refuse("line " + std::to_string(number_ + 1) + " is longer than " +
                   std::to_string(line_bytes_max_ >> 20) +
                   " MiB; expected one row in each line");
    searched = length;
    if (end == std::string::npos && fill())
      continue;
    if (end == std::string::npos && length == 0)
      return false;
    ++number_;
    open_ended_ = end == std::string::npos;
    line = std::string_view(text_).substr(at_, length);
    at_ += length + (open_ended_ ? 0 : 1);
    return true;
  }
}

} // namespace ballast::data
