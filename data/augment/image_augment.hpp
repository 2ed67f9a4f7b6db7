/// What `data.augment` makes of a stored row: the steps of a job, made ready
/// once for all rows. The values are a pure function of (row, steps, seed,
/// epoch, sample): see image_draws.hpp. Immutable; any thread, each with a room
/// of its own.
#pragma once

#include "data/augment/image_draws.hpp"
#include "data/augment/image_part.hpp"
#include "data/augment/image_resize.hpp"
#include "data/augment/image_view.hpp"
#include "runtime/augment/augment_steps.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace ballast::data {

/// What one image needs on its way, kept from image to image.
struct augment_room {
  std::vector<float> made; // of the last step that computed new pixels
  std::vector<float> other;
  resize_room resized;
};

class image_augment {
public:
  /// `stored`: the rows of a prepared set. Throws ballast_error{invalid_job},
  /// with its pointer, if a step has no place on them.
  image_augment(const std::vector<augment::step>& steps, uint64_t seed,
                ledger::row_shape stored);

  /// A row as the model sees it.
  const ledger::row_shape& seen() const { return seen_; }
  const ledger::row_shape& stored() const { return stored_; }

  /// For training. `out`: as many values as a seen row has.
  void train(const void* row, epoch_number epoch, uint64_t sample,
             augment_room& room, float* out) const;
  /// For evaluation: nothing is drawn.
  void evaluate(const void* row, augment_room& room, float* out) const;

private:
  struct crop {
    int64_t height;
    int64_t width;
    int64_t padding;
  };
  struct resized_crop {
    int64_t height;
    int64_t width;
    value_range scale;
    value_range ratio;
  };
  struct flip {
    double probability;
    augment::axis along;
  };
  struct rotate {
    double degrees;
  };
  struct colour {
    double brightness;
    double contrast;
    double saturation;
  };
  using change = std::variant<crop, resized_crop, flip, rotate, colour>;
  struct under_way; // one image

  static change change_of(const augment::step& one);
  void set_map(const augment::step& normalise);
  void apply(under_way& image, float* out) const;

  std::vector<change> changes_; // by place in the list
  uint64_t seed_;
  ledger::row_shape stored_;
  ledger::row_shape seen_;
  channel_map map_; // scale, offset and normalise
};

/// Nothing if the list is empty: then rows are as they are stored.
std::optional<image_augment>
make_image_augment(const std::vector<augment::step>& steps, uint64_t seed,
                   const ledger::row_shape& stored);

} // namespace ballast::data
