/// Images without their labels, as IDX. Errors: as read_idx() in
/// source_table.hpp.
#pragma once

#include "data/source/source_table.hpp"

#include <string>

namespace ballast::data {

/// Rows without labels.
source_table read_idx_images(const std::string& path,
                             const source_request& request);

} // namespace ballast::data
