#include "data/model/state_blocks.hpp"

#include "data/model/safetensors.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/on_threads.hpp"
#include "runtime/base/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

/// Half of it stays in a core's cache from the read to the hash.
constexpr uint64_t check_block_bytes = 1 << 20;
constexpr size_t pieces_a_call = 64;
/// A request of the kernel waits where the disk has enough to do.
constexpr off_t ahead_bytes = off_t{4} << 20;

[[noreturn]] void refuse_state(const std::string& file,
                               const std::string& why) {
  throw ballast_error(errc::invalid_data, file + " " + why);
}

class state_file_reader final : public block_reader {
public:
  state_file_reader(const std::filesystem::path& file, uint64_t bytes)
      : name_(file.string()),
        file_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat about {};
    if (!file_ || ::fstat(file_.get(), &about) != 0)
      refuse_state(name_,
                   std::string("cannot be read: ") + std::strerror(errno));
    if (uint64_t(about.st_size) != bytes)
      refuse_state(name_, "has " + std::to_string(about.st_size) +
                              " bytes of " + std::to_string(bytes));
  }

  void read(uint64_t at, std::span<const std::span<char>> to) override {
    size_t done = 0; // of the first of them
    while (!to.empty()) {
      if (done == to[0].size()) {
        to = to.subspan(1);
        done = 0;
        continue;
      }
      const size_t count = some(at, to, done);
      at += count;
      done += count;
      while (!to.empty() && done >= to[0].size()) {
        done -= to[0].size();
        to = to.subspan(1);
      }
    }
  }

private:
  size_t some(uint64_t at, std::span<const std::span<char>> to,
              size_t done) const {
    std::array<iovec, pieces_a_call> pieces;
    const size_t count = std::min(to.size(), pieces.size());
    for (size_t i = 0; i < count; ++i) {
      const std::span<char> here = to[i].subspan(i == 0 ? done : 0);
      pieces[i] = {here.data(), here.size()};
    }
    for (;;) {
      const ssize_t got =
          ::preadv(file_.get(), pieces.data(), int(count), off_t(at));
      if (got > 0)
        return size_t(got);
      if (got == 0)
        refuse_state(name_, "ends at byte " + std::to_string(at) +
                                ": it became shorter while it was read");
      if (errno != EINTR)
        refuse_state(name_, "cannot be read at byte " + std::to_string(at) +
                                ": " + std::strerror(errno));
    }
  }

  const std::string name_;
  const unique_fd file_;
};

/// What the threads of one read have in common.
class block_run {
public:
  block_run(const block_order& how, const std::function<void()>& broken_off)
      : how_(how), next_(how.begin), broken_off_(broken_off) {}

  void work(const std::function<block_work()>& begin) {
    try {
      const block_work use = begin();
      for (uint64_t at = next_.fetch_add(how_.block_bytes); at < how_.end;
           at = next_.fetch_add(how_.block_bytes)) {
        if (how_.given_up && how_.given_up())
          throw ballast_error(errc::stopped, "the state is wanted no more");
        use(at, std::min(how_.block_bytes, how_.end - at));
        if (broken_)
          return;
      }
    } catch (...) {
      broken_ = true;
      next_ = how_.end;
      broken_off_();
      throw;
    }
  }

private:
  const block_order& how_;
  std::atomic<uint64_t> next_;
  const std::function<void()>& broken_off_;
  std::atomic<bool> broken_{false};
};

} // namespace

std::unique_ptr<block_reader> file_blocks(const std::filesystem::path& file,
                                          uint64_t bytes) {
  return std::make_unique<state_file_reader>(file, bytes);
}

std::string header_bytes(block_reader& of, uint64_t file_bytes,
                         const std::string& name) {
  uint64_t length = 0;
  if (file_bytes < sizeof length)
    refuse_state(name, "is shorter than 8 bytes");
  const std::span<char> first(reinterpret_cast<char*>(&length), sizeof length);
  of.read(0, std::span(&first, 1));
  if (length > safetensors_header_max || length > file_bytes - sizeof length)
    refuse_state(name, "is no valid safetensors file: its header claims " +
                           std::to_string(length) + " bytes");
  std::string out(sizeof length + length, '\0');
  const std::span<char> all(out);
  of.read(0, std::span(&all, 1));
  return out;
}

void for_each_block(const block_order& how,
                    const std::function<block_work()>& begin,
                    const std::function<void()>& broken_off) {
  block_run run(how, broken_off);
  const uint64_t blocks =
      (how.end - how.begin + how.block_bytes - 1) / how.block_bytes;
  on_threads(std::min<uint64_t>(how.threads, blocks), "bl-state",
             [&] { run.work(begin); });
}

void bring_into_memory(const std::filesystem::path& file,
                       const std::stop_token& stop) {
  const unique_fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!opened || ::fstat(opened.get(), &about) != 0)
    return;
  for (off_t at = 0; at < about.st_size && !stop.stop_requested();
       at += ahead_bytes)
    (void)::posix_fadvise(opened.get(), at, ahead_bytes, POSIX_FADV_WILLNEED);
}

void check_state_file(const std::filesystem::path& file,
                      const state_checksums& expected, uint32_t threads_max,
                      const use_bytes& use) {
  state_check check("its state", expected);
  const block_order how{
      0, expected.bytes, check_block_bytes,
      uint32_t(std::min<size_t>(expected.parts.size() + 1, threads_max))};
  (void)file_blocks(file, expected.bytes); // also one of no bytes
  for_each_block(
      how,
      [&]() -> block_work {
        return [&check, &use,
                room = std::make_shared<std::vector<char>>(check_block_bytes),
                reader = std::shared_ptr<block_reader>(file_blocks(
                    file, expected.bytes))](uint64_t at, uint64_t count) {
          const std::span<char> to(room->data(), count);
          reader->read(at, std::span(&to, 1));
          const std::span<const char> came(to);
          check.add(at, std::span(&came, 1));
          if (use)
            use(at, {came.data(), came.size()});
        };
      },
      [&] { check.stop(); });
}

} // namespace ballast::data
