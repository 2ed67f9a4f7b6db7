// cnn: for each entry of `channels` a block of convolution 3x3 without padding,
// optional batch normalisation, ReLU and 2x2 max-pooling; then optional dropout
// and one dense layer. Convolutions are LibTorch's (oneDNN), channels last; the
// backward pass is written out (tests compare with autograd).
#include "gpu/torch/direct_convolution.hpp"
#include "gpu/torch/image_size.hpp"
#include "gpu/torch/relu_pool.hpp"
#include "gpu/torch/torch_model.hpp"
#include "runtime/base/errors.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>

namespace ballast::gpu {
namespace {

constexpr auto channels_last = at::MemoryFormat::ChannelsLast;

struct block_shape {
  int64_t in_channels;
  int64_t out_channels;
  int64_t height; // of the convolution's output
  int64_t width;
};

std::vector<block_shape> blocks_of(const model_request& request) {
  auto [channels, height, width] = image_of(request.row, "cnn");
  std::vector<block_shape> out;
  for (uint32_t wanted : request.what->model.channels) {
    if (height < 4 || width < 4)
      throw ballast_error(errc::invalid_job,
                          "block " + std::to_string(out.size() + 1) +
                              " of the cnn would see images of " +
                              std::to_string(height) + " x " +
                              std::to_string(width) +
                              "; 4 x 4 is the least: name fewer channels",
                          "/model/channels/" + std::to_string(out.size()));
    out.push_back({channels, wanted, height - 2, width - 2});
    channels = wanted;
    height = (height - 2) / 2;
    width = (width - 2) / 2;
  }
  if (out.empty())
    throw ballast_error(errc::invalid_job,
                        "model 'cnn' needs at least one entry in channels",
                        "/model/channels");
  return out;
}

int64_t flat_of(const std::vector<block_shape>& blocks) {
  const block_shape& last = blocks.back();
  return last.out_channels * (last.height / 2) * (last.width / 2);
}

std::vector<std::pair<std::string, std::vector<int64_t>>>
cnn_parameters(const model_request& request) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> out;
  const std::vector<block_shape> blocks = blocks_of(request);
  for (size_t b = 0; b < blocks.size(); ++b) {
    const std::string number = std::to_string(b + 1);
    const int64_t channels = blocks[b].out_channels;
    out.push_back(
        {"conv" + number + ".weight", {channels, blocks[b].in_channels, 3, 3}});
    out.push_back({"conv" + number + ".bias", {channels}});
    if (request.what->model.batch_norm) {
      out.push_back({"bn" + number + ".weight", {channels}});
      out.push_back({"bn" + number + ".bias", {channels}});
    }
  }
  const int64_t columns = objective(*request.what, request.row).columns();
  out.push_back({"fc.weight", {columns, flat_of(blocks)}});
  out.push_back({"fc.bias", {columns}});
  return out;
}

class cnn_model final : public torch_model {
public:
  explicit cnn_model(const model_request& request)
      : torch_model(
            request, cnn_parameters(request),
            {.leaves = false, .repeats = request.what->model.dropout == 0}),
        image_(image_of(request.row, "cnn")), shapes_(blocks_of(request)),
        blocks_(shapes_.size()),
        per_block_(setting().what.model.batch_norm ? size_t{4} : size_t{2}) {
    if (setting().what.model.batch_norm)
      for (size_t b = 0; b < shapes_.size(); ++b)
        norms().add("bn" + std::to_string(b + 1), shapes_[b].out_channels,
                    setting().place.elsewhere);
  }

private:
  /// The results of a block's forward pass that its backward pass needs.
  struct block_state {
    at::Tensor input;
    std::vector<uint8_t> winner;
  };

  size_t first_parameter(size_t block) const { return block * per_block_; }
  size_t fc() const { return shapes_.size() * per_block_; }

