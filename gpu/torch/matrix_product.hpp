/// Matrix products on one thread for CPUs with AVX-512. The BLAS inside
/// LibTorch (MKL) reserves its fast paths for Intel: there it is 1.3
/// (784-128-10) to 2.5 times (layers of 1,024) as fast as these, elsewhere half
/// as fast. Matrices are row-major and dense.
#pragma once

#include <cstddef>
#include <vector>

namespace ballast::gpu {

/// True if this CPU can compute them.
bool has_matrix_product();
/// True if they are also the faster choice.
bool suits_matrix_product();

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
/// c = a^T b; a is inner x rows, b is inner x columns.
void product_of_transposed(const product_shape& shape, const float* a,
                           const float* b, float* c);
/// c += a^T b; likewise.
void add_product_of_transposed(const product_shape& shape, const float* a,
                               const float* b, float* c);

} // namespace ballast::gpu
