#include "data/loader/augmented_rows.hpp"

namespace ballast::data {

void augmented_rows::make(std::span<const void* const> images,
                          std::span<const uint64_t> samples,
                          std::optional<epoch_number> epoch,
                          std::span<float> out) {
  const size_t each = seen().features;
  threads_.each(images.size(), [&](size_t i, size_t thread) {
    float* to = out.data() + i * each;
    if (epoch)
      how_.train(images[i], *epoch, samples[i], rooms_[thread], to);
    else
      how_.evaluate(images[i], rooms_[thread], to);
  });
}

} // namespace ballast::data
