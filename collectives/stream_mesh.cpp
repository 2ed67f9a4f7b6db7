#include "collectives/stream_mesh.hpp"

#include "collectives/fault_point.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ballast::collectives {

namespace {

constexpr uint32_t data_magic = 0x44617461;
constexpr uint32_t goodbye_magic = 0x42796521;
/// One call moves at most this much, so that both directions progress.
constexpr size_t call_bytes_max = size_t{512} << 10;
/// The number of receives before the next send. A kernel queue as long as the
/// window never shrinks while both ends receive as much as they send, and bytes
/// that pass through it have left the caches: so it is drained first, but
/// within a limit, because the other end waits too.
constexpr int pulls_max = 8;
/// Bytes that travel in one call with their frame, to make small operations
/// fast.
constexpr size_t joined_bytes_max = 1024;

struct frame {
  uint32_t magic;
  uint32_t number; // counts the frames of a link and direction
  uint32_t operation;
  uint32_t detail;
  uint64_t bytes;
  uint64_t unused;
};

struct goodbye {
  uint32_t magic;
  uint32_t unused[3];
  collectives::nonce nonce;
};
static_assert(sizeof(frame) == sizeof(goodbye));

} // namespace

struct stream_mesh::outgoing {
  int peer = -1;
  byte_source* source = nullptr;
  frame head{};
  size_t head_sent = 0;
  bool done() const { return head_sent == sizeof head && source->done(); }
  bool blocked() const {
    return !done() && (head_sent < sizeof head || !source->ready().empty());
  }
};

struct stream_mesh::incoming {
  int peer = -1;
  byte_sink* sink = nullptr;
  stream_label label;
  frame head{};
  size_t head_got = 0;
  bool done() const { return head_got == sizeof head && sink->done(); }
  bool starved() const {
    return !done() && (head_got < sizeof head || !sink->room().empty());
  }
};

namespace {

/// The rank of the first stream that is not done; -1: all are.
template <class Stream>
int waits_for(std::span<Stream> streams) {
  const auto at = std::ranges::find_if_not(
      streams, [](const Stream& one) { return one.done(); });
  return at == streams.end() ? -1 : at->peer;
}

/// Whether anything is still expected of that rank.
template <class Stream>
bool needs(std::span<Stream> streams, int rank) {
  return std::ranges::any_of(streams, [&](const Stream& one) {
    return one.peer == rank && !one.done();
  });
}

} // namespace

stream_mesh::stream_mesh(int rank, std::vector<link> links,
                         std::shared_ptr<stop_switch> stop, int spins,
                         std::chrono::milliseconds link_timeout)
    : rank_(rank), links_(std::move(links)), stop_(std::move(stop)),
      spins_(spins), link_timeout_(link_timeout), sent_frames_(links_.size()),
      received_frames_(links_.size()) {}

stream_mesh::~stream_mesh() = default;

stream_mesh::outgoing stream_mesh::begin(const sending& what) {
  return {what.to,
          what.source,
          {data_magic, sent_frames_[what.to]++, what.label.operation,
           what.label.detail, what.label.bytes, 0}};
}

void stream_mesh::transfer(const stream_label& label, byte_source* source,
                           int to, byte_sink* sink, int from, deadline until) {
  outgoing out;
  if (source != nullptr) {
    out = begin({label, source, to});
  }
  incoming in{from, sink, label};
  move({&out, source != nullptr ? 1u : 0u}, {&in, sink != nullptr ? 1u : 0u},
       until);
}

void stream_mesh::transfer(std::span<const sending> out,
                           std::span<const receiving> in, deadline until) {
  std::vector<outgoing> leaving;
  for (const sending& one : out) {
    leaving.push_back(begin(one));
  }
  std::vector<incoming> coming;
  for (const receiving& one : in) {
    coming.push_back({one.from, one.sink, one.label});
  }
  move(leaving, coming, until);
}

void stream_mesh::move(std::span<outgoing> out, std::span<incoming> in,
                       deadline until) {
  int idle = 0;
  const auto patience = patience_until(until);
  until = std::chrono::steady_clock::now() + patience;
  bool progress = false;
  while (waits_for(out) >= 0 || waits_for(in) >= 0) {
    stop_->check();
    bool moved = false;
    for (incoming& one : in) {
      for (int i = 0; i < pulls_max && !one.done() && pull(one); ++i) {
        moved = true;
      }
    }
    for (outgoing& one : out) {
      moved |= !one.done() && push(one);
    }
    if (moved) {
      idle = 0;
      progress = true;
      reach(fault_point::segment, rank_);
    } else if (++idle > spins_) {
      if (std::exchange(progress, false)) {
        until = std::chrono::steady_clock::now() + patience;
      }
      wait(out, in, until);
      idle = 0;
    }
  }
}

std::chrono::nanoseconds stream_mesh::patience_until(deadline until) {
  if (until != until_) {
    until_ = until;
    patience_ = until - std::chrono::steady_clock::now();
  }
  return patience_;
}

