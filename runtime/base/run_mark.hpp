/// Tells runs of the same name apart. A worker that lost its coordinator
/// presents the mark of its run, so that the coordinator of another state
/// folder, whose runs have the same names, does not adopt it. The mark is a
/// one-way function of the run's token. Pure.
#pragma once

#include <string>

namespace ballast {

/// 16 hexadecimal digits.
std::string run_mark(const std::string& token, const std::string& run);

} // namespace ballast
