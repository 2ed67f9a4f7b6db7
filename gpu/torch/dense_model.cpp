// linear, logistic and mlp: a chain of dense layers with ReLU between them.
// Forward and backward passes are written out (tests compare with autograd): a
// step of a small model then costs its matrix products and little else.
#include "gpu/torch/matrix_product.hpp"
#include "gpu/torch/torch_model.hpp"
#include "runtime/base/vectorized.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <algorithm>

namespace ballast::gpu {
namespace {

BALLAST_VECTORIZED
void relu(float* values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    values[i] = values[i] < 0 ? 0 : values[i]; // keeps NaN
}

/// The backward pass through a ReLU whose outputs were `outputs`.
BALLAST_VECTORIZED
void relu_backward(float* __restrict gradient, const float* __restrict outputs,
                   size_t count) {
  for (size_t i = 0; i < count; ++i)
    gradient[i] = outputs[i] > 0 ? gradient[i] : 0;
}

BALLAST_VECTORIZED
void add_column_sums(float* __restrict sums, const float* __restrict values,
                     size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c)
      sums[c] += values[r * columns + c];
}

std::vector<int64_t> widths_of(const model_request& request) {
  std::vector<int64_t> widths{int64_t(request.row.features)};
  if (request.what->model.kind == model_kind::mlp)
    for (uint32_t width : request.what->model.hidden)
      widths.push_back(width);
  widths.push_back(objective(*request.what, request.row).columns());
  return widths;
}

std::vector<std::pair<std::string, std::vector<int64_t>>>
dense_parameters(const model_request& request) {
  const std::vector<int64_t> widths = widths_of(request);
  std::vector<std::pair<std::string, std::vector<int64_t>>> out;
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    const std::string prefix = request.what->model.kind == model_kind::mlp
                                   ? "fc" + std::to_string(i + 1) + "."
                                   : "";
    out.push_back({prefix + "weight", {widths[i + 1], widths[i]}});
    out.push_back({prefix + "bias", {widths[i + 1]}});
  }
  return out;
}

class dense_model final : public torch_model {
public:
  explicit dense_model(const model_request& request)
      : torch_model(request, dense_parameters(request),
                    {.leaves = false, .repeats = true, .overwrites = true}),
        widths_(widths_of(request)), outputs_(widths_.size() - 1),
        gradients_(widths_.size() - 1) {}

private:
  // Layer l turns widths_[l] values into widths_[l + 1]; its weight is
  // parameter 2 l, its bias 2 l + 1.
  size_t layers() const { return outputs_.size(); }

  void default_values(std::span<float> values) override {
    default_filler fill(setting().what.seed);
    for (size_t l = 0; l < layers(); ++l) {
      const parameter_info& weight = parameters()[2 * l];
      const parameter_info& bias = parameters()[2 * l + 1];
      fill.weight(values.subspan(weight.offset, weight.count), widths_[l]);
      fill.bias(values.subspan(bias.offset, bias.count), widths_[l]);
    }
  }

  /// Room for `rows` outputs of layer l.
  float* grown(std::vector<float>& memory, int64_t rows, size_t l) const {
    const auto wanted = size_t(rows * widths_[l + 1]);
    if (memory.size() < wanted)
      memory.resize(wanted);
    return memory.data();
  }

  // The three products of a layer: own ones on one thread if they are faster,
  // else LibTorch's.

  void forward(size_t l, int64_t rows, const float* input, float* output) {
    const int64_t in = widths_[l], out = widths_[l + 1];
    if (own_products_) {
      product_with_weight({size_t(rows), size_t(out), size_t(in)}, input,
                          arenas().parameter_values(2 * l),
                          arenas().parameter_values(2 * l + 1), output,
                          scratch_);
      return;
    }
    at::Tensor to = tensor_over(output, {rows, out});
    at::addmm_out(to, arenas().parameter(2 * l + 1),
                  tensor_over(input, {rows, in}),
                  arenas().parameter(2 * l).t());
  }

