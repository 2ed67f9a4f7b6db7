/// Access rules of the control interface: the defence against foreign web pages
/// in a user's browser. A page can make a browser send requests to a loopback
/// address (cross-site requests, DNS rebinding), but it cannot choose Host and
/// Origin. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ballast::monitor {

/// The host of "host", "host:port", "[::1]:port"; brackets removed.
std::string_view host_part(std::string_view host_header);

/// True if `host_header` names this server: the bound host or a name of the
/// loopback. The port is not compared, because it changes in a forwarded
/// connection and a rebinding page gains nothing by it. If the server is bound
/// to every address ("0.0.0.0", "::"), any literal address and `machine_name`
/// are accepted too, because only names can be rebound.
bool host_allowed(std::string_view host_header, std::string_view bound_host,
                  std::string_view machine_name);

/// True if `origin` (empty = absent) is the page of `host_header` itself.
bool origin_allowed(std::string_view origin, std::string_view host_header);

/// True if the media type is application/json, whatever its parameters.
bool is_json_type(std::string_view content_type);

} // namespace ballast::monitor