  void default_values(std::span<float> values) override {
    default_filler fill(setting().what.seed);
    auto of = [&](size_t i) {
      return values.subspan(parameters()[i].offset, parameters()[i].count);
    };
    for (size_t b = 0; b < shapes_.size(); ++b) {
      const size_t first = first_parameter(b);
      fill.weight(of(first), shapes_[b].in_channels * 9);
      fill.bias(of(first + 1), shapes_[b].in_channels * 9);
      if (!norms().empty()) {
        std::ranges::fill(of(first + 2), 1.0F);
        std::ranges::fill(of(first + 3), 0.0F);
      }
    }
    fill.weight(of(fc()), flat_of(shapes_));
    fill.bias(of(fc() + 1), flat_of(shapes_));
  }

  image_shape shape_of(size_t block, int64_t rows) const {
    const block_shape& s = shapes_[block];
    return {size_t(rows), size_t(s.height), size_t(s.width),
            size_t(s.out_channels)};
  }

  at::Tensor images(const batch_view& batch) const {
    return tensor_over(batch.features, {batch.rows, image_.channels,
                                        image_.height, image_.width});
  }

  at::Tensor convolve(size_t b, const at::Tensor& input) {
    const block_shape& s = shapes_[b];
    const at::Tensor& weight = arenas().parameter(first_parameter(b));
    const at::Tensor& bias = arenas().parameter(first_parameter(b) + 1);
    if (b > 0 || !suits_direct_convolution(size_t(s.in_channels),
                                           size_t(s.out_channels)))
      return at::convolution(input, weight, bias, {1, 1}, {0, 0}, {1, 1}, false,
                             {0, 0}, 1);
    at::Tensor out =
        at::empty({input.size(0), s.out_channels, s.height, s.width},
                  input.options(), channels_last);
    direct_convolution(
        {size_t(input.size(0)), size_t(s.in_channels), size_t(s.out_channels),
         size_t(s.height + 2), size_t(s.width + 2)},
        input.const_data_ptr<float>(), weight.const_data_ptr<float>(),
        bias.const_data_ptr<float>(), out.mutable_data_ptr<float>(),
        direct_scratch_);
    return out;
  }

  at::Tensor block_forward(size_t b, const at::Tensor& input, bool training) {
    const size_t first = first_parameter(b);
    const block_shape& s = shapes_[b];
    at::Tensor x = convolve(b, input);
    if (!norms().empty())
      x = training ? norms()[b].forward(x, arenas().parameter(first + 2),
                                        arenas().parameter(first + 3))
                   : norms()[b].predict(x, arenas().parameter(first + 2),
                                        arenas().parameter(first + 3));
    x = x.contiguous(channels_last);
    at::Tensor out =
        at::empty({x.size(0), s.out_channels, s.height / 2, s.width / 2},
                  x.options(), channels_last);
    blocks_[b].input = training ? input : at::Tensor();
    blocks_[b].winner.resize(size_t(out.numel()));
    relu_pool(shape_of(b, x.size(0)), x.const_data_ptr<float>(),
              out.mutable_data_ptr<float>(), blocks_[b].winner.data());
    return out;
  }

  /// The derivative by the block's input; undefined for the first block.
  at::Tensor block_backward(size_t b, const at::Tensor& by_output,
                            const std::function<void(size_t)>& ready) {
    const size_t first = first_parameter(b);
    const block_shape& s = shapes_[b];
    block_state& state = blocks_[b];
    const int64_t rows = by_output.size(0);
    const at::Tensor from = by_output.contiguous(channels_last);
    at::Tensor x = at::empty({rows, s.out_channels, s.height, s.width},
                             from.options(), channels_last);
    relu_pool_backward(shape_of(b, rows), from.const_data_ptr<float>(),
                       state.winner.data(), x.mutable_data_ptr<float>());
    if (!norms().empty()) {
      auto by = norms()[b].backward(x, arenas().parameter(first + 2));
      add(first + 2, by.by_weight, ready);
      add(first + 3, by.by_bias, ready);
      x = by.by_input;
    }
    auto [by_input, by_weight, by_bias] = at::convolution_backward(
        x, state.input, arenas().parameter(first),
        at::OptionalIntArrayRef(s.out_channels), {1, 1}, {0, 0}, {1, 1}, false,
        {0, 0}, 1, {b > 0, true, true});
    state.input.reset();
    add(first, by_weight, ready);
    add(first + 1, by_bias, ready);
    return by_input;
  }

  void add(size_t i, const at::Tensor& more,
           const std::function<void(size_t)>& ready) const {
    arenas().gradient(i).add_(more);
    if (ready)
      ready(i);
  }