  void add_weight_gradient(size_t l, int64_t rows, const float* by_output,
                           const float* input) const {
    const int64_t in = widths_[l], out = widths_[l + 1];
    if (own_products_) {
      (arenas().overwritten() ? product_of_transposed
                              : add_product_of_transposed)(
          {size_t(out), size_t(in), size_t(rows)}, by_output, input,
          arenas().gradient_values(2 * l).data());
      return;
    }
    at::Tensor sum = arenas().gradient(2 * l);
    const at::Tensor left = tensor_over(by_output, {rows, out}).t();
    const at::Tensor right = tensor_over(input, {rows, in});
    if (arenas().overwritten())
      at::mm_out(sum, left, right);
    else
      at::addmm_out(sum, sum, left, right);
  }

  void input_gradient(size_t l, int64_t rows, const float* by_output,
                      float* by_input) const {
    const int64_t in = widths_[l], out = widths_[l + 1];
    if (own_products_) {
      product({size_t(rows), size_t(in), size_t(out)}, by_output,
              arenas().parameter_values(2 * l), by_input);
      return;
    }
    at::Tensor to = tensor_over(by_input, {rows, in});
    at::mm_out(to, tensor_over(by_output, {rows, out}),
               arenas().parameter(2 * l));
  }

  const float* input_of(size_t l, const batch_view& batch) const {
    return l == 0 ? batch.features : outputs_[l - 1].data();
  }

  std::span<float> last_outputs(const batch_view& batch) {
    for (size_t l = 0; l < layers(); ++l) {
      check_interrupt();
      float* output = grown(outputs_[l], batch.rows, l);
      forward(l, batch.rows, input_of(l, batch), output);
      if (l + 1 < layers())
        relu(output, size_t(batch.rows * widths_[l + 1]));
    }
    return std::span(outputs_.back())
        .first(size_t(batch.rows * widths_.back()));
  }

  std::span<const float> predict(const batch_view& batch) override {
    return last_outputs(batch);
  }

  at::Tensor outputs(const batch_view& batch, bool, uint64_t) override {
    at::Tensor x =
        features_at(setting().place, batch, {batch.rows, widths_.front()});
    for (size_t l = 0; l < layers(); ++l) {
      check_interrupt();
      x = at::linear(x, leaves()[2 * l], leaves()[2 * l + 1]);
      if (l + 1 < layers())
        x = x.relu();
    }
    return x;
  }

  double differentiate(const batch_view& batch, uint64_t /*step_seed*/,
                       const std::function<void(size_t)>& ready) override {
    const std::span<float> last = last_outputs(batch);
    const double loss = goal().differentiate(batch, last);
    const float* by_output = last.data();
    for (size_t l = layers(); l-- > 0;) {
      const std::span<float> by_bias = arenas().gradient_values(2 * l + 1);
      if (arenas().overwritten())
        std::fill(by_bias.begin(), by_bias.end(), 0.0F);
      add_column_sums(by_bias.data(), by_output, size_t(batch.rows),
                      size_t(widths_[l + 1]));
      if (ready)
        ready(2 * l + 1);
      add_weight_gradient(l, batch.rows, by_output, input_of(l, batch));
      if (ready)
        ready(2 * l);
      if (l == 0)
        break;
      float* by_input = grown(gradients_[l - 1], batch.rows, l - 1);
      input_gradient(l, batch.rows, by_output, by_input);
      relu_backward(by_input, outputs_[l - 1].data(),
                    size_t(batch.rows * widths_[l]));
      by_output = by_input;
    }
    return loss;
  }

  std::vector<int64_t> widths_;
  // By layer, grown to the largest batch seen: its outputs, and the derivative
  // of the loss by them.
  std::vector<std::vector<float>> outputs_;
  std::vector<std::vector<float>> gradients_;
  std::vector<float> scratch_;
  bool own_products_ = setting().threads == 1 && suits_matrix_product() &&
                       setting().what.train.kernels == kernel_choice::native;
};

} // namespace

std::unique_ptr<model> make_dense_model(const model_request& request) {
  return std::make_unique<dense_model>(request);
}

} // namespace ballast::gpu
