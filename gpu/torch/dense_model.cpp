// linear, logistic and mlp: a chain of dense layers with ReLU between them.
// Forward and backward are written out (tests compare with autograd): a step of
// a small model then costs its matrix products and little else.
#include "gpu/torch/torch_model.hpp"
#include "gpu/vectorized.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

namespace ballast {
namespace {

BALLAST_VECTORIZED
void relu(float* values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    values[i] = values[i] < 0 ? 0 : values[i]; // a NaN passes
}

/// What passes back through a ReLU whose outputs were `outputs`.
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
  if (request.what->model.kind == "mlp")
    for (uint32_t width : request.what->model.hidden)
      widths.push_back(width);
  widths.push_back(objective(*request.what, request.row).columns());
  return widths;
}

std::vector<std::pair<std::string, std::vector<int64_t>>>
parameters_of(const model_request& request) {
  const std::vector<int64_t> widths = widths_of(request);
  std::vector<std::pair<std::string, std::vector<int64_t>>> out;
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    const std::string prefix = request.what->model.kind == "mlp"
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
      : torch_model(request, parameters_of(request)),
        widths_(widths_of(request)), outputs_(widths_.size() - 1),
        gradients_(widths_.size() - 1) {}

private:
  // Layer l turns widths_[l] values into widths_[l + 1]; its weight is
  // parameter 2 l, its bias 2 l + 1.
  size_t layers() const { return outputs_.size(); }

  void default_values(std::span<float> values) override {
    default_filler fill(what().seed);
    for (size_t l = 0; l < layers(); ++l) {
      const parameter_info& weight = parameters()[2 * l];
      const parameter_info& bias = parameters()[2 * l + 1];
      fill.weight(values.subspan(weight.offset, weight.count), widths_[l]);
      fill.bias(values.subspan(bias.offset, bias.count), widths_[l]);
    }
  }

  at::Tensor matrix(std::vector<float>& memory, int64_t rows, size_t layer) {
    const int64_t columns = widths_[layer + 1];
    if (memory.size() < size_t(rows * columns))
      memory.resize(size_t(rows * columns));
    return tensor_over(memory.data(), {rows, columns});
  }

  std::span<const float> predict(const batch_view& batch) override {
    const int64_t rows = batch.rows;
    at::Tensor input = tensor_over(batch.features, {rows, widths_[0]});
    for (size_t l = 0; l < layers(); ++l) {
      at::Tensor output = matrix(outputs_[l], rows, l);
      at::addmm_out(output, parameter(2 * l + 1), input, parameter(2 * l).t());
      if (l + 1 < layers())
        relu(outputs_[l].data(), size_t(output.numel()));
      input = output;
    }
    return std::span(outputs_.back()).first(size_t(rows * widths_.back()));
  }

  double differentiate(const batch_view& batch, uint64_t /*step_seed*/,
                       const std::function<void(size_t)>& ready) override {
    const int64_t rows = batch.rows;
    predict(batch);
    std::vector<float>* gradient = &outputs_.back(); // becomes one in place
    const double loss = goal().differentiate(
        batch, std::span(*gradient).first(size_t(rows * widths_.back())));
    for (size_t l = layers(); l-- > 0;) {
      const at::Tensor by_output = matrix(*gradient, rows, l);
      add_column_sums(gradient_values(2 * l + 1).data(), gradient->data(),
                      size_t(rows), size_t(widths_[l + 1]));
      if (ready)
        ready(2 * l + 1);
      const at::Tensor input =
          l == 0 ? tensor_over(batch.features, {rows, widths_[0]})
                 : matrix(outputs_[l - 1], rows, l - 1);
      at::Tensor sum = this->gradient(2 * l);
      at::addmm_out(sum, sum, by_output.t(), input);
      if (ready)
        ready(2 * l);
      if (l == 0)
        break;
      at::Tensor by_input = matrix(gradients_[l - 1], rows, l - 1);
      at::mm_out(by_input, by_output, parameter(2 * l));
      relu_backward(gradients_[l - 1].data(), outputs_[l - 1].data(),
                    size_t(by_input.numel()));
      gradient = &gradients_[l - 1];
    }
    return loss;
  }

  std::vector<int64_t> widths_;
  // By layer, grown to the largest batch seen: what it computed, and the
  // derivative of the loss by it.
  std::vector<std::vector<float>> outputs_;
  std::vector<std::vector<float>> gradients_;
};

} // namespace

std::unique_ptr<model> make_dense_model(const model_request& request) {
  return std::make_unique<dense_model>(request);
}

} // namespace ballast
