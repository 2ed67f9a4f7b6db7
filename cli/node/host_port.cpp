#include "cli/node/host_port.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/unique_fd.hpp"

#include <exception>
#include <netdb.h>
#include <stdexcept>
#include <sys/socket.h>

namespace ballast::cli {

host_port parse_host_port(const std::string& text, const std::string& option) {
  size_t colon = text.rfind(':');
  host_port out;
  try {
    if (colon == std::string::npos || colon == 0)
      throw std::invalid_argument(text);
    out.host = text.substr(0, colon);
    if (out.host.front() == '[' && out.host.back() == ']')
      out.host = out.host.substr(1, out.host.size() - 2);
    size_t used = 0;
    std::string digits = text.substr(colon + 1);
    unsigned long port = std::stoul(digits, &used);
    if (used != digits.size() || port > 65535)
      throw std::invalid_argument(text);
    out.port = uint16_t(port);
  } catch (const std::exception&) {
    throw ballast_error(errc::usage,
                        option + " takes HOST:PORT, not '" + text + "'");
  }
  return out;
}

std::string local_address_towards(const host_port& peer) {
  std::string out = "127.0.0.1";
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM; // connecting it sends nothing
  addrinfo* found = nullptr;
  if (::getaddrinfo(peer.host.c_str(), std::to_string(peer.port).c_str(),
                    &wanted, &found) != 0)
    return out;
  for (addrinfo* one = found; one != nullptr; one = one->ai_next) {
    unique_fd way(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    char text[NI_MAXHOST];
    if (way && ::connect(way.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        ::getsockname(way.get(), reinterpret_cast<sockaddr*>(&own), &size) ==
            0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text,
                      sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) {
      out = text;
      break;
    }
  }
  ::freeaddrinfo(found);
  return out;
}

void check_bind(const host_port& where, const std::string& option,
                bool insecure) {
  bool loopback = where.host == "localhost" || where.host == "::1" ||
                  where.host.starts_with("127.");
  if (!loopback && !insecure)
    throw ballast_error(errc::usage,
                        option + " " + where.host +
                            " is not loopback, and this build has no access "
                            "tokens yet: anybody who reaches that address "
                            "could steer the run. Say --insecure to bind it "
                            "all the same");
}

} // namespace ballast::cli
