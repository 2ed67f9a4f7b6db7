/// Which URIs a job may name. Pure function.
#pragma once

#include "runtime/job/field.hpp"

#include <string>

namespace ballast {

/// Of a text of the shape SCHEME://...: whether it can be a source.
failure check_uri(const field& of, const std::string& pointer,
                  const std::string& text);

} // namespace ballast
