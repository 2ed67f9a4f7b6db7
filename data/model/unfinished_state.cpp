#include "data/model/unfinished_state.hpp"

#include "data/base/content_hash.hpp"
#include "data/model/checkpoint_writing.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>
#include <utility>

namespace ballast::data {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t page_bytes = 4096;
constexpr size_t token_max = 64;

fs::path token_beside(const fs::path& file) {
  return file.parent_path() / "token";
}

fs::path mark_beside(const fs::path& file, const std::string& mark) {
  return file.parent_path() / ("mark-" + mark);
}

std::string new_token() {
  std::random_device random;
  std::string out;
  for (int i = 0; i < 2; ++i)
    out += hex16(uint64_t{random()} << 32 | random());
  return out;
}

/// So that a full disk shows before anything is written. Not every file system
/// can; then it shows later.
void take_space(int fd, uint64_t bytes, const fs::path& path) {
  if (bytes == 0 || ::fallocate(fd, 0, 0, off_t(bytes)) == 0)
    return;
  if ((errno != EOPNOTSUPP && errno != ENOSYS) ||
      ::ftruncate(fd, off_t(bytes)) != 0)
    writing_failed(path, "write");
}

unique_fd open_to_write(const fs::path& path, int how) {
  return unique_fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | how, 0644));
}

} // namespace

unfinished_state::unfinished_state(fs::path file, uint64_t bytes,
                                   const writing_points& points)
    : file_(std::move(file)), bytes_(bytes), token_(new_token()),
      points_(points), fd_(open_to_write(file_, O_CREAT | O_TRUNC)) {
  if (!fd_)
    writing_failed(file_, "make");
  reach_writing(points_.write, file_);
  take_space(fd_.get(), bytes_, file_);
  const fs::path beside = token_beside(file_);
  const unique_fd token = open_to_write(beside, O_CREAT | O_TRUNC);
  if (!token)
    writing_failed(beside, "make");
  write_bytes_at(token.get(), 0, token_, beside);
}

void unfinished_state::write(uint64_t at, std::string_view bytes) const {
  write_bytes_at(fd_.get(), at, bytes, file_);
  // On its way to the disk while the next bytes come, so that the end has less
  // to wait for. A wish: nothing fails.
  (void)::sync_file_range(fd_.get(), off_t(at), off_t(bytes.size()),
                          SYNC_FILE_RANGE_WRITE);
}

/// By its name alone, which nobody has looked for before: no file system that
/// keeps for a while what it found has an answer to it.
bool unfinished_state::take_mark(const std::string& mark) const {
  return ::unlink(mark_beside(file_, mark).c_str()) == 0;
}

void unfinished_state::end() const {
  reach_writing(points_.sync, file_);
  if (::fdatasync(fd_.get()) != 0)
    writing_failed(file_, "sync");
  if (::unlink(token_beside(file_).c_str()) != 0)
    writing_failed(token_beside(file_), "remove");
}

bool sees(const shared_place& place) {
  std::ifstream in(token_beside(place.file), std::ios::binary);
  std::string found(token_max, '\0');
  in.read(found.data(), std::streamsize(found.size()));
  found.resize(size_t(std::max<std::streamsize>(in.gcount(), 0)));
  return !place.token.empty() && found == place.token;
}

std::string new_mark() {
  return new_token();
}

/// A file is made of it.
bool is_mark(std::string_view name) {
  return !name.empty() && name.size() <= token_max &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool leave_mark(const shared_place& place, const std::string& mark) {
  if (!sees(place))
    return false;
  const fs::path path = mark_beside(place.file, mark);
  if (!open_to_write(path, O_CREAT | O_EXCL))
    writing_failed(path, "make");
  return true;
}

bool remove_mark(const shared_place& place, const std::string& mark) {
  return sees(place) && ::unlink(mark_beside(place.file, mark).c_str()) == 0;
}

part_writer::part_writer(const shared_place& place)
    : file_(place.file), direct_(open_to_write(place.file, O_DIRECT)),
      cached_(open_to_write(place.file, 0)) {
  if (!cached_)
    writing_failed(file_, "open");
}

void part_writer::write(uint64_t at, std::span<const char> bytes) {
  const bool whole =
      direct_ && at % page_bytes == 0 &&
      reinterpret_cast<uintptr_t>(bytes.data()) % page_bytes == 0;
  const size_t direct = whole ? bytes.size() / page_bytes * page_bytes : 0;
  size_t done = 0;
  if (direct > 0) {
    const ssize_t count =
        ::pwrite(direct_.get(), bytes.data(), direct, off_t(at));
    // Where that does not go, or an error has to be told, the cache serves.
    done = count > 0 ? size_t(count) : 0;
  }
  write_bytes_at(cached_.get(), at + done,
                 {bytes.data() + done, bytes.size() - done}, file_);
}

void part_writer::sync() const {
  if (::fdatasync(cached_.get()) != 0)
    writing_failed(file_, "sync");
}

void write_synced(const shared_place& place, uint64_t at,
                  std::span<const char> bytes) {
  part_writer to(place);
  to.write(at, bytes);
  to.sync();
}

} // namespace ballast::data
