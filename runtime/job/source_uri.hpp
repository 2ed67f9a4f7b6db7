/// Which URIs a job may name. Pure functions.
#pragma once

#include "runtime/job/field.hpp"
#include "runtime/job/job.hpp"

#include <string>
#include <vector>

namespace ballast {

/// The `uri` of rows that come by standard input.
inline constexpr const char* standard_input = "-";
/// The sources that it is; more than one is a mistake.
std::vector<source_spec*> sources_of_standard_input(job& what);

/// Of a text that should be a text_kind::uri, to read from, or a place, to
/// write to.
failure check_address(const field& of, const std::string& pointer,
                      const std::string& text);

} // namespace ballast
