#include "collectives/socket.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

namespace ballast::collectives {

namespace {

constexpr int backlog = 1024;
constexpr size_t fds_max = 32;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

using address_list = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

address_list resolve(const std::string& host, uint16_t port, bool passive) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  int error =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    throw std::system_error(
        std::make_error_code(std::errc::address_not_available),
        "cannot resolve '" + host + "': " + gai_strerror(error));
  }
  return {found, freeaddrinfo};
}

void set_int(int fd, int level, int option, int value) {
  // A link works without these options; it only notices trouble later.
  (void)setsockopt(fd, level, option, &value, sizeof value);
}

/// Abstract: begins with a zero byte, needs no file, vanishes with its owner.
socklen_t local_address(const std::string& name, sockaddr_un& out) {
  out = {};
  out.sun_family = AF_UNIX;
  size_t length = std::min(name.size(), sizeof out.sun_path - 1);
  std::memcpy(out.sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool nothing_now(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR ||
         error == ENOBUFS;
}

/// The address of one end; false if it is unavailable.
bool address_of(int fd, int (*which)(int, sockaddr*, socklen_t*),
                std::string& out) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (which(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return false;
  }
  if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<sockaddr_in6&>(address).sin6_addr;
    out.assign(reinterpret_cast<const char*>(&six), sizeof six);
  } else {
    const auto& four = reinterpret_cast<sockaddr_in&>(address).sin_addr;
    out.assign(reinterpret_cast<const char*>(&four), sizeof four);
  }
  return true;
}

bool same_machine(int fd) {
  std::string here, there;
  return address_of(fd, &::getsockname, here) &&
         address_of(fd, &::getpeername, there) && here == there;
}

} // namespace

unique_fd listen_tcp(const std::string& host, uint16_t& port) {
  address_list address = resolve(host, 0, true);
  unique_fd fd(::socket(address->ai_family,
                        SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    fail("cannot make a socket");
  }
  if (::bind(fd.get(), address->ai_addr, address->ai_addrlen) != 0 ||
      ::listen(fd.get(), backlog) != 0) {
    fail("cannot listen on '" + host + "'");
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &length) !=
      0) {
    fail("cannot read the port of a listener");
  }
  port = ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                   : reinterpret_cast<sockaddr_in&>(bound).sin_port);
  return fd;
}

unique_fd listen_local(std::string& name) {
  unsigned char random[12];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    fail("no random bytes");
  }
  name = "ballast-";
  for (unsigned char byte : random) {
    static const char digits[] = "0123456789abcdef";
    name += digits[byte >> 4];
    name += digits[byte & 15];
  }
  unique_fd fd(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address;
  socklen_t length = local_address(name, address);
  if (!fd ||
      ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(fd.get(), backlog) != 0) {
    fail("cannot listen on a local address");
  }
  return fd;
}

unique_fd accept_one(int listener) {
  return unique_fd(
      ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

unique_fd start_connect_tcp(const std::string& host, uint16_t port) {
  address_list address = resolve(host, port, false);
  unique_fd fd(::socket(address->ai_family,
                        SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    fail("cannot make a socket");
  }
  if (::connect(fd.get(), address->ai_addr, address->ai_addrlen) != 0 &&
      errno != EINPROGRESS) {
    fail("cannot connect to " + host + ":" + std::to_string(port));
  }
  return fd;
}

unique_fd start_connect_local(const std::string& name) {
  unique_fd fd(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    fail("cannot make a local socket");
  }
  sockaddr_un address;
  socklen_t length = local_address(name, address);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (errno == EAGAIN) {
      return {};
    }
    fail("cannot connect to a process of this host");
  }
  return fd;
}

int connect_result(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
    return errno;
  }
  return error;
}

void tune_tcp(int fd, int link_timeout_ms) {
  if (same_machine(fd)) {
    // Pacing (BBR, if that is the system's default) costs a third of the speed
    // on the loopback, where there is no congestion to avoid.
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
  }
  int seconds = std::max(1, link_timeout_ms / 3000);
  set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  // No TCP_USER_TIMEOUT: it also ends a link whose other end is alive and
  // merely does not read for that long.
}

bool owes_an_answer(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) {
    return false;
  }
  // One probe means nothing: kernels answer repeated ones at most twice a
  // second.
  return info.tcpi_probes > 1 ||
         (info.tcpi_retransmits > 1 && info.tcpi_unacked > 0 &&
          info.tcpi_last_ack_recv > info.tcpi_last_data_sent);
}

void wake_at(int fd, size_t bytes) {
  set_int(fd, SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(bytes));
}

ptrdiff_t send_some(int fd, const void* data, size_t bytes) {
  ssize_t sent = ::send(fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) {
    return sent;
  }
  return nothing_now(errno) ? 0 : -1;
}

ptrdiff_t receive_some(int fd, void* data, size_t bytes) {
  ssize_t got = ::recv(fd, data, bytes, MSG_DONTWAIT);
  if (got > 0) {
    return got;
  }
  return got < 0 && nothing_now(errno) ? 0 : -1;
}

bool send_fds(int socket, const void* data, size_t bytes, const int* fds,
              size_t count) {
  alignas(cmsghdr) char control[CMSG_SPACE(fds_max * sizeof(int))] = {};
  iovec part{const_cast<void*>(data), bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds, count * sizeof(int));
  ssize_t sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes)) {
    return true;
  }
  if (sent < 0 && nothing_now(errno)) {
    return false;
  }
  fail("cannot pass descriptors to a process of this host");
}

ptrdiff_t receive_fds(int socket, void* data, size_t bytes, unique_fd* fds,
                      size_t count_max, size_t& count) {
  alignas(cmsghdr) char control[CMSG_SPACE(fds_max * sizeof(int))] = {};
  iovec part{data, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  count = 0;
  ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got <= 0) {
    return got < 0 && nothing_now(errno) ? 0 : -1;
  }
  // The kernel drops descriptors that this process may not open, and reports
  // only this.
  const bool dropped = (message.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    size_t here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < here; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      unique_fd owned(fd); // closes what does not fit
      if (count < count_max) {
        fds[count++] = std::move(owned);
      }
    }
  }
  if (dropped && count < count_max) {
    errno = EMFILE;
    fail("cannot take the descriptors that a peer shares");
  }
  return got;
}

unique_fd make_eventfd() {
  unique_fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) {
    fail("cannot make an event descriptor");
  }
  return fd;
}

void signal_eventfd(int fd) noexcept {
  uint64_t one = 1;
  (void)!::write(fd, &one, sizeof one);
}

void drain_eventfd(int fd) noexcept {
  uint64_t count;
  (void)!::read(fd, &count, sizeof count);
}

} // namespace ballast::collectives
