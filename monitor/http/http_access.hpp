/// Who may talk to the control interface: the defence against web pages of
/// elsewhere that a user's browser happens to show. A page can make a browser
/// send requests to a loopback address (cross-site requests, DNS rebinding),
/// but it cannot choose Host and Origin. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ballast {

/// The host of "host", "host:port", "[::1]:port"; brackets removed.
std::string_view host_part(std::string_view host_header);

/// True if `host_header` names this server: the bound host or a name of the
/// loopback. The port is not compared, because it changes in a forwarded
/// connection and a rebinding page cannot gain by it. Bound to every address
/// ("0.0.0.0", "::"), any literal address and `machine_name` do too, because
/// only names can be rebound.
bool host_allowed(std::string_view host_header, std::string_view bound_host,
                  std::string_view machine_name);

/// True if `origin` (empty = absent) is the page of `host_header` itself.
bool origin_allowed(std::string_view origin, std::string_view host_header);

/// True if the media type is application/json, whatever its parameters.
bool is_json_type(std::string_view content_type);

} // namespace ballast
