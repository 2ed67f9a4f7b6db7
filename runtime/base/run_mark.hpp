/// Tells runs of one name apart: a worker that lost its coordinator shows the
/// mark of its run, so that the coordinator of another state folder, whose runs
/// have the same names, does not take it in. Derived from the run's token, from
/// which it does not lead back. Pure.
#pragma once

#include <string>

namespace ballast {

/// 16 hexadecimal digits.
std::string run_mark(const std::string& token, const std::string& run);

} // namespace ballast
