/// HOST:PORT options, and which hosts may be bound without access tokens.
#pragma once

#include <cstdint>
#include <string>

namespace ballast::cli {

/// "HOST:PORT", "[::1]:PORT"; ballast_error{usage} with the option's name.
struct host_port {
  std::string host;
  uint16_t port = 0;
};
host_port parse_host_port(const std::string& text, const std::string& option);
/// The address of this host on the route to `peer`, as the local end of a
/// connection would have it. "127.0.0.1" without a route.
std::string local_address_towards(const host_port& peer);
/// Refuses addresses other than loopback, unless `insecure`.
void check_bind(const host_port& where, const std::string& option,
                bool insecure);

} // namespace ballast::cli
