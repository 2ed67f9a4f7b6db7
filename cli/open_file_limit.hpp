/// The limit of open files of this process, which its children inherit.
#pragma once

#include <cstdint>

namespace ballast {

/// Raises the soft limit to the hard one: the soft one is low for the sake of
/// old programs. Throws ballast_error{usage} where even that is too low for a
/// run of so many workers.
void need_open_files(uint32_t workers);

} // namespace ballast
