#include "data/augment/image_augment.hpp"

#include "data/augment/image_colour.hpp"
#include "data/augment/image_rotate.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ballast::data {

namespace {

/// Numbers of a step's draws.
constexpr uint64_t draw_of_top = 0;
constexpr uint64_t draw_of_left = 1;
constexpr uint64_t only_draw = 0;

value_range range_of(const augment::step& one, const std::string& name) {
  const auto values = augment::value_of<std::vector<double>>(one, name);
  return {values.at(0), values.at(1)};
}

value_range range_of_values(ledger::stored_type stored) {
  constexpr double most = std::numeric_limits<float>::max();
  if (stored == ledger::stored_type::uint8)
    return {0, 255};
  return {-most, most};
}

} // namespace

/// One image: a view of the stored row, or of what a step has made of it.
struct image_augment::under_way {
  const image_draws* draws; // null: evaluation
  augment_room& room;
  image_view view;
  value_range range;

  void now_made(int64_t height, int64_t width) {
    std::swap(room.made, room.other);
    view = whole_image(room.made.data(), ledger::stored_type::float32,
                       view.channels, height, width);
  }
  float* next(int64_t height, int64_t width) {
    room.other.resize(size_t(view.channels * height * width));
    return room.other.data();
  }
  /// As floats of its own, without a gap.
  void compute() {
    const bool is_made = view.values == room.made.data() && view.is_plain() &&
                         view.line == view.width;
    if (is_made && view.plane == view.height * view.width)
      return;
    convert(view, {}, next(view.height, view.width));
    now_made(view.height, view.width);
  }

  void change(size_t place, const crop& how) {
    const int64_t free_rows = view.height + 2 * how.padding - how.height;
    const int64_t free_columns = view.width + 2 * how.padding - how.width;
    int64_t top = free_rows / 2;
    int64_t left = free_columns / 2;
    if (draws != nullptr) {
      top = int64_t(draws->below(uint64_t(free_rows + 1), place, draw_of_top));
      left = int64_t(
          draws->below(uint64_t(free_columns + 1), place, draw_of_left));
    }
    take_part(view, top - how.padding, left - how.padding, how.height,
              how.width);
  }
  void change(size_t place, const resized_crop& how) {
    const image_part part =
        draws != nullptr
            ? draw_part(view.height, view.width, how.scale, how.ratio, *draws,
                        place)
            : middle_part(view.height, view.width, how.height, how.width);
    take_part(view, part.top, part.left, part.height, part.width);
    if (!view.is_plain())
      compute();
    resize(view, how.height, how.width, room.resized,
           next(how.height, how.width));
    now_made(how.height, how.width);
  }
  void change(size_t place, const flip& how) {
    if (draws != nullptr && draws->unit(place, only_draw) < how.probability)
      mirror(view, how.along);
  }
  void change(size_t place, const rotate& how) {
    if (draws == nullptr)
      return;
    const on_turn by =
        turn_of(draws->between(-how.degrees, how.degrees, place, only_draw));
    compute();
    data::rotate(room.made.data(), view.channels, view.height, view.width, by,
                 next(view.height, view.width));
    now_made(view.height, view.width);
  }
  void change(size_t place, const colour& how) {
    if (draws == nullptr)
      return;
    const auto factor = [&](double most, uint64_t number) {
      return float(
          draws->between(std::max(0.0, 1 - most), 1 + most, place, number));
    };
    compute();
    change_colour(room.made.data(), view.channels, view.height * view.width,
                  {.brightness = factor(how.brightness, 0),
                   .contrast = factor(how.contrast, 1),
                   .saturation = factor(how.saturation, 2)},
                  range);
  }
};

image_augment::change image_augment::change_of(const augment::step& one) {
  const auto size = [&] {
    const auto sides = augment::value_of<std::vector<uint32_t>>(one, "size");
    return std::pair<int64_t, int64_t>(sides.front(), sides.back());
  };
  const auto number = [&](const char* name) {
    return augment::value_of<double>(one, name);
  };
  switch (one.what) {
  case augment::op::crop:
    return crop{size().first, size().second,
                int64_t(augment::value_of<uint64_t>(one, "padding"))};
  case augment::op::resized_crop:
    return resized_crop{size().first, size().second, range_of(one, "scale"),
                        range_of(one, "ratio")};
  case augment::op::flip:
    return flip{
        number("probability"),
        parse_word<augment::axis>(augment::value_of<std::string>(one, "axis"))
            .value_or(augment::axis::horizontal)};
  case augment::op::rotate:
    return rotate{number("degrees")};
  case augment::op::colour:
    return colour{number("brightness"), number("contrast"),
                  number("saturation")};
  case augment::op::normalise:
    break; // part of the map, and the last
  }
  throw ballast_error(errc::internal, "\"normalise\" is not the last step");
}

image_augment::image_augment(const std::vector<augment::step>& steps,
                             uint64_t seed, ledger::row_shape stored)
    : seed_(seed), stored_(std::move(stored)), seen_(stored_) {
  augment::image_shape behind;
  if (failure wrong = augment::shape_behind(steps, stored_.shape, behind))
    throw ballast_error(std::move(wrong));
  seen_.shape = {behind.channels, behind.height, behind.width};
  seen_.features = behind.channels * behind.height * behind.width;
  for (size_t channel = 0; channel < behind.channels; ++channel) {
    map_.factor[channel] = float(stored_.scale);
    map_.summand[channel] = float(stored_.offset);
  }
  for (const augment::step& one : steps)
    if (one.what == augment::op::normalise && &one == &steps.back())
      set_map(one);
    else
      changes_.push_back(change_of(one));
}

/// (value * scale + offset - mean) / std, as one product and one sum.
void image_augment::set_map(const augment::step& normalise) {
  const auto mean = augment::value_of<std::vector<double>>(normalise, "mean");
  const auto deviation =
      augment::value_of<std::vector<double>>(normalise, "std");
  for (size_t channel = 0; channel < stored_.shape[0]; ++channel) {
    const double by = deviation.size() == 1 ? deviation[0] : deviation[channel];
    const double less = mean.size() == 1 ? mean[0] : mean[channel];
    map_.factor[channel] = float(stored_.scale / by);
    map_.summand[channel] = float((stored_.offset - less) / by);
  }
}

void image_augment::apply(under_way& image, float* out) const {
  for (size_t place = 0; place < changes_.size(); ++place)
    std::visit([&](const auto& how) { image.change(place, how); },
               changes_[place]);
  convert(image.view, map_, out);
}

void image_augment::train(const void* row, epoch_number epoch, uint64_t sample,
                          augment_room& room, float* out) const {
  const image_draws draws(seed_, epoch, sample);
  under_way image{&draws, room,
                  whole_image(row, stored_.stored, stored_.shape[0],
                              stored_.shape[1], stored_.shape[2]),
                  range_of_values(stored_.stored)};
  apply(image, out);
}

void image_augment::evaluate(const void* row, augment_room& room,
                             float* out) const {
  under_way image{nullptr, room,
                  whole_image(row, stored_.stored, stored_.shape[0],
                              stored_.shape[1], stored_.shape[2]),
                  range_of_values(stored_.stored)};
  apply(image, out);
}

std::optional<image_augment>
make_image_augment(const std::vector<augment::step>& steps, uint64_t seed,
                   const ledger::row_shape& stored) {
  if (steps.empty())
    return std::nullopt;
  return image_augment(steps, seed, stored);
}

} // namespace ballast::data
