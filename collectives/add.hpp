/// The additions of a reduction, vectorised for this processor (AVX-512, AVX2,
/// else plain loops), chosen once at run time. All variants add in the same
/// order and give the same bits.
///
/// Buffers need only byte alignment and may be in memory of which other
/// processes write other parts.
#pragma once

#include "collectives/collective.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace ballast::collectives {

/// target[i] += source[i], `count` elements.
void add_into(void* target, const void* source, size_t count,
              element_type type);

/// target[i] = ((sources[0][i] + sources[1][i]) + sources[2][i]) + ... `target`
/// may be one of the sources. bfloat16 is summed in float32 and rounded once.
/// At least one source.
void sum_of(void* target, std::span<const void* const> sources, size_t count,
            element_type type);

/// Names of the variants that this processor supports, best first; "scalar" is
/// always among them.
std::span<const std::string> add_variants();
/// For tests: selects the variant for add_into and sum_of.
void use_add_variant(const std::string& name);

} // namespace ballast::collectives
