#include "runtime/augment/augment_catalogue.hpp"

#include <algorithm>

namespace ballast::augment {

namespace {

using sizes = std::vector<uint32_t>;
using numbers = std::vector<double>;

/// Of a side; what `images` gives has no longer one.
constexpr double side_most = 1024;

option size_option(const std::string& doc) {
  return {.name = "size",
          .doc = doc,
          .usual = sizes(),
          .required = true,
          .low = 1,
          .high = side_most,
          .items_max = 2};
}

/// Those that take a part of an image.
void add_parts(std::vector<operator_about>& all) {
  all.push_back(
      {.what = op::crop,
       .doc = "A part anywhere in the image; in evaluation its middle.",
       .options = {size_option("Height and width of the part, [28, 28] or 28."),
                   {.name = "padding",
                    .doc = "So many pixels of 0 are put around the image "
                           "first.",
                    .usual = uint64_t{0},
                    .high = side_most}}});
  all.push_back(
      {.what = op::resized_crop,
       .doc = "A part of any size and shape anywhere in the image, scaled; in "
              "evaluation the largest in the middle that has the shape of "
              "`size`.",
       .options = {size_option("Height and width that the part is scaled to."),
                   {.name = "scale",
                    .doc = "The least and the largest part of the image's "
                           "area.",
                    .usual = numbers{0.08, 1},
                    .high = 1,
                    .low_excluded = true,
                    .items_min = 2,
                    .items_max = 2},
                   {.name = "ratio",
                    .doc = "The least and the largest width over height of "
                           "the part.",
                    .usual = numbers{0.75, 4.0 / 3},
                    .low = 0.01,
                    .high = 100,
                    .items_min = 2,
                    .items_max = 2}}});
}

/// Those that keep its size.
void add_changes(std::vector<operator_about>& all) {
  all.push_back(
      {.what = op::flip,
       .doc = "Mirrors the image, or leaves it.",
       .options = {{.name = "probability",
                    .doc = "Of being mirrored.",
                    .usual = 0.5,
                    .high = 1},
                   {.name = "axis",
                    .doc = "`horizontal` swaps left and right, "
                           "`vertical` top and bottom.",
                    .usual = to_string(axis::horizontal),
                    .words = {words_of<axis>.begin(), words_of<axis>.end()}}}});
  all.push_back({.what = op::rotate,
                 .doc = "Around the middle, by any angle up to `degrees` in "
                        "both directions; what comes in from outside is 0.",
                 .options = {{.name = "degrees",
                              .doc = "The largest angle.",
                              .usual = 0.0,
                              .required = true,
                              .high = 180}}});
  const std::string factor = " is multiplied by 1 plus or minus up to this.";
  all.push_back(
      {.what = op::colour,
       .doc = "Other brightness, contrast and saturation, in this "
              "order.",
       .options = {{.name = "brightness",
                    .doc = "Each value" + factor,
                    .usual = 0.0,
                    .high = 10},
                   {.name = "contrast",
                    .doc = "Its distance from the image's mean of "
                           "grey" +
                           factor,
                    .usual = 0.0,
                    .high = 10},
                   {.name = "saturation",
                    .doc = "Its distance from the pixel's grey" + factor,
                    .usual = 0.0,
                    .high = 10}}});
  all.push_back({.what = op::normalise,
                 .doc = "Minus a mean, over a deviation, of values behind "
                        "`data.pipeline`; in evaluation, too. The last step.",
                 .options = {{.name = "mean",
                              .doc = "One for each channel, or one for all.",
                              .usual = numbers(),
                              .required = true,
                              .low = -1e6,
                              .high = 1e6},
                             {.name = "std",
                              .doc = "Likewise.",
                              .usual = numbers(),
                              .required = true,
                              .high = 1e6,
                              .low_excluded = true}}});
}

} // namespace

const std::vector<operator_about>& operator_catalogue() {
  static const std::vector<operator_about> all = [] {
    std::vector<operator_about> out;
    add_parts(out);
    add_changes(out);
    return out;
  }();
  return all;
}

const operator_about& about(op what) {
  return operator_catalogue().at(size_t(what));
}

const option* find_option(op what, std::string_view name) {
  const std::vector<option>& all = about(what).options;
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const option& o) { return o.name == name; });
  return found == all.end() ? nullptr : &*found;
}

} // namespace ballast::augment
