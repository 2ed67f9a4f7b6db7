/// What a user should know of a set that was just prepared: which columns were
/// left out without being asked, and what the classes are; and what its chunks
/// cannot give of a job's sampling.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"
#include "store/work_watch.hpp"

#include <functional>
#include <string>
#include <vector>

namespace ballast::data {

std::vector<std::string> notes_of(const job& what,
                                  const ledger::manifest& about);

/// What the chunks of a set cannot give of this job's sampling, and what to do;
/// empty: nothing. Not only of a set that was just prepared: it depends on the
/// seed and on the length of an epoch. Precondition: epoch_uses::mistake
/// returns nothing.
std::string note_of_uses(const job& what, const ledger::manifest& about);

/// Before a set is prepared: reads the rows and cuts chunks as preparing does,
/// and writes none. Returns note_of_uses. Errors: all that preparing refuses.
std::string check_uses(const job& what, const store::work_watch& stop);

/// With a set: tells note_of_uses, if there is one and `warn` is set.
/// ballast_error{invalid_data} where the set has no such uses.
void tell_of_uses(const job& what, const ledger::manifest& about,
                  const std::function<void(const std::string&)>& warn);

} // namespace ballast::data
