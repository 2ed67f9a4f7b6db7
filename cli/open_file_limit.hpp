/// The limit of open files of this process, which its children inherit.
#pragma once

#include <cstdint>

namespace ballast::cli {

/// Raises the soft limit to the hard one; the soft one is low only for
/// compatibility with old programs. Throws ballast_error{usage} if even that is
/// too low for a run with this many workers.
void need_open_files(uint32_t workers);

} // namespace ballast::cli
