#include "collectives/shared_memory.hpp"

#include "runtime/base/thread_name.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace ballast::collectives {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

unique_fd make_file(size_t bytes) {
  unique_fd fd(::memfd_create("ballast", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    const int why = errno;
    throw std::system_error(why, std::generic_category(),
                            "cannot make " + std::to_string(bytes) +
                                " bytes of shared memory");
  }
  // Sealed, so that it cannot shrink while a reader maps it.
  (void)::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  return fd;
}

/// True if every page of it has been written.
bool is_present(const struct stat& about) {
  constexpr uint64_t block_bytes = 512; // of st_blocks, whatever st_blksize
  return static_cast<uint64_t>(about.st_blocks) * block_bytes >=
         static_cast<uint64_t>(about.st_size);
}

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

} // namespace

std::shared_ptr<shared_memory> shared_memory::create(size_t bytes) {
  const size_t page = page_bytes();
  bytes = std::max(page, (bytes + page - 1) / page * page);
  unique_fd fd = make_file(bytes);
  void* data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) {
    fail("cannot map shared memory");
  }
  return std::shared_ptr<shared_memory>(
      new shared_memory(static_cast<char*>(data), bytes, std::move(fd)));
}

std::shared_ptr<shared_memory> shared_memory::map(const unique_fd& fd,
                                                  size_t from, bool writable) {
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) {
    fail("cannot look at a peer's shared memory");
  }
  const size_t size = static_cast<size_t>(about.st_size);
  if (size <= from) {
    errno = EINVAL;
    fail("a peer's shared memory is too small");
  }
  void* data = ::mmap(nullptr, size - from,
                      writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                      fd.get(), static_cast<off_t>(from));
  if (data == MAP_FAILED) {
    fail("cannot map a peer's shared memory");
  }
  return std::shared_ptr<shared_memory>(
      new shared_memory(static_cast<char*>(data), size - from, {}));
}

shared_memory::~shared_memory() {
  ::munmap(data_, bytes_);
}

bool shared_memory::holds(const void* memory, size_t bytes) const {
  const char* at = static_cast<const char*>(memory);
  return at >= data_ && bytes <= bytes_ &&
         static_cast<size_t>(at - data_) <= bytes_ - bytes;
}

std::shared_ptr<float[]> arena_book::allocate(size_t floats) {
  auto memory =
      shared_memory::create(std::max<size_t>(1, floats) * sizeof(float));
  // Huge pages if the system allows them.
  (void)::madvise(memory->data(), memory->bytes(), MADV_HUGEPAGE);
  std::lock_guard lock(mutex_);
  std::erase_if(own_, [](const auto& w) { return w.expired(); });
  own_.push_back(memory);
  return {reinterpret_cast<float*>(memory->data()),
          [memory](float*) mutable { memory.reset(); }};
}

std::vector<std::shared_ptr<shared_memory>> arena_book::own() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<shared_memory>> alive;
  for (const auto& weak : own_) {
    if (auto memory = weak.lock(); memory && alive.size() < arenas_max) {
      alive.push_back(std::move(memory));
    }
  }
  return alive;
}

std::shared_ptr<shared_memory> arena_book::peer(const unique_fd& fd) {
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) {
    fail("cannot look at a peer's shared memory");
  }
  // An inode number is not reused while something maps it.
  const std::pair<uint64_t, uint64_t> key{about.st_dev, about.st_ino};
  std::lock_guard lock(mutex_);
  std::erase_if(peers_, [](const auto& e) { return e.second.expired(); });
  if (auto found = peers_.find(key); found != peers_.end()) {
    if (auto memory = found->second.lock()) {
      return memory;
    }
  }
  auto memory = shared_memory::map(fd, 0, false);
  // Take the page faults now: in the first step of a generation all ranks would
  // wait for them. To read what its owner has not written yet would make pages
  // for it, here, where everybody waits.
#ifdef MADV_POPULATE_READ
  if (is_present(about)) {
    (void)::madvise(memory->data(), memory->bytes(), MADV_POPULATE_READ);
  }
#endif
  peers_[key] = memory;
  return memory;
}

void arena_book::keep_only(std::vector<std::shared_ptr<shared_memory>> used) {
  std::lock_guard lock(mutex_);
  kept_.swap(used);
  if (unmapper_.joinable()) {
    unmapper_.join();
  }
  if (used.empty()) {
    return;
  }
  unmapper_ = std::thread([gone = std::move(used)]() mutable {
    name_this_thread("bl-unmap");
    gone.clear();
  });
}

arena_book::~arena_book() {
  if (unmapper_.joinable()) {
    unmapper_.join();
  }
}

} // namespace ballast::collectives
