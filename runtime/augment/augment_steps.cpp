#include "runtime/augment/augment_steps.hpp"

#include "runtime/base/check.hpp"

namespace ballast::augment {

namespace {

std::string n(uint64_t number) {
  return std::to_string(number);
}

failure refuse(size_t index, const std::string& name, const std::string& why) {
  const std::string field = pointer_of(index) + "/" + name;
  return {errc::invalid_job, field + ": " + why, field};
}

/// The pair of a range in the wrong order.
failure check_range(const step& one, size_t index, const std::string& name) {
  const auto range = value_of<std::vector<double>>(one, name);
  if (range.size() < 2 || range[0] <= range[1])
    return {};
  return refuse(index, name,
                "the first is larger than the second; expected the least, then "
                "the largest");
}

failure check_crop(const step& one, size_t index, const image_shape& on) {
  const auto size = value_of<std::vector<uint32_t>>(one, "size");
  const auto padding = value_of<uint64_t>(one, "padding");
  const uint64_t height = on.height + 2 * padding;
  const uint64_t width = on.width + 2 * padding;
  if (size.front() <= height && size.back() <= width)
    return {};
  return refuse(index, "size",
                n(size.front()) + " x " + n(size.back()) +
                    " is larger than the image, which has " + n(height) +
                    " x " + n(width) +
                    (padding > 0 ? " with its padding" : "") +
                    " here; expected at most that, or more padding");
}

failure check_channels(const step& one, size_t index, const image_shape& on) {
  for (const char* name : {"mean", "std"}) {
    const auto values = value_of<std::vector<double>>(one, name);
    if (values.size() != 1 && values.size() != on.channels)
      return refuse(index, name,
                    n(values.size()) + " values for " + n(on.channels) +
                        (on.channels == 1 ? " channel" : " channels") +
                        "; expected one for each, or one for all");
  }
  return {};
}

failure check_saturation(const step& one, size_t index, const image_shape& on) {
  if (on.channels == 3 || value_of<double>(one, "saturation") == 0)
    return {};
  return refuse(index, "saturation",
                "an image of one channel has none; leave it out");
}

std::string text_of(const std::vector<uint32_t>& shape) {
  std::string out;
  for (uint32_t length : shape)
    out += (out.empty() ? "[" : ", ") + n(length);
  return out + "]";
}

} // namespace

std::string pointer_of(size_t index) {
  return "/data/augment/" + n(index);
}

option_value& option_of(step& in, const std::string& name) {
  const option* known = find_option(in.what, name);
  BALLAST_CHECK(known != nullptr, "an option of another operator");
  return in.options.try_emplace(name, known->usual).first->second;
}

std::vector<failure> mistakes_of(const std::vector<step>& steps) {
  std::vector<failure> out;
  const auto add = [&](failure one) {
    if (one)
      out.push_back(std::move(one));
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].what == op::resized_crop) {
      add(check_range(steps[i], i, "scale"));
      add(check_range(steps[i], i, "ratio"));
    }
    if (steps[i].what == op::normalise && i + 1 < steps.size())
      add(refuse(i, "op",
                 "\"normalise\" is the last step, because the others work on "
                 "colours; put it behind them"));
  }
  return out;
}

failure shape_behind(const std::vector<step>& steps,
                     const std::vector<uint32_t>& row, image_shape& out) {
  if (row.size() != 3 || (row[0] != 1 && row[0] != 3))
    return {errc::invalid_job,
            "/data/augment: a row of this data set has the shape " +
                text_of(row) +
                ", which is no image; expected [1, height, width] or "
                "[3, height, width], which the step \"reshape\" of "
                "data.pipeline gives to rows that hold one",
            "/data/augment"};
  out = {row[0], row[1], row[2]};
  for (size_t i = 0; i < steps.size(); ++i) {
    const step& one = steps[i];
    failure wrong;
    if (one.what == op::crop)
      wrong = check_crop(one, i, out);
    else if (one.what == op::normalise)
      wrong = check_channels(one, i, out);
    else if (one.what == op::colour)
      wrong = check_saturation(one, i, out);
    if (wrong)
      return wrong;
    if (one.what != op::crop && one.what != op::resized_crop)
      continue;
    const auto size = value_of<std::vector<uint32_t>>(one, "size");
    out.height = size.front();
    out.width = size.back();
  }
  return {};
}

} // namespace ballast::augment
