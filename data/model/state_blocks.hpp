/// The bytes of a state's file, read block by block by several threads, and
/// checked on the way.
///
/// Errors: ballast_error{invalid_data} for a file that is not there, shorter
/// than it was, or not what it was; what a reader throws.
#pragma once

#include "data/model/state_checksums.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace ballast::data {

/// Of one thread.
class block_reader {
public:
  virtual ~block_reader() = default;
  /// The file's bytes from `at` on, one span behind the other, until all are
  /// full.
  virtual void read(uint64_t at, std::span<const std::span<char>> to) = 0;
};
using open_blocks = std::function<std::unique_ptr<block_reader>()>;

/// Of a file of so many bytes that this machine sees.
std::unique_ptr<block_reader> file_blocks(const std::filesystem::path& file,
                                          uint64_t bytes);
/// What a safetensors file begins with: the length of its header, and that.
std::string header_bytes(block_reader& of, uint64_t file_bytes,
                         const std::string& name);

struct block_order {
  uint64_t begin = 0; // of the file's bytes
  uint64_t end = 0;
  uint64_t block_bytes = 0;
  uint32_t threads = 1;
  std::function<bool()> given_up = {}; // asked before each block
};
/// What a thread does with a block of `count` bytes from `at` on.
using block_work = std::function<void(uint64_t at, uint64_t count)>;
/// In the order of the file, each by one of the threads, of which the caller is
/// one. `begin` is called by each thread for its own work. When one throws, or
/// all is given up, `broken_off` lets the others leave their waits, and the
/// first error is thrown; given up: errc::stopped.
void for_each_block(const block_order& how,
                    const std::function<block_work()>& begin,
                    const std::function<void()>& broken_off);

/// Has the kernel bring a file into memory, for those who read it next. Until
/// it is all under way, or `stop` is asked for; a wish, nothing fails.
void bring_into_memory(const std::filesystem::path& file,
                       const std::stop_token& stop);

/// Some bytes of a file, from `at` on.
using use_bytes = std::function<void(uint64_t at, std::string_view bytes)>;
/// Reads all of a file, by as many threads as it has parts, at most so many,
/// which hand on what they read. Throws where it is not what it was.
void check_state_file(const std::filesystem::path& file,
                      const state_checksums& expected, uint32_t threads_max,
                      const use_bytes& use = {});

} // namespace ballast::data
