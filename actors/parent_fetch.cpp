#include "actors/parent_fetch.hpp"

#include "actors/blob_pieces.hpp"
#include "actors/served_parent.hpp"
#include "data/model/state_blocks.hpp"
#include "data/transfer/chunk_service.hpp"
#include "runtime/base/errors.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

namespace ballast::actors {

namespace {

using namespace std::chrono_literals;

constexpr auto parent_deadline = 10s;

class parent_client {
public:
  explicit parent_client(const parent_order& how)
      : client_(data::chunk_client::connect(how.origin, how.token,
                                            parent_deadline)) {
    watch_.given_up = how.given_up;
  }
  /// A part may come before the wait for it asks.
  void check_wanted() const {
    if (watch_.given_up && watch_.given_up())
      throw ballast_error(errc::stopped, "the model is wanted no more");
  }
  std::string blob(const std::string& name) {
    return client_->fetch_blob(name, watch_);
  }

private:
  std::unique_ptr<data::chunk_client> client_;
  data::bulk_watch watch_;
};

/// True if this machine has that very file, as far as its size and its header
/// show.
bool sees_parent(const parent_about& about, const std::string& header) {
  try {
    const auto file = data::file_blocks(about.file, about.bytes);
    std::string here(header.size(), '\0');
    const std::span<char> to(here);
    file->read(0, std::span(&to, 1));
    return here == header;
  } catch (const ballast_error&) {
    return false;
  }
}

[[noreturn]] void no_room_for_copy(uint64_t bytes) {
  throw ballast_error(errc::device_failed,
                      "no room for a copy of the parameters to begin with (" +
                          std::to_string(bytes) +
                          " bytes): " + std::strerror(errno));
}

void write_copy(int to, std::string_view bytes, uint64_t of) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(to, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR)
      no_room_for_copy(of);
    if (put > 0)
      bytes.remove_prefix(size_t(put));
  }
}

unique_fd copy_of(parent_client& origin, const parent_about& about) {
  unique_fd out(::memfd_create("ballast-parent", MFD_CLOEXEC));
  if (!out)
    no_room_for_copy(about.bytes);
  for (uint64_t at = 0; at < about.bytes;) {
    origin.check_wanted();
    const std::string part = origin.blob(piece_name(parent_part_blob, at));
    if (part.empty())
      throw ballast_error(errc::invalid_data, about.file + " ends at byte " +
                                                  std::to_string(at) + " of " +
                                                  std::to_string(about.bytes));
    write_copy(out.get(), part, about.bytes);
    at += part.size();
  }
  return out;
}

} // namespace

inherited_weights fetch_parent(const parent_order& how) {
  try {
    parent_client origin(how);
    const parent_about about =
        read_parent_about(origin.blob(parent_about_blob));
    inherited_weights out;
    out.optimizer_steps = about.optimizer_steps;
    out.file = about.file;
    if (!sees_parent(about, origin.blob(parent_header_blob))) {
      out.copy = copy_of(origin, about);
      out.file = "/proc/self/fd/" + std::to_string(out.copy.get());
    }
    return out;
  } catch (const ballast_error&) {
    // What is given up may break off anywhere, and that is why.
    if (how.given_up && how.given_up())
      throw ballast_error(errc::stopped, "the model is wanted no more");
    throw;
  }
}

} // namespace ballast::actors
