// resnet18: the residual network with 18 layers of He, Zhang, Ren and Sun
// (2016, doi:10.1109/CVPR.2016.90, table 1), with torchvision's layers and
// names. Four stages of two basic blocks, 64 to 512 channels.
//
// stem "imagenet": convolution 7x7 with stride 2, then max-pooling 3x3 with
// stride 2. stem "cifar" (section 4.2 there): one convolution 3x3 with stride
// 1, for images that are too small for the other.
#include "gpu/torch/image_size.hpp"
#include "gpu/torch/recompute.hpp"
#include "gpu/torch/torch_model.hpp"
#include "runtime/base/errors.hpp"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <algorithm>
#include <array>
#include <cmath>

namespace ballast::gpu {
namespace {

using named_shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

constexpr std::array<int64_t, 4> stage_channels{64, 128, 256, 512};
constexpr int blocks_a_stage = 2;
// The last stage's batch norms then see at least 2 x 2 pixels.
constexpr int64_t side_min_imagenet = 33;
constexpr int64_t side_min_cifar = 9;
/// Largest number of intermediate values that an evaluation holds at once.
constexpr int64_t evaluation_values_max = 64 << 20;

/// A convolution without bias (its padding keeps the size) and a batch norm.
struct unit {
  std::string convolution;
  std::string norm;
  int64_t in;
  int64_t out;
  int64_t kernel;
  int64_t stride;
};

/// A block's units in their order: two, and a third on the shortcut if the
/// shape changes.
std::vector<unit> units_of(int64_t channels, bool cifar) {
  std::vector<unit> out{
      {"conv1", "bn1", channels, 64, cifar ? 3 : 7, cifar ? 1 : 2}};
  int64_t in = 64;
  for (size_t stage = 0; stage < stage_channels.size(); ++stage)
    for (int block = 0; block < blocks_a_stage; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." +
                               std::to_string(block) + ".";
      const int64_t width = stage_channels[stage];
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      out.push_back({name + "conv1", name + "bn1", in, width, 3, stride});
      out.push_back({name + "conv2", name + "bn2", width, width, 3, 1});
      if (stride != 1)
        out.push_back({name + "downsample.0", name + "downsample.1", in, width,
                       1, stride});
      in = width;
    }
  return out;
}

bool is_cifar(const model_request& request) {
  return request.what->model.stem == resnet_stem::cifar;
}

named_shapes resnet_parameters(const model_request& request) {
  const image_size image = image_of(request.row, "resnet18");
  const int64_t least = is_cifar(request) ? side_min_cifar : side_min_imagenet;
  if (std::min(image.height, image.width) < least)
    throw ballast_error(
        errc::invalid_job,
        "resnet18 with the stem \"" + to_string(request.what->model.stem) +
            "\" needs images of at least " + std::to_string(least) + " x " +
            std::to_string(least) + "; a row of this data set has " +
            std::to_string(image.height) + " x " + std::to_string(image.width) +
            (is_cifar(request) ? "" : " (the stem \"cifar\" takes 9 x 9)"),
        "/model/stem");
  named_shapes out;
  for (const unit& u : units_of(image.channels, is_cifar(request))) {
    out.push_back(
        {u.convolution + ".weight", {u.out, u.in, u.kernel, u.kernel}});
    out.push_back({u.norm + ".weight", {u.out}});
    out.push_back({u.norm + ".bias", {u.out}});
  }
  const int64_t columns = objective(*request.what, request.row).columns();
  out.push_back({"fc.weight", {columns, stage_channels.back()}});
  out.push_back({"fc.bias", {columns}});
  return out;
}

class resnet_model final : public torch_model {
public:
  explicit resnet_model(const model_request& request)
      : torch_model(request, resnet_parameters(request),
                    {.repeats = !request.what->train.activation_checkpointing}),
        image_(image_of(request.row, "resnet18")), cifar_(is_cifar(request)),
        units_(units_of(image_.channels, cifar_)) {
    for (const unit& u : units_)
      norms().add(u.norm, u.out, setting().place.elsewhere);
  }

private:
  size_t fc() const { return 3 * units_.size(); }

