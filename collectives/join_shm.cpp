#include "collectives/join_shm.hpp"

#include "runtime/base/fault_point.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace ballast::collectives {

namespace {

constexpr uint32_t offer_magic = 0x73686d31;

/// Accompanies the descriptors: the board first, then the arenas.
struct memory_offer {
  uint32_t magic;
  uint32_t arenas;
  uint64_t generation;
  uint64_t board_bytes;
};

[[noreturn]] void lost(int rank) {
  throw collective_error(collective_errc::peer_lost,
                         "rank " + std::to_string(rank) +
                             " closed its connection while joining",
                         rank);
}

void wait_for(int fd, short events, int rank, const stop_switch& stop,
              deadline until) {
  stop.check();
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now());
  if (left.count() <= 0) {
    throw collective_error(collective_errc::timeout,
                           "rank " + std::to_string(rank) +
                               " did not share its memory before the deadline",
                           rank);
  }
  pollfd polled[] = {{stop.bell(), POLLIN, 0}, {fd, events, 0}};
  (void)::poll(polled, 2,
               static_cast<int>(std::min<int64_t>(left.count(), 1000)));
}

void send_offer(int socket, int rank, const memory_offer& offer,
                const std::vector<int>& fds, const stop_switch& stop,
                deadline until) {
  try {
    while (!send_fds(socket, &offer, sizeof offer, fds.data(), fds.size())) {
      wait_for(socket, POLLOUT, rank, stop, until);
    }
  } catch (const std::system_error&) {
    lost(rank);
  }
}

/// The memory that a peer shares, mapped here.
shm_member take_offer(int socket, int rank, const memory_offer& expected,
                      arena_book& book, const stop_switch& stop,
                      deadline until) {
  memory_offer offer{};
  unique_fd fds[arena_book::arenas_max + 1];
  size_t count = 0;
  ptrdiff_t got = 0;
  while ((got = receive_fds(socket, &offer, sizeof offer, fds,
                            arena_book::arenas_max + 1, count)) == 0) {
    wait_for(socket, POLLIN, rank, stop, until);
  }
  if (got < 0) {
    lost(rank);
  }
  if (got != sizeof offer || offer.magic != expected.magic ||
      offer.generation != expected.generation ||
      offer.board_bytes != expected.board_bytes || count != offer.arenas + 1) {
    throw collective_error(collective_errc::mismatch,
                           "rank " + std::to_string(rank) +
                               " shares memory of another layout; all ranks "
                               "must run the same build",
                           rank);
  }
  shm_member member;
  member.rank = rank;
  member.board = shared_memory::map(fds[0], 0, true);
  member.staging = shared_memory::map(fds[0], board_bytes, false);
  if (member.board->bytes() < generation_bytes) {
    throw collective_error(
        collective_errc::mismatch,
        "rank " + std::to_string(rank) + " shares too little memory", rank);
  }
  for (size_t i = 1; i < count; ++i) {
    member.arenas.push_back(book.peer(fds[i]));
  }
  return member;
}

/// False if the kernel, a sandbox or a limit provides no such memory, or less
/// than a generation needs: then the ranks of a host use sockets.
bool can_share_memory() {
  static const bool can = [] {
    try {
      return shared_memory::create(generation_bytes)->bytes() > 0;
    } catch (const std::system_error&) {
      return false;
    }
  }();
  return can;
}

} // namespace

std::string find_host_id() {
  if (const char* given = std::getenv("BALLAST_HOST_ID")) {
    return can_share_memory() ? given : "";
  }
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  struct stat network {};
  if (!std::getline(file, boot) || ::stat("/proc/self/ns/net", &network) != 0 ||
      !can_share_memory()) {
    return {};
  }
  return boot + "/" + std::to_string(network.st_ino);
}

std::unique_ptr<shm_group>
join_shm(const collective_options& options, const std::vector<int>& ranks,
         const std::vector<stream_mesh::link>& links, arena_book& arenas,
         const std::shared_ptr<death_watch>& watch,
         std::shared_ptr<stop_switch> stop, deadline until) {
  std::vector<shm_member> members(ranks.size());
  const size_t me = static_cast<size_t>(
      std::find(ranks.begin(), ranks.end(), options.rank) - ranks.begin());
  members[me].rank = options.rank;
  // Staging is for small data and data outside of arenas: most of it is never
  // used.
  if (int injected = ballast::fault_point("share.memory"))
    throw std::system_error(injected, std::generic_category(),
                            "cannot make shared memory");
  members[me].board = shared_memory::create(generation_bytes);
  members[me].arenas = arenas.own();
  own_marks marks(watch, members[me].board, ranks.size(), me);

  memory_offer offer{offer_magic,
                     static_cast<uint32_t>(members[me].arenas.size()),
                     value(options.generation), board_bytes};
  std::vector<int> fds = {members[me].board->fd()};
  for (const auto& arena : members[me].arenas) {
    fds.push_back(arena->fd());
  }
  for (int rank : ranks) {
    if (rank != options.rank) {
      send_offer(links[rank].fd.get(), rank, offer, fds, *stop, until);
    }
  }
  std::vector<std::shared_ptr<shared_memory>> used;
  for (size_t m = 0; m < ranks.size(); ++m) {
    if (m != me) {
      members[m] = take_offer(links[ranks[m]].fd.get(), ranks[m], offer, arenas,
                              *stop, until);
      used.insert(used.end(), members[m].arenas.begin(),
                  members[m].arenas.end());
    }
  }
  arenas.keep_only(std::move(used));
  return std::make_unique<shm_group>(std::move(members), static_cast<int>(me),
                                     std::move(marks), std::move(stop));
}

} // namespace ballast::collectives
