#include "data/source/file_text.hpp"

#include "data/source/source_file.hpp"
#include "data/source/stream_file.hpp"

#include <arrow/io/compressed.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

namespace ballast::data {

namespace {

constexpr std::string_view gzip_begins = "\x1f\x8b";

class remote_text {
public:
  remote_text(const stored_file& file, const std::string& pointer,
              const store::work_watch& stop, uint64_t whole_max)
      : from_({open_file(file, pointer, whole_max), file.name, pointer, stop}),
        gzip_(from_.take(arrow::util::Codec::Create(arrow::Compression::GZIP),
                         "cannot be read")),
        in_(from_.take(arrow::io::RandomAccessFile::GetStream(from_.file(), 0,
                                                              from_.size()),
                       "cannot be read")) {
    if (from_.head(2) == gzip_begins)
      in_ = from_.take(arrow::io::CompressedInputStream::Make(gzip_.get(), in_),
                       "cannot be unpacked");
  }

  size_t read(char* to, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
      from_.check_stop();
      const int64_t got = from_.take(
          in_->Read(int64_t(bytes - done), to + done), "cannot be read");
      if (got == 0)
        break;
      done += size_t(got);
    }
    return done;
  }

private:
  const stream_file from_;
  const std::unique_ptr<arrow::util::Codec> gzip_;
  std::shared_ptr<arrow::io::InputStream> in_;
};

} // namespace

text_input text_of_file(const stored_file& file, const std::string& pointer,
                        const store::work_watch& stop, uint64_t whole_max) {
  if (file.system)
    return
        [from = std::make_shared<remote_text>(file, pointer, stop, whole_max)](
            char* to, size_t bytes) { return from->read(to, bytes); };
  return [from = std::make_shared<source_file>(file.path, pointer, stop)](
             char* to, size_t bytes) { return from->read(to, bytes); };
}

} // namespace ballast::data