  // As torchvision: kaiming_normal by fan_out, batch norms as identities.
  void default_values(std::span<float> values) override {
    default_filler fill(setting().what.seed);
    auto of = [&](size_t i) {
      return values.subspan(parameters()[i].offset, parameters()[i].count);
    };
    for (size_t i = 0; i < units_.size(); ++i) {
      const unit& u = units_[i];
      fill.normal(of(3 * i),
                  std::sqrt(2.0 / double(u.out * u.kernel * u.kernel)));
      std::ranges::fill(of(3 * i + 1), 1.0F);
      std::ranges::fill(of(3 * i + 2), 0.0F);
    }
    fill.weight(of(fc()), stage_channels.back());
    fill.bias(of(fc() + 1), stage_channels.back());
  }

  /// The way in which a block is computed.
  enum class pass : uint8_t { evaluation, training, again };

  at::Tensor forward_unit(size_t i, const at::Tensor& input, pass how) {
    const unit& u = units_[i];
    const int64_t padding = u.kernel / 2;
    const at::Tensor x = at::conv2d(input, as_multiplied(leaves()[3 * i]), {},
                                    u.stride, padding);
    const at::Tensor& weight = leaves()[3 * i + 1];
    const at::Tensor& bias = leaves()[3 * i + 2];
    return how == pass::evaluation
               ? norms()[i].predict(x, weight, bias)
               : norms()[i].normalise(x, weight, bias, how == pass::again);
  }

  bool changes_shape(size_t i) const { return units_[i].stride != 1; }

  /// A GPU multiplies bfloat16 with the channels last; one kernel converts and
  /// reorders.
  at::Tensor as_multiplied(const at::Tensor& x) const {
    return setting().place.elsewhere && setting().bfloat16
               ? x.to(at::kBFloat16, false, false,
                      at::MemoryFormat::ChannelsLast)
               : x;
  }

  /// `i`: the first of its units.
  at::Tensor forward_block(size_t i, const at::Tensor& input, pass how) {
    check_interrupt();
    at::Tensor x = forward_unit(i, input, how).relu_();
    x = forward_unit(i + 1, x, how);
    x.add_(changes_shape(i) ? forward_unit(i + 2, input, how) : input);
    return x.relu_();
  }

  at::Tensor forward(const batch_view& batch, bool training) {
    // On the CPU with the channels first: oneDNN uses its own layouts, and the
    // operations between its convolutions cost a fifth more with channels last.
    at::Tensor x =
        features_at(setting().place, batch,
                    {batch.rows, image_.channels, image_.height, image_.width});
    x = as_multiplied(x);
    const pass how = training ? pass::training : pass::evaluation;
    x = forward_unit(0, x, how).relu_();
    if (!cifar_)
      x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (size_t i = 1; i < units_.size(); i += changes_shape(i) ? 3 : 2)
      x = training && setting().what.train.activation_checkpointing
              ? recomputed(x,
                           [this, i](const at::Tensor& input, bool again) {
                             const autocast_scope types(
                                 setting().place, again && setting().bfloat16);
                             return forward_block(i, input,
                                                  again ? pass::again
                                                        : pass::training);
                           })
              : forward_block(i, x, how);
    x = at::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
    return at::linear(x, leaves()[fc()], leaves()[fc() + 1]);
  }

  double differentiate(const batch_view& batch, uint64_t /*step_seed*/,
                       const std::function<void(size_t)>& ready) override {
    const autograd_scope autograd;
    return leaves().backward(forward(batch, true), goal(), batch, ready);
  }

  at::Tensor outputs(const batch_view& batch, bool training,
                     uint64_t /*step_seed*/) override {
    return forward(batch, training);
  }

  std::span<const float> predict(const batch_view& batch) override {
    outputs_ = forward(batch, false).contiguous();
    return {outputs_.const_data_ptr<float>(), size_t(outputs_.numel())};
  }

  uint32_t evaluation_rows() const override {
    const int64_t pixels = image_.height * image_.width / (cifar_ ? 1 : 4);
    return uint32_t(
        std::clamp<int64_t>(evaluation_values_max / (64 * pixels), 1, 512));
  }

  image_size image_;
  bool cifar_;
  std::vector<unit> units_;
  at::Tensor outputs_;
};

} // namespace

std::unique_ptr<model> make_resnet_model(const model_request& request) {
  return std::make_unique<resnet_model>(request);
}

} // namespace ballast::gpu
