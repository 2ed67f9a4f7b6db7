/// The images of a batch, changed on their way from the chunks: by one or more
/// threads, which take rows in turn. What comes out is a pure function of each
/// row (data/augment/image_augment.hpp), so it does not depend on how many
/// there are. One owner, one thread at a time.
#pragma once

#include "data/augment/image_augment.hpp"
#include "data/loader/row_threads.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ballast::data {

class augmented_rows {
public:
  /// `how` outlives this.
  augmented_rows(const image_augment& how, size_t threads)
      : how_(how), threads_(threads, "bl-augment"), rooms_(threads_.count()) {}

  const ledger::row_shape& seen() const { return how_.seen(); }
  /// `out`: as many values for each image as a seen row has. Without `epoch`:
  /// for evaluation.
  void make(std::span<const void* const> images,
            std::span<const uint64_t> samples,
            std::optional<epoch_number> epoch, std::span<float> out);

private:
  const image_augment& how_;
  row_threads threads_;
  std::vector<augment_room> rooms_; // by thread
};

} // namespace ballast::data
