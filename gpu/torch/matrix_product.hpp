/// Matrix products on one thread for CPUs with AVX-512, about twice as fast on
/// AMD as the BLAS inside LibTorch. Matrices are row-major and dense.
#pragma once

#include <cstddef>
#include <vector>

namespace ballast {

/// True if this CPU can; else the caller takes LibTorch's.
bool has_matrix_product();

struct product_shape {
  size_t rows = 0;    // of c
  size_t columns = 0; // of c
  size_t inner = 0;
};

/// c = a b + bias, a is rows x inner, b is columns x inner *transposed* (as
/// torch stores a weight), bias one per column. `scratch` keeps b rearranged.
void product_with_weight(const product_shape& shape, const float* a,
                         const float* weight, const float* bias, float* c,
                         std::vector<float>& scratch);
/// c = a b; a is rows x inner, b is inner x columns.
void product(const product_shape& shape, const float* a, const float* b,
             float* c);
/// c += a^T b; a is inner x rows, b is inner x columns.
void add_product_of_transposed(const product_shape& shape, const float* a,
                               const float* b, float* c);

} // namespace ballast
