/// Memory that processes of one host share by passing a descriptor: without a
/// name in any file system, freed with its last user, of fixed size. Throws
/// std::system_error.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ballast::collectives {

class shared_memory {
public:
  /// New and zeroed; its pages come with the first write to them.
  static std::shared_ptr<shared_memory> create(size_t bytes);
  /// Bytes [from, end of the file) of a descriptor received from a peer.
  static std::shared_ptr<shared_memory> map(const unique_fd& fd, size_t from,
                                            bool writable);
  ~shared_memory();
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// Of create() only, to pass to peers.
  int fd() const { return fd_.get(); }
  bool holds(const void* memory, size_t bytes) const;

private:
  shared_memory(char* data, size_t bytes, unique_fd fd)
      : data_(data), bytes_(bytes), fd_(std::move(fd)) {}

  char* data_;
  size_t bytes_;
  unique_fd fd_;
};

/// The gradient arenas of this process that peers may read, and the peers'
/// arenas mapped here. Both outlive generations: a new one maps nothing twice.
/// Thread-safe.
class arena_book {
public:
  /// Further arenas are not shared: descriptors travel in one message.
  static constexpr size_t arenas_max = 24;

  arena_book() = default;
  ~arena_book();
  std::shared_ptr<float[]> allocate(size_t floats);
  /// The living ones, oldest first, at most arenas_max.
  std::vector<std::shared_ptr<shared_memory>> own() const;
  /// The read-only mapping of a peer's arena.
  std::shared_ptr<shared_memory> peer(const unique_fd& fd);
  /// The generation that uses exactly these mappings is open: older ones are
  /// unmapped, on a separate thread. The last user of a dead worker's memory
  /// frees it, which takes a tenth of a second for 300 MB.
  void keep_only(std::vector<std::shared_ptr<shared_memory>> used);

private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<shared_memory>> own_;
  std::map<std::pair<uint64_t, uint64_t>, std::weak_ptr<shared_memory>> peers_;
  std::vector<std::shared_ptr<shared_memory>> kept_;
  std::thread unmapper_;
};

} // namespace ballast::collectives
