/// Private memory for arenas, zeroed by the kernel, which gives each page at
/// the first write to it: what is made costs nothing until it is used.
#pragma once

#include <cstddef>
#include <memory>

namespace ballast::collectives {

/// `floats` zeros, 64-byte aligned. Throws std::bad_alloc.
std::shared_ptr<float[]> zeroed_floats(size_t floats);

} // namespace ballast::collectives