  /// Features before the dense layer, in the order (channel, line, column).
  at::Tensor features(const batch_view& batch, bool training) {
    at::Tensor x = images(batch);
    for (size_t b = 0; b < shapes_.size(); ++b) {
      check_interrupt();
      x = block_forward(b, x, training);
    }
    return x.contiguous(at::MemoryFormat::Contiguous)
        .view({int64_t(batch.rows), flat_of(shapes_)});
  }

  std::span<float> dense(const at::Tensor& input) {
    const int64_t columns = goal().columns();
    outputs_.resize(size_t(input.size(0) * columns));
    at::Tensor out = tensor_over(outputs_.data(), {input.size(0), columns});
    at::addmm_out(out, arenas().parameter(fc() + 1), input,
                  arenas().parameter(fc()).t());
    return outputs_;
  }

  std::span<const float> predict(const batch_view& batch) override {
    return dense(features(batch, false));
  }

  at::Tensor outputs(const batch_view& batch, bool training,
                     uint64_t step_seed) override {
    at::Tensor x =
        features_at(setting().place, batch,
                    {batch.rows, image_.channels, image_.height, image_.width});
    for (size_t b = 0; b < shapes_.size(); ++b) {
      check_interrupt();
      const size_t first = first_parameter(b);
      x = at::conv2d(x, leaves()[first], leaves()[first + 1]);
      if (!norms().empty())
        x = training ? norms()[b].forward(x, leaves()[first + 2],
                                          leaves()[first + 3])
                     : norms()[b].predict(x, leaves()[first + 2],
                                          leaves()[first + 3]);
      x = at::max_pool2d(x.relu(), {2, 2});
    }
    x = x.flatten(1);
    if (training && setting().what.model.dropout > 0)
      x = dropped(x, step_seed);
    return at::linear(x, leaves()[fc()], leaves()[fc() + 1]);
  }

  /// On the host by a generator of its own: leaves are computed side by side.
  at::Tensor dropped(const at::Tensor& x, uint64_t step_seed) const {
    if (x.device().is_cpu())
      return at::mul(x, dropout_mask(x, step_seed));
    at::manual_seed(step_seed);
    return at::dropout(x, setting().what.model.dropout, true);
  }

  /// Each value is kept with probability 1 - p and scaled by 1 / (1 - p).
  at::Tensor dropout_mask(const at::Tensor& like, uint64_t step_seed) const {
    const double keep = 1 - setting().what.model.dropout;
    return at::empty(like.sizes(), like.options())
        .bernoulli_(keep, at::make_generator<at::CPUGeneratorImpl>(step_seed))
        .div_(keep);
  }

  double differentiate(const batch_view& batch, uint64_t step_seed,
                       const std::function<void(size_t)>& ready) override {
    at::Tensor input = features(batch, true);
    at::Tensor mask;
    if (setting().what.model.dropout > 0) {
      mask = dropout_mask(input, step_seed);
      input = at::mul(input, mask);
    }
    const std::span<float> outputs = dense(input);
    const double loss = goal().differentiate(batch, outputs);
    const at::Tensor by_output =
        tensor_over(outputs.data(), {int64_t(batch.rows), goal().columns()});
    add(fc() + 1, at::sum(by_output, 0), ready);
    add(fc(), at::mm(by_output.t(), input), ready);
    at::Tensor x = at::mm(by_output, arenas().parameter(fc()));
    if (mask.defined())
      x.mul_(mask);
    const block_shape& last = shapes_.back();
    x = x.view({int64_t(batch.rows), last.out_channels, last.height / 2,
                last.width / 2});
    for (size_t b = shapes_.size(); b-- > 0;)
      x = block_backward(b, x, ready);
    return loss;
  }

  image_size image_;
  std::vector<block_shape> shapes_;
  std::vector<block_state> blocks_;
  size_t per_block_; // parameters
  std::vector<float> direct_scratch_;
  std::vector<float> outputs_;
};

} // namespace

std::unique_ptr<model> make_cnn_model(const model_request& request) {
  return std::make_unique<cnn_model>(request);
}

} // namespace ballast::gpu
