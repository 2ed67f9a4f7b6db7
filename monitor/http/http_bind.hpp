/// Why a process cannot listen at an address, in words: the HTTP library only
/// says that it failed.
#pragma once

#include "runtime/base/errors.hpp"

#include <cstdint>
#include <string>

namespace ballast {

/// Tries to bind TCP `host`:`port` and gives it back at once. port_in_use, or
/// usage where the host is not one of this machine; none if it works. `what`
/// names the service in the message ("HTTP").
failure why_not_bound(const std::string& what, const std::string& host,
                      uint16_t port);

} // namespace ballast
