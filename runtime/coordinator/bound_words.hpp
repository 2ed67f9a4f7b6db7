/// What a run is bound by, in one line. Pure.
#pragma once

#include "runtime/coordinator/time_account.hpp"

#include <string>

namespace ballast::coordinator {

/// `who`: the name of the finding's worker, if it has one.
std::string bound_words(const time_account::finding& what,
                        const std::string& who);

} // namespace ballast::coordinator
