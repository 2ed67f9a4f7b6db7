#include "data/source/file_text.hpp"

#include "data/source/source_file.hpp"
#include "data/source/stream_file.hpp"

#include <arrow/io/compressed.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

namespace ballast::data {

namespace {

constexpr int64_t read_at_once = 4 << 20;
constexpr std::string_view gzip_begins = "\x1f\x8b";

std::string remote_text(const stored_file& file, const std::string& pointer,
                        const store::work_watch& stop) {
  const stream_file from({open_file(file, pointer), file.name, pointer, stop});
  const std::unique_ptr<arrow::util::Codec> gzip = from.take(
      arrow::util::Codec::Create(arrow::Compression::GZIP), "cannot be read");
  std::shared_ptr<arrow::io::InputStream> in = from.take(
      arrow::io::RandomAccessFile::GetStream(from.file(), 0, from.size()),
      "cannot be read");
  if (from.head(2) == gzip_begins)
    in = from.take(arrow::io::CompressedInputStream::Make(gzip.get(), in),
                   "cannot be unpacked");
  std::string out;
  for (;;) {
    from.check_stop();
    const size_t before = out.size();
    out.resize(before + size_t(read_at_once));
    const int64_t got = from.take(in->Read(read_at_once, out.data() + before),
                                  "cannot be read");
    out.resize(before + size_t(got));
    if (got == 0)
      return out;
  }
}

} // namespace

std::string text_of_file(const stored_file& file, const std::string& pointer,
                         const store::work_watch& stop) {
  if (file.system)
    return remote_text(file, pointer, stop);
  return source_file(file.path, pointer, stop).read_rest();
}

} // namespace ballast::data
