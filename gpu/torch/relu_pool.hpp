/// ReLU and 2x2 max-pooling in one pass, and its derivative. Images are
/// channels last (rows, height, width, channels); an odd last line or column is
/// left out, as by torch.nn.MaxPool2d(2).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ballast::gpu {

struct image_shape {
  size_t rows = 0;
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;
};

/// `out`: rows x height/2 x width/2 x channels. `winner`: which of the four
/// each output came from (0 to 3), 4 if ReLU set it to zero.
void relu_pool(const image_shape& shape, const float* in, float* out,
               uint8_t* winner);
/// Writes every value of `by_in`.
void relu_pool_backward(const image_shape& shape, const float* by_out,
                        const uint8_t* winner, float* by_in);

} // namespace ballast::gpu
