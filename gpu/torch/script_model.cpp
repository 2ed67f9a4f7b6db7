// torchscript: any module saved by torch.jit.save whose forward(rows) returns
// the outputs; its parameters train, by their names in the module. Rows keep
// the shape of the data set. Its loss is that of the job, or a method of the
// module (script_loss.hpp).
//
// With the reduction canonical several models of one file compute at once, and
// each must give the same bits each time. LibTorch's generator is one for the
// process, so who draws from it has it alone; and the module is computed as it
// is written, not as what LibTorch makes of it once it has run a few times.
#include "gpu/initial_parameters.hpp"
#include "gpu/torch/script_file.hpp"
#include "gpu/torch/script_loss.hpp"
#include "gpu/torch/torch_model.hpp"
#include "runtime/base/errors.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <mutex>
#include <optional>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>

namespace ballast::gpu {
namespace {

std::vector<at::Tensor> tensors_of(const script_file& file) {
  std::vector<at::Tensor> out;
  for (const script_tensor& one : file.trained)
    out.push_back(one.value);
  return out;
}

std::vector<std::pair<std::string, std::vector<int64_t>>>
shapes_of(const script_file& file) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> out;
  for (const script_tensor& one : file.trained)
    out.push_back({one.name, one.value.sizes().vec()});
  return out;
}

/// A buffer or a frozen parameter, with its saved values.
struct constant {
  std::string name;
  at::Tensor value;
  std::vector<int64_t> shape;
  std::vector<float> values;
  uint32_t version = 0; // increases whenever the tensor is written
};

constant constant_of(const std::string& path, const script_tensor& from) {
  const at::Tensor& value = from.value;
  if (value.is_complex() || value.layout() != at::kStrided)
    refuse_script(path, "buffer '" + from.name + "' is " +
                            std::string(value.toString()) +
                            "; only real, dense buffers can be saved");
  const at::Tensor saved = value.detach().to(at::kCPU, at::kFloat).contiguous();
  if (!value.is_floating_point() &&
      !saved.to(at::kDouble).equal(value.cpu().to(at::kDouble)))
    refuse_script(path, "buffer '" + from.name +
                            "' has integers that float32, in which it is "
                            "saved, cannot hold");
  const auto* begin = saved.const_data_ptr<float>();
  return {from.name, value, value.sizes().vec(),
          std::vector<float>(begin, begin + saved.numel()),
          uint32_t(value._version())};
}

/// Of LibTorch's generator, from its seed to the last number.
std::mutex generator_in_use;

class script_model final : public torch_model {
public:
  script_model(const model_request& request, script_file loaded)
      : torch_model(request, shapes_of(loaded), {}), loaded_(std::move(loaded)),
        exact_(setting().what.train.reduction == reduction_kind::canonical),
        draws_(may_draw(loaded_.module)) {
    const std::lock_guard alone(generator_in_use);
    for (const script_tensor& one : loaded_.constants)
      constants_.push_back(constant_of(request.what->model.path, one));
    leaves().adopt(tensors_of(loaded_));
    row_sizes_.assign(setting().row.shape.begin(), setting().row.shape.end());
    if (row_sizes_.empty())
      row_sizes_ = {int64_t(setting().row.features)};
    for (size_t i = 0; i < parameters().size(); ++i)
      initial_.push_back(
          leaves()[i].detach().to(at::kCPU, at::kFloat, false, true));
    if (!request.what->model.loss.empty())
      take_loss(*request.what);
    check_outputs();
    check_training();
  }

  std::vector<alias> aliases() const override { return loaded_.aliases; }

  /// With the tensors that are saved and never change.
  std::vector<buffer> buffers() override {
    std::vector<buffer> out = torch_model::buffers();
    for (constant& one : constants_)
      out.push_back({one.name, one.shape, one.values});
    return out;
  }

private:
  void constants_changed() override {
    const at::NoGradGuard no_grad;
    for (constant& one : constants_) {
      one.value.copy_(tensor_over(one.values.data(), one.shape));
      one.version = uint32_t(one.value._version());
    }
  }

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
    torch::jit::setGraphExecutorOptimize(!exact_);
    return loaded_.module.forward({rows}).toTensor();
  }
  at::Tensor forward(const batch_view& batch) {
    return forward(features_at(setting().place, batch, sizes_of(batch.rows)));
  }