bool stream_mesh::push(outgoing& out) {
  const int fd = links_[out.peer].fd.get();
  bool moved = false;
  if (out.head_sent < sizeof out.head) {
    const char* head = reinterpret_cast<const char*>(&out.head);
    const size_t head_left = sizeof out.head - out.head_sent;
    // Header and first bytes in one packet if they are small.
    char joined[sizeof(frame) + joined_bytes_max];
    std::memcpy(joined, head + out.head_sent, head_left);
    size_t more = 0;
    if (!out.source->done()) {
      std::span<const char> body = out.source->ready();
      more = std::min(body.size(), sizeof joined - head_left);
      std::memcpy(joined + head_left, body.data(), more);
    }
    ptrdiff_t sent = send_some(fd, joined, head_left + more);
    if (sent < 0) {
      throw_lost(out.peer);
    }
    size_t of_head = std::min(static_cast<size_t>(sent), head_left);
    out.head_sent += of_head;
    if (static_cast<size_t>(sent) > of_head) {
      out.source->taken(static_cast<size_t>(sent) - of_head);
    }
    bytes_sent_ += static_cast<size_t>(sent);
    moved = sent > 0;
    if (out.head_sent < sizeof out.head || out.source->done()) {
      return moved;
    }
  }
  std::span<const char> body = out.source->ready();
  if (body.empty()) {
    return moved;
  }
  ptrdiff_t sent =
      send_some(fd, body.data(), std::min(body.size(), call_bytes_max));
  if (sent < 0) {
    throw_lost(out.peer);
  }
  if (sent > 0) {
    out.source->taken(static_cast<size_t>(sent));
    bytes_sent_ += static_cast<size_t>(sent);
    moved = true;
  }
  return moved;
}

bool stream_mesh::pull(incoming& in) {
  const int fd = links_[in.peer].fd.get();
  bool moved = false;
  char joined[sizeof(frame) + joined_bytes_max];
  size_t early = 0; // bytes of the body that came with the header
  if (in.head_got < sizeof in.head) {
    const size_t head_left = sizeof in.head - in.head_got;
    const size_t body_max =
        in.sink->done() ? 0
                        : std::min(in.sink->room().size(), joined_bytes_max);
    ptrdiff_t got = receive_some(fd, joined, head_left + body_max);
    if (got < 0) {
      throw_lost(in.peer);
    }
    const size_t of_head = std::min(static_cast<size_t>(got), head_left);
    std::memcpy(reinterpret_cast<char*>(&in.head) + in.head_got, joined,
                of_head);
    in.head_got += of_head;
    if (in.head_got < sizeof in.head) {
      return got > 0;
    }
    early = static_cast<size_t>(got) - of_head;
    std::memmove(joined, joined + of_head, early);
    moved = true;
    if (in.head.magic == goodbye_magic) {
      links_[in.peer].gone = true;
      throw_lost(in.peer);
    }
    const stream_label& label = in.label;
    stream_label theirs{in.head.operation, in.head.detail, in.head.bytes};
    if (in.head.magic != data_magic ||
        in.head.number != received_frames_[in.peer]++ || !(theirs == label)) {
      throw collective_error(
          collective_errc::mismatch,
          "rank " + std::to_string(in.peer) + " does operation " +
              std::to_string(theirs.operation) + "." +
              std::to_string(theirs.detail) + " over " +
              std::to_string(theirs.bytes) + " bytes, this rank " +
              std::to_string(label.operation) + "." +
              std::to_string(label.detail) + " over " +
              std::to_string(label.bytes) +
              "; every rank must call the same operations in the same order",
          in.peer);
    }
    if (early > 0) {
      std::memcpy(in.sink->room().data(), joined, early);
      in.sink->arrived(early);
    }
    if (in.sink->done()) {
      return true;
    }
  }
  std::span<char> room = in.sink->room();
  if (room.empty()) {
    return moved;
  }
  ptrdiff_t got =
      receive_some(fd, room.data(), std::min(room.size(), call_bytes_max));
  if (got < 0) {
    throw_lost(in.peer);
  }
  if (got > 0) {
    in.sink->arrived(static_cast<size_t>(got));
    moved = true;
  }
  return moved;
}

void stream_mesh::set_wake_bytes(const incoming& in) {
  if (in.done()) {
    return;
  }
  link& from = links_[static_cast<size_t>(in.peer)];
  const size_t wanted =
      in.head_got < sizeof in.head
          ? 1
          : std::clamp<size_t>(in.sink->coming(), 1, wake_bytes_);
  if (wanted != from.wakes_at) {
    from.wakes_at = wanted;
    wake_at(from.fd.get(), wanted);
  }
}

