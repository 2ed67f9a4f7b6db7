// torchscript: any module saved by torch.jit.save whose forward(rows) returns
// the outputs; its parameters train, by their names in the module. A row keeps
// the shape that the data set gives it.
#include "gpu/initial_parameters.hpp"
#include "gpu/torch/torch_model.hpp"
#include "runtime/errors.hpp"

#include <torch/script.h>

namespace ballast {
namespace {

using named_tensors = std::vector<std::pair<std::string, at::Tensor>>;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ballast_error(errc::invalid_job, path + ": " + why, "/model/path");
}

struct loaded_module {
  torch::jit::Module module;
  named_tensors parameters;
};

loaded_module load(const std::string& path, at::Device device) {
  loaded_module out;
  try {
    out.module = torch::jit::load(path, device);
  } catch (const c10::Error& e) {
    refuse(path, std::string("cannot be loaded as TorchScript: ") +
                     e.what_without_backtrace());
  }
  for (const auto& p : out.module.named_parameters()) {
    if (p.value.scalar_type() != at::kFloat)
      refuse(path, "parameter '" + p.name + "' is " +
                       std::string(c10::toString(p.value.scalar_type())) +
                       "; expected float32");
    out.parameters.emplace_back(p.name, p.value);
  }
  for (const auto& b : out.module.named_buffers())
    if (b.name.ends_with("running_mean"))
      refuse(path, "'" + b.name +
                       "': batch normalisation inside a TorchScript module is "
                       "not in this build, its statistics would differ "
                       "between workers; 'cnn' has it");
  return out;
}

std::vector<at::Tensor> tensors_of(const loaded_module& loaded) {
  std::vector<at::Tensor> out;
  for (const auto& [name, tensor] : loaded.parameters)
    out.push_back(tensor);
  return out;
}

std::vector<std::pair<std::string, std::vector<int64_t>>>
shapes_of(const loaded_module& loaded) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> out;
  for (const auto& [name, tensor] : loaded.parameters)
    out.push_back({name, tensor.sizes().vec()});
  return out;
}

class script_model final : public torch_model {
public:
  script_model(const model_request& request, loaded_module loaded)
      : torch_model(request, shapes_of(loaded)), loaded_(std::move(loaded)) {
    take_leaves(tensors_of(loaded_));
    row_sizes_.assign(row().shape.begin(), row().shape.end());
    if (row_sizes_.empty())
      row_sizes_ = {int64_t(row().features)};
    for (size_t i = 0; i < parameters().size(); ++i)
      initial_.push_back(
          leaf(i).detach().to(at::kCPU, at::kFloat, false, true));
    check_outputs();
  }

private:
  void default_values(std::span<float> values) override {
    for (size_t i = 0; i < initial_.size(); ++i) {
      const parameter_info& p = parameters()[i];
      tensor_over(values.data() + p.offset, p.shape).copy_(initial_[i]);
    }
  }

  std::vector<int64_t> sizes_of(int64_t rows) const {
    std::vector<int64_t> sizes{rows};
    sizes.insert(sizes.end(), row_sizes_.begin(), row_sizes_.end());
    return sizes;
  }

  at::Tensor forward(const at::Tensor& rows) {
    return loaded_.module.forward({rows}).toTensor();
  }
  at::Tensor forward(const batch_view& batch) {
    return forward(features_at(place(), batch, sizes_of(batch.rows)));
  }

  void check_outputs() {
    const at::NoGradGuard no_grad;
    at::Tensor out;
    loaded_.module.eval();
    try {
      out = forward(at::zeros(sizes_of(2),
                              at::TensorOptions().device(device_of(place()))));
    } catch (const std::exception& e) {
      refuse(what().model.path, "forward fails on 2 rows of shape " +
                                    to_string(row_sizes_) + ": " + e.what());
    }
    if (out.scalar_type() != at::kFloat ||
        out.numel() != 2 * int64_t(goal().columns()) || out.size(0) != 2)
      refuse(what().model.path, "forward of 2 rows returns " +
                                    std::string(out.toString()) + " of shape " +
                                    to_string(out.sizes().vec()) +
                                    "; expected float32 of shape [2, " +
                                    std::to_string(goal().columns()) + "]");
  }

  double differentiate(const batch_view& batch, uint64_t step_seed,
                       const std::function<void(size_t)>& ready) override {
    const autograd_scope autograd;
    return leaves().backward(outputs(batch, true, step_seed), goal(), batch,
                             ready);
  }

  at::Tensor outputs(const batch_view& batch, bool training,
                     uint64_t step_seed) override {
    if (training)
      at::manual_seed(step_seed);
    loaded_.module.train(training);
    return forward(batch);
  }

  evaluation_sums judge_outputs(const batch_view& batch) override {
    const c10::InferenceMode off(false);
    return torch_model::judge_outputs(batch);
  }

  std::span<const float> predict(const batch_view& batch) override {
    const c10::InferenceMode off(false);
    const at::NoGradGuard no_grad;
    loaded_.module.eval();
    outputs_ = forward(batch).contiguous();
    return {outputs_.const_data_ptr<float>(), size_t(outputs_.numel())};
  }

  loaded_module loaded_;
  std::vector<int64_t> row_sizes_;
  std::vector<at::Tensor> initial_;
  at::Tensor outputs_;
};

} // namespace

std::unique_ptr<model> make_script_model(const model_request& request) {
  return std::make_unique<script_model>(
      request, load(request.what->model.path, device_of(request.place)));
}

} // namespace ballast
