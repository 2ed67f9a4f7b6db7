#include "monitor/http/http_bind.hpp"

#include "monitor/http/http_server.hpp"
#include "runtime/base/unique_fd.hpp"

#include <cerrno>
#include <netdb.h>
#include <sys/socket.h>
#include <system_error>

namespace ballast::monitor {

namespace {

/// 0, or the errno of the call that failed.
int try_to_listen(const addrinfo& where) {
  unique_fd probe(::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe)
    return errno;
  int yes = 1;
  setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  bool fine = ::bind(probe.get(), where.ai_addr, where.ai_addrlen) == 0 &&
              ::listen(probe.get(), 1) == 0;
  return fine ? 0 : errno;
}

} // namespace

failure why_not_bound(const std::string& what, const std::string& host,
                      uint16_t port) {
  std::string action =
      "cannot serve " + what + " on " + to_string(http_address{host, port});
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  int resolved =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (resolved != 0)
    return {errc::usage, action + ": " + gai_strerror(resolved), {}};
  int error_number = try_to_listen(*found);
  freeaddrinfo(found);
  if (error_number == 0)
    return {};
  if (error_number == EADDRINUSE)
    return {errc::port_in_use,
            action + ": the port is in use; choose another one, or 0 for a "
                     "free one",
            {}};
  return {errc::usage,
          action + ": " + std::generic_category().message(error_number),
          {}};
}

} // namespace ballast::monitor
