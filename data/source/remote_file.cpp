#include "data/source/remote_file.hpp"

#include "data/source/read_ahead_file.hpp"
#include "data/source/remote_errors.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/filesystem/filesystem.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

std::string version_of(const arrow::KeyValueMetadata* metadata, int64_t size,
                       int64_t mtime_ns) {
  std::string etag;
  if (metadata != nullptr)
    for (const char* key : {"ETag", "etag", "Etag"})
      if (const int at = metadata->FindKey(key); at >= 0)
        etag = metadata->value(at);
  return "etag " + etag + " size " + std::to_string(size) + " mtime " +
         std::to_string(mtime_ns);
}

remote_file::remote_file(const stored_file& file, const std::string& pointer,
                         uint64_t whole_max)
    : name_(file.name), pointer_(pointer), size_(int64_t(file.size)),
      mtime_ns_(file.mtime_ns), version_(file.version),
      whole_(file.size <= whole_max),
      asked_(file.system->OpenInputFileAsync(file.path)) {
  // S3 opens a file of known size without a request.
  if (file.system->type_name() != "s3")
    return;
  arrow::fs::FileInfo about(file.path, arrow::fs::FileType::File);
  about.set_size(size_);
  const auto opened = file.system->OpenInputFile(about);
  if (opened.ok())
    begun_ = reading(*opened);
}

uint64_t soon_bytes() {
  constexpr uint64_t most = uint64_t{64} << 20;
  constexpr uint64_t part = 8;
  return std::min(most, available_memory_bytes() / part);
}

bool open_soon(stored_file& file, const std::string& pointer,
               uint64_t whole_max, uint64_t& room) {
  if (file.system == nullptr || file.size > whole_max)
    return false;
  if (file.begun != nullptr && file.begun->is_claimed())
    return true;
  if (file.size > room)
    return false;
  room -= file.size;
  if (file.begun == nullptr)
    file.begun = std::make_shared<remote_file>(file, pointer, whole_max);
  return true;
}

remote_file::~remote_file() {
  asked_.Wait();
}

failure remote_file::explain(const arrow::Status& status) const {
  return explain_remote(status, name_, pointer_);
}

remote_file::arrow_file remote_file::reading(arrow_file below) const {
  return read_ahead(
      std::move(below), size_,
      [name = name_, pointer = pointer_](const arrow::Status& status) {
        return explain_remote(status, name, pointer);
      },
      whole_ ? fetching::whole : fetching::parts);
}

std::shared_ptr<arrow::io::RandomAccessFile> remote_file::take() {
  const auto checked = [&](auto result) {
    if (!result.ok())
      throw ballast_error(explain(result.status()));
    return std::move(result).ValueUnsafe();
  };
  const arrow_file opened = checked(asked_.result());
  const int64_t size = checked(opened->GetSize());
  const auto metadata = checked(opened->ReadMetadata());
  if (version_of(metadata.get(), size, mtime_ns_) != version_)
    throw ballast_error(errc::invalid_data,
                        printable(name_) +
                            ": has changed since it was found; leave it alone "
                            "while it is read, and start again",
                        pointer_);
  return begun_ ? std::move(begun_) : reading(opened);
}

} // namespace ballast::data
