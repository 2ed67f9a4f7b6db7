/// Explains why a process cannot listen at an address; the HTTP library reports
/// only that it failed.
#pragma once

#include "runtime/base/errors.hpp"

#include <cstdint>
#include <string>

namespace ballast::monitor {

/// Binds TCP `host`:`port` and releases it at once. port_in_use, or usage if
/// the host is not one of this machine; none on success. `what` names the
/// service in the message ("HTTP").
failure why_not_bound(const std::string& what, const std::string& host,
                      uint16_t port);

} // namespace ballast::monitor
