/// A 3x3 convolution without padding for images with few channels (grey or
/// RGB), for which a general library spends its time on rearranging. Output is
/// channels last.
#pragma once

#include <cstddef>
#include <vector>

namespace ballast::gpu {

struct direct_convolution_shape {
  size_t rows = 0;
  size_t in_channels = 0;
  size_t out_channels = 0;
  size_t in_height = 0; // the output is 2 less in both directions
  size_t in_width = 0;
};

/// True if this implementation is the faster one.
bool suits_direct_convolution(size_t in_channels, size_t out_channels);

/// `images`: rows x in_channels x in_height x in_width. `weight`: out_channels
/// x in_channels x 3 x 3. `scratch` keeps the rearranged weights.
void direct_convolution(const direct_convolution_shape& shape,
                        const float* images, const float* weight,
                        const float* bias, float* out,
                        std::vector<float>& scratch);

} // namespace ballast::gpu
