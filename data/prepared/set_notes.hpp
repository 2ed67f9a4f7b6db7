/// What a user should know of a set that was just prepared: which columns were
/// left out without being asked, and what the classes are. Pure function.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <string>
#include <vector>

namespace ballast::data {

std::vector<std::string> notes_of(const job& what,
                                  const ledger::manifest& about);

} // namespace ballast::data