  void check_outputs() {
    const at::NoGradGuard no_grad;
    at::Tensor out;
    loaded_.module.eval();
    const at::Tensor drawn_before = generator_state();
    try {
      out = forward(at::zeros(
          sizes_of(2), at::TensorOptions().device(device_of(setting().place))));
    } catch (const std::exception& e) {
      refuse_script(setting().what.model.path,
                    "forward fails on 2 rows of shape " +
                        to_string(row_sizes_) + ": " + e.what());
    }
    if (out.scalar_type() != at::kFloat ||
        out.numel() != 2 * int64_t(goal().columns()) || out.size(0) != 2)
      refuse_script(setting().what.model.path,
                    "forward of 2 rows returns " + std::string(out.toString()) +
                        " of shape " + to_string(out.sizes().vec()) +
                        "; expected float32 of shape [2, " +
                        std::to_string(goal().columns()) + "], as the loss \"" +
                        to_string(setting().what.train.loss) + "\" needs");
    if (exact_ && !generator_state().equal(drawn_before))
      refuse_script(setting().what.model.path,
                    "forward draws random numbers in an evaluation, too; with "
                    "the reduction \"canonical\" (/train/reduction) only a "
                    "training step has a seed for them: expected a dropout "
                    "that looks at self.training, or the reduction \"fused\"");
  }

  static at::Tensor generator_state() {
    return at::detail::getDefaultCPUGenerator().get_state();
  }

  [[noreturn]] void refuse_changing(const std::string& name) const {
    refuse_script(
        setting().what.model.path,
        "buffer '" + name +
            "' changes in training; its values would differ between workers. "
            "Use layers without running statistics (GroupNorm, LayerNorm, "
            "BatchNorm with track_running_stats=False); the models 'cnn' and "
            "'resnet18' have batch normalisation");
  }

  /// After a forward pass in training mode.
  void check_constants() const {
    for (const constant& one : constants_)
      if (uint32_t(one.value._version()) != one.version)
        refuse_changing(one.name);
  }

  /// Finds problems of the first step before it starts, such as buffers that
  /// forward replaces instead of writing to them.
  void check_training() {
    const at::NoGradGuard no_grad;
    at::manual_seed(0);
    loaded_.module.train(true);
    try {
      forward(at::zeros(
          sizes_of(2), at::TensorOptions().device(device_of(setting().place))));
    } catch (const std::exception& e) {
      refuse_script(setting().what.model.path,
                    "forward in training mode fails on 2 rows of shape " +
                        to_string(row_sizes_) + ": " + e.what());
    }
    if (loss_)
      check_loss();
    loaded_.module.eval();
    check_constants();
    for (const auto& b : loaded_.module.named_buffers())
      for (const constant& one : constants_)
        if (one.name == b.name && !one.value.is_same(b.value))
          refuse_changing(b.name);
    // A batch norm writes its statistics behind the back of their version.
    for (const constant& one : constants_)
      if (constant_of(setting().what.model.path, {one.name, one.value})
              .values != one.values)
        refuse_changing(one.name);
  }

  void take_loss(const job& of) {
    loss_.emplace(loaded_.module, of, goal());
    own_losses = [this](const at::Tensor& outputs,
                        const wanted_outputs& wanted) {
      return loss_->of(outputs, wanted);
    };
  }

  void check_loss() {
    const autograd_scope autograd;
    loss_->check(forward(at::zeros(
        sizes_of(2), at::TensorOptions().device(device_of(setting().place)))));
  }

  double differentiate(const batch_view& batch, uint64_t step_seed,
                       const std::function<void(size_t)>& ready) override {
    if (loss_) {
      check_rows(batch);
      return pass(batch, step_seed, ready).item<double>();
    }
    const autograd_scope autograd;
    return leaves().backward(outputs(batch, true, step_seed), goal(), batch,
                             ready);
  }

  at::Tensor outputs(const batch_view& batch, bool training,
                     uint64_t step_seed) override {
    std::unique_lock alone(generator_in_use, std::defer_lock);
    if (training && draws_) {
      alone.lock();
      at::manual_seed(step_seed);
    }
    loaded_.module.train(training);
    at::Tensor out = forward(batch);
    if (training)
      check_constants();
    return out;
  }

  evaluation_sums judge(const batch_view& batch) override {
    return loss_ ? judge_outputs(batch) : torch_model::judge(batch);
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

  script_file loaded_;
  bool exact_;
  bool draws_;
  std::optional<script_loss> loss_;
  std::vector<constant> constants_;
  std::vector<int64_t> row_sizes_;
  std::vector<at::Tensor> initial_;
  at::Tensor outputs_;
};

} // namespace

std::unique_ptr<model> make_script_model(const model_request& request) {
  return std::make_unique<script_model>(
      request, load_script(request.what->model.path, device_of(request.place)));
}

} // namespace ballast::gpu
