#include "monitor/http/http_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace ballast::monitor {

namespace {

/// How often a stream checks for shutdown.
constexpr std::chrono::milliseconds look_every{100};

} // namespace

ssize_t request_stream::read(char* to, size_t bytes) {
  const size_t count = std::min(bytes, request_.size() - at_);
  std::memcpy(to, request_.data() + at_, count);
  at_ += count;
  return ssize_t(count);
}

bool socket_stream::is_writable() const {
  char byte;
  const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

ssize_t socket_stream::write(const char* bytes, size_t count) {
  auto left = patience_;
  while (!stopping_.stop_requested() && left.count() > 0) {
    const ssize_t put = ::send(socket_, bytes, count, MSG_NOSIGNAL);
    if (put >= 0)
      return put;
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return -1;
    pollfd wait{socket_, POLLOUT, 0};
    ::poll(&wait, 1, int(look_every.count()));
    left -= look_every;
  }
  return -1;
}

} // namespace ballast::monitor
