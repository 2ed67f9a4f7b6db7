/// Values of a stored type as those of another. Pure function.
#pragma once

#include "runtime/ledger/manifest.hpp"

#include <cstddef>

namespace ballast::data {

/// `count` of them; neither side needs to be aligned, and they do not overlap.
void convert_values(const unsigned char* from, ledger::stored_type is,
                    size_t count, ledger::stored_type as, unsigned char* to);

} // namespace ballast::data