void stream_mesh::wait(std::span<const outgoing> out,
                       std::span<const incoming> in, deadline until) {
  constexpr short hangup = POLLRDHUP | POLLHUP | POLLERR | POLLNVAL;
  std::vector<pollfd> polled; // by rank; those without a link are skipped
  polled.reserve(links_.size() + 1);
  for (const link& one : links_) {
    polled.push_back({one.gone ? -1 : one.fd.get(), POLLRDHUP, 0});
  }
  polled.push_back({stop_->bell(), POLLIN, 0});
  for (const incoming& one : in) {
    set_wake_bytes(one);
    polled[one.peer].events |= one.starved() ? POLLIN : 0;
  }
  for (const outgoing& one : out) {
    polled[one.peer].events |= one.blocked() ? POLLOUT : 0;
  }
  const auto left = until - std::chrono::steady_clock::now();
  if (left <= left.zero()) {
    const int peer = waits_for(in) >= 0 ? waits_for(in) : waits_for(out);
    throw collective_error(
        collective_errc::timeout,
        "the deadline passed waiting for rank " + std::to_string(peer), peer);
  }
  // Wakes up in time to see that a host has fallen silent.
  const auto ns = std::min(
      std::chrono::duration_cast<std::chrono::nanoseconds>(left),
      std::chrono::duration_cast<std::chrono::nanoseconds>(link_timeout_) / 4);
  timespec timeout{static_cast<time_t>(ns.count() / 1'000'000'000),
                   static_cast<long>(ns.count() % 1'000'000'000)};
  int ready = ::ppoll(polled.data(), polled.size(), &timeout, nullptr);
  if (ready <= 0) { // a signal or the timeout: the caller comes again
    for (const outgoing& one : out) {
      look_for_silence(one.peer);
    }
    for (const incoming& one : in) {
      look_for_silence(one.peer);
    }
    return;
  }
  stop_->check();
  polled.pop_back();
  if (std::ranges::any_of(
          polled, [](const pollfd& p) { return (p.revents & hangup) != 0; })) {
    look_at_the_others(out, in);
  }
}

void stream_mesh::check_links() {
  look_at_the_others({}, {});
}

/// Some link has ended. Links in use report it themselves, after the bytes that
/// are still in them; any other rank must have said goodbye.
void stream_mesh::look_at_the_others(std::span<const outgoing> out,
                                     std::span<const incoming> in) {
  auto ended = [this](int peer) {
    pollfd p{links_[peer].fd.get(), POLLRDHUP, 0};
    return ::poll(&p, 1, 0) > 0 && p.revents != 0;
  };
  for (int r = 0; r < size(); ++r) {
    if (r == rank_ || links_[r].gone || needs(in, r)) {
      continue;
    }
    // A rank that only receives from us never sends: ask the link itself.
    if (needs(out, r)) {
      if (ended(r)) {
        throw_lost(r);
      }
    } else if (ended(r)) {
      if (!left_in_good_order(r)) {
        throw_lost(r);
      }
      links_[r].gone = true;
    }
  }
}

/// A host that vanished sends nothing, not even that. With nothing in flight to
/// it the kernel probes (keepalive); with data in flight, the silence shows
/// here.
void stream_mesh::look_for_silence(int peer) {
  link& l = links_[static_cast<size_t>(peer)];
  const auto now = std::chrono::steady_clock::now();
  if (!owes_an_answer(l.fd.get())) {
    l.owes_since = {};
  } else if (l.owes_since == deadline{}) {
    l.owes_since = now;
  } else if (now - l.owes_since > link_timeout_) {
    throw collective_error(
        collective_errc::peer_lost,
        "the host of rank " + std::to_string(peer) +
            " has answered nothing for " +
            std::to_string(link_timeout_.count()) + " ms",
        peer,
        {{peer,
          {},
          "nothing for " + std::to_string(link_timeout_.count()) + " ms"}});
  }
}

/// A closed link's last bytes are a goodbye with the link's own nonce.
bool stream_mesh::left_in_good_order(int peer) {
  const int fd = links_[peer].fd.get();
  int waiting = 0;
  if (::ioctl(fd, FIONREAD, &waiting) != 0 ||
      waiting < static_cast<int>(sizeof(goodbye))) {
    return false;
  }
  std::vector<char> bytes(static_cast<size_t>(waiting));
  ssize_t got = ::recv(fd, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < static_cast<ssize_t>(sizeof(goodbye))) {
    return false;
  }
  goodbye last;
  std::memcpy(&last, bytes.data() + got - sizeof last, sizeof last);
  return last.magic == goodbye_magic && last.nonce == links_[peer].nonce;
}

void stream_mesh::say_goodbye() noexcept {
  for (int r = 0; r < size(); ++r) {
    if (r == rank_ || !links_[r].fd) {
      continue;
    }
    goodbye bye{goodbye_magic, {}, links_[r].nonce};
    (void)send_some(links_[r].fd.get(), &bye, sizeof bye);
    ::shutdown(links_[r].fd.get(), SHUT_WR);
  }
}

void stream_mesh::cut() noexcept {
  for (int r = 0; r < size(); ++r) {
    if (r != rank_ && links_[r].fd) {
      ::shutdown(links_[r].fd.get(), SHUT_RDWR);
    }
  }
}

void stream_mesh::throw_lost(int peer) const {
  stop_->check(); // our own abort cut the links: report that
  throw collective_error(collective_errc::peer_lost,
                         "rank " + std::to_string(peer) +
                             " has closed its connection: its process is gone "
                             "or left this generation",
                         peer);
}

} // namespace ballast::collectives
