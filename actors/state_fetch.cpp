#include "actors/state_fetch.hpp"

#include "actors/blob_pieces.hpp"
#include "actors/served_checkpoint.hpp"
#include "actors/state_loading.hpp"
#include "actors/this_machine.hpp"
#include "data/model/state_blocks.hpp"
#include "data/transfer/chunk_service.hpp"
#include "monitor/logs/log.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace ballast::actors {

namespace {

using namespace std::chrono_literals;

/// Stays in a core's cache from the read to the hash.
constexpr uint64_t file_block_bytes = 1 << 20;
constexpr auto connect_deadline = 10s;
constexpr uint32_t connections = 4;
constexpr uint32_t file_threads_max = 8;

class origin_client {
public:
  explicit origin_client(const state_fetch& how)
      : client_(data::chunk_client::connect(how.origin, how.token,
                                            connect_deadline)),
        watch_(bulk_patience) {
    watch_.given_up = how.given_up;
  }
  std::string blob(const std::string& name) {
    return client_->fetch_blob(name, watch_);
  }

private:
  std::unique_ptr<data::chunk_client> client_;
  data::bulk_watch watch_;
};

class origin_reader final : public data::block_reader {
public:
  explicit origin_reader(const state_fetch& how) : origin_(how) {}

  /// Blocks are no larger than a part.
  void read(uint64_t at, std::span<const std::span<char>> to) override {
    const std::string came = origin_.blob(piece_name(checkpoint_part_blob, at));
    size_t done = 0;
    for (std::span<char> one : to) {
      if (came.size() - done < one.size())
        throw ballast_error(errc::invalid_data,
                            "the checkpoint ends at byte " +
                                std::to_string(at + came.size()));
      std::memcpy(one.data(), came.data() + done, one.size());
      done += one.size();
    }
  }

private:
  origin_client origin_;
};

/// Of a host's cores those that this worker may take, and two in any case: one
/// waits for the disk while the other one copies.
uint32_t file_threads(uint32_t local_workers) {
  const uint32_t cores = this_machine().cores;
  return std::clamp(cores / std::max(1u, local_workers), 2u, file_threads_max);
}

/// True if this machine has that very file, as far as its size and its header
/// show.
bool sees(const checkpoint_about& about, const std::string& header) {
  try {
    const auto file = data::file_blocks(about.file, about.expected.bytes);
    std::string here(header.size(), '\0');
    const std::span<char> to(here);
    file->read(0, std::span(&to, 1));
    return here == header;
  } catch (const ballast_error&) {
    return false;
  }
}

step_number fetch(replica& into, const state_fetch& how) {
  origin_client origin(how);
  const step_number wanted{value(how.start) - 1};
  const checkpoint_about about =
      read_checkpoint_about(origin.blob(checkpoint_about_blob));
  if (!about.problem.empty())
    throw damaged_state(wanted, about.problem);
  state_source from;
  from.name = "its state";
  from.header = origin.blob(checkpoint_header_blob);
  from.expected = about.expected;
  if (sees(about, from.header)) {
    from.open = [&] {
      return data::file_blocks(about.file, about.expected.bytes);
    };
    from.block_bytes = file_block_bytes;
    from.threads = file_threads(how.local_workers);
    try {
      return load_state(into, from, how.start, how.given_up);
    } catch (const damaged_state& e) {
      // Of this machine's file. What the coordinator reads may be another one.
      monitor::log().warn("{}: {}; it is fetched from the coordinator",
                          about.file, e.what());
    }
  }
  from.open = [&] { return std::make_unique<origin_reader>(how); };
  from.block_bytes = checkpoint_part_bytes;
  from.threads = connections;
  return load_state(into, from, how.start, how.given_up);
}

} // namespace

/// What is given up may break off anywhere, and that is why.
step_number fetch_state(replica& into, const state_fetch& how) {
  try {
    return fetch(into, how);
  } catch (const ballast_error&) {
    if (how.given_up && how.given_up())
      throw ballast_error(errc::stopped, "the state is wanted no more");
    throw;
  }
}

} // namespace ballast::actors
