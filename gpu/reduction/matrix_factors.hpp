/// The arithmetic of powersgd: a matrix M of rows x columns, row after row,
/// about as P Q^T with P orthonormal. Factors are stored column after column.
/// What all ranks must compute alike (orthonormalise, normalise, product) has
/// the same bits on every CPU. Pure.
#pragma once

#include "gpu/reduction/compressed_parts.hpp"

#include <cstddef>

namespace ballast::gpu {

/// P = M Q
void times_right(const matrix_part& of, const float* m, const float* q,
                 float* p);
/// Q = M^T P
void times_left(const matrix_part& of, const float* m, const float* p,
                float* q);
/// M = P Q^T
void product(const matrix_part& of, const float* p, const float* q, float* m);
/// left = M - P Q^T
void subtract_product(const matrix_part& of, const float* m, const float* p,
                      const float* q, float* left);
/// `rank` columns of `length`; one that the others make up becomes zero.
void orthonormalise(float* columns, size_t length, size_t rank);
/// False if there is nothing to scale: it stays.
bool normalise(float* column, size_t length);

} // namespace ballast::gpu
