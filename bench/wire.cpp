// A cable between two network namespaces, with a given bit rate in each
// direction and a given delay. For bench/allreduce.py, because not every kernel
// has the queueing discipline that delays (netem).
//
//   wire NAMESPACE_A NAMESPACE_B DEVICE MBIT DELAY_US
//
// Creates the tun device DEVICE in both (named as `ip netns` names them),
// prints "ready" and carries packets until its input ends. Needs root.
//
// Large packets stay whole, as between a machine and its network card, but take
// as long as the frames into which they would be cut. Packets that would wait
// longer than 50 ms for the cable are dropped, as by a switch.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int64_t queue_ns_max = 50'000'000;
constexpr size_t frame_overhead_bytes = 14; // Ethernet's header
constexpr size_t packet_bytes_max = 65536 + 64;

/// The header before every packet (linux/virtio_net.h does not compile as C++).
struct large_packet_header {
  uint8_t flags;
  uint8_t type; // 0: not to be cut
  uint16_t header_bytes;
  uint16_t cut_bytes;
  uint16_t checksum_start;
  uint16_t checksum_offset;
};
static_assert(sizeof(large_packet_header) == 10);

int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

/// One end: a tun device in a namespace.
int open_end(const std::string& name_space, const char* device) {
  int where =
      ::open(("/run/netns/" + name_space).c_str(), O_RDONLY | O_CLOEXEC);
  if (where < 0 || ::setns(where, CLONE_NEWNET) != 0)
    fail("cannot enter the namespace " + name_space);
  ::close(where);
  int fd = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    fail("cannot open /dev/net/tun");
  ifreq request{};
  std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  if (::ioctl(fd, TUNSETIFF, &request) != 0)
    fail("cannot make a tun device");
  if (::ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0)
    fail("cannot keep large packets whole");
  return fd;
}

struct packet {
  std::vector<char> bytes;
  int64_t due_ns;
};

/// Bytes of a packet on the cable, headers included.
size_t bytes_on_cable(const std::vector<char>& packet) {
  large_packet_header head;
  std::memcpy(&head, packet.data(), sizeof head);
  const size_t all = packet.size() - sizeof head;
  if (head.type == 0 || head.cut_bytes == 0)
    return all + frame_overhead_bytes;
  const size_t headers = std::min<size_t>(head.header_bytes, all);
  const size_t frames = (all - headers + head.cut_bytes - 1) / head.cut_bytes;
  return all - headers + frames * (headers + frame_overhead_bytes);
}

/// From one end to the other.
class direction {
public:
  direction(int from, int to, double ns_a_byte, int64_t delay_ns)
      : from_(from), to_(to), ns_a_byte_(ns_a_byte), delay_ns_(delay_ns) {}

  void take_all(int64_t now) {
    while (true) {
      std::vector<char> bytes = std::move(spare_);
      spare_.clear();
      bytes.resize(packet_bytes_max);
      ssize_t got = ::read(from_, bytes.data(), bytes.size());
      if (got <= static_cast<ssize_t>(sizeof(large_packet_header))) {
        spare_ = std::move(bytes);
        return;
      }
      bytes.resize(static_cast<size_t>(got));
      const int64_t start = std::max(now, free_ns_);
      if (start - now > queue_ns_max)
        continue; // dropped
      free_ns_ =
          start + static_cast<int64_t>(
                      ns_a_byte_ * static_cast<double>(bytes_on_cable(bytes)));
      on_their_way_.push_back({std::move(bytes), free_ns_ + delay_ns_});
    }
  }

  void deliver(int64_t now) {
    while (!on_their_way_.empty() && on_their_way_.front().due_ns <= now) {
      std::vector<char>& bytes = on_their_way_.front().bytes;
      (void)!::write(to_, bytes.data(), bytes.size());
      spare_ = std::move(bytes);
      on_their_way_.pop_front();
    }
  }

  int64_t next_ns() const {
    return on_their_way_.empty() ? INT64_MAX : on_their_way_.front().due_ns;
  }

private:
  int from_, to_;
  double ns_a_byte_;
  int64_t delay_ns_;
  int64_t free_ns_ = 0; // when the cable has sent everything accepted so far
  std::deque<packet> on_their_way_;
  std::vector<char> spare_;
};

void carry(int a, int b, double mbit, int64_t delay_ns) {
  const double ns_a_byte = 8000 / mbit;
  direction there(a, b, ns_a_byte, delay_ns), back(b, a, ns_a_byte, delay_ns);
  while (true) {
    const int64_t now = now_ns();
    there.take_all(now);
    back.take_all(now);
    there.deliver(now);
    back.deliver(now);
    const int64_t wait = std::clamp<int64_t>(
        std::min(there.next_ns(), back.next_ns()) - now_ns(), 0, 1'000'000'000);
    timespec timeout{static_cast<time_t>(wait / 1'000'000'000),
                     static_cast<long>(wait % 1'000'000'000)};
    pollfd polled[] = {{a, POLLIN, 0}, {b, POLLIN, 0}, {0, POLLIN, 0}};
    if (::ppoll(polled, 3, &timeout, nullptr) > 0 && polled[2].revents != 0)
      return; // the process that started us has ended
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr,
                 "usage: wire NAMESPACE_A NAMESPACE_B DEVICE MBIT DELAY_US\n");
    return 2;
  }
  try {
    const int a = open_end(argv[1], argv[3]);
    const int b = open_end(argv[2], argv[3]);
    std::puts("ready");
    std::fflush(stdout);
    carry(a, b, std::atof(argv[4]), std::atoll(argv[5]) * 1000);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wire: %s\n", e.what());
    return 1;
  }
}
