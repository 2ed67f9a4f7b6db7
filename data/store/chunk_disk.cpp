#include "data/store/chunk_disk.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

/// In `folder`, without a name.
int open_unnamed(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
    return fd;
  // A file system that makes no file without a name.
  std::string name = (folder / "chunks-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0)
    ::unlink(name.c_str());
  return named;
}

/// pread or pwrite of all bytes. errno, or 0; `if_none` where a call transfers
/// nothing.
template <class Call, class Byte>
int transfer(Call call, int if_none, int fd, Byte* next, uint64_t bytes,
             uint64_t at) {
  while (bytes > 0) {
    const ssize_t count = call(fd, next, bytes, off_t(at));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return count < 0 ? errno : if_none;
    next += count;
    at += uint64_t(count);
    bytes -= uint64_t(count);
  }
  return 0;
}

int write_all(int fd, const void* from, uint64_t bytes, uint64_t at) {
  return transfer(::pwrite, ENOSPC, fd, static_cast<const char*>(from), bytes,
                  at);
}

int read_all(int fd, void* to, uint64_t bytes, uint64_t at) {
  return transfer(::pread, EIO, fd, static_cast<char*>(to), bytes, at);
}

} // namespace

chunk_disk::chunk_disk(const fs::path& folder, uint64_t limit_bytes,
                       const ledger::manifest& set,
                       std::function<void(const std::string&)> warn)
    : set_(set), limit_bytes_(limit_bytes), warn_(std::move(warn)) {
  file_.reset(open_unnamed(folder));
  if (!file_)
    fail("cannot make a file in " + folder.string(), errno);
}

void chunk_disk::fail(const std::string& what, int error) {
  file_.reset();
  kept_.clear();
  holes_.clear();
  bytes_ = end_ = 0;
  warn_(what + ": " + std::generic_category().message(error) +
        "; no chunks are kept on this disk, the origin sends them again");
}

/// Features, labels or targets, sample ids, one after another.
uint64_t chunk_disk::bytes_of(uint32_t rows) const {
  return uint64_t(rows) *
         (row_bytes(set_.row) + sizeof(int32_t) + sizeof(uint64_t));
}

bool chunk_disk::find_room(uint64_t bytes, uint64_t& at) {
  if (const auto hole = holes_.lower_bound(bytes); hole != holes_.end()) {
    at = hole->second;
    const uint64_t rest = hole->first - bytes;
    holes_.erase(hole);
    if (rest > 0)
      holes_.emplace(rest, at + bytes);
    return true;
  }
  if (end_ + bytes > limit_bytes_)
    return false;
  at = std::exchange(end_, end_ + bytes);
  return true;
}

void chunk_disk::forget(chunk_id id) {
  const auto found = kept_.find(id);
  holes_.emplace(found->second.bytes, found->second.at);
  bytes_ -= found->second.bytes;
  kept_.erase(found);
}

void chunk_disk::put(const chunk& what) {
  const std::lock_guard lock(mutex_);
  place to{0, bytes_of(what.rows)};
  if (!file_ || kept_.contains(what.id) || !find_room(to.bytes, to.at))
    return;
  const void* labels = what.labels != nullptr
                           ? static_cast<const void*>(what.labels)
                           : what.targets;
  uint64_t at = to.at;
  int error = fault_point("kept.write");
  for (const auto& [from, bytes] :
       {std::pair{what.features, what.rows * row_bytes(set_.row)},
        std::pair{labels, what.rows * sizeof(int32_t)},
        std::pair{static_cast<const void*>(what.sample_ids),
                  what.rows * sizeof(uint64_t)}}) {
    if (error == 0)
      error = write_all(file_.get(), from, bytes, at);
    at += bytes;
  }
  if (error != 0)
    return fail("cannot keep chunk " + to_string(what.id), error);
  kept_[what.id] = to;
  bytes_ += to.bytes;
}

chunk_ptr chunk_disk::read(chunk_id id) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(id);
  if (found == kept_.end())
    return nullptr;
  const ledger::chunk_info& about = set_.train.at(value(id));
  chunk_columns columns;
  columns.features.resize(about.rows * row_bytes(set_.row));
  columns.sample_ids.resize(about.rows);
  const bool classes = set_.row.classes > 0;
  void* labels = nullptr;
  if (classes) {
    columns.labels.resize(about.rows);
    labels = columns.labels.data();
  } else {
    columns.targets.resize(about.rows);
    labels = columns.targets.data();
  }
  uint64_t at = found->second.at;
  int error = fault_point("kept.read");
  for (const auto& [to, bytes] :
       {std::pair{static_cast<void*>(columns.features.data()),
                  columns.features.size()},
        std::pair{labels, about.rows * sizeof(int32_t)},
        std::pair{static_cast<void*>(columns.sample_ids.data()),
                  about.rows * sizeof(uint64_t)}}) {
    if (error == 0)
      error = read_all(file_.get(), to, bytes, at);
    at += bytes;
  }
  if (error != 0) {
    fail("cannot read chunk " + to_string(id), error);
    return nullptr;
  }
  chunk_ptr out =
      make_chunk(id, set_.row, make_batch(set_.row, std::move(columns)));
  if (checksum(*out, set_.row) != about.checksum) {
    fail("chunk " + to_string(id) + " comes back with other bytes", EIO);
    return nullptr;
  }
  return out;
}

void chunk_disk::keep_only(const std::vector<bool>& kept) {
  const std::lock_guard lock(mutex_);
  std::vector<chunk_id> gone;
  for (const auto& [id, where] : kept_)
    if (value(id) >= kept.size() || !kept[value(id)])
      gone.push_back(id);
  for (chunk_id id : gone)
    forget(id);
}

uint64_t chunk_disk::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

} // namespace ballast::data
