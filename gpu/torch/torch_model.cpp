#include "gpu/torch/torch_model.hpp"

#include "gpu/inherited_state.hpp"
#include "gpu/initial_parameters.hpp"
#include "gpu/torch/factory.hpp"
#include "gpu/torch/portable_kernels.hpp"
#include "gpu/torch/row_answers.hpp"
#include "gpu/torch/tensor_objective.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/errors.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <cmath>
#include <malloc.h>
#include <optional>

namespace ballast::gpu {
namespace {

/// cuDNN, cuBLAS and kernels report a lack of memory in words of their own.
bool lacks_memory(const std::string& why) {
  return why.find("out of memory") != std::string::npos ||
         why.find("ALLOC_FAILED") != std::string::npos ||
         why.find("unable to find an engine") != std::string::npos;
}

/// Runs `f` and translates LibTorch's exceptions to the project's own.
template <class F>
auto guarded(const char* doing, F f) {
  try {
    return f();
  } catch (const c10::OutOfMemoryError& e) {
    throw out_of_memory(std::string("no room ") + doing + ": " +
                        e.what_without_backtrace());
  } catch (const c10::Error& e) {
    const std::string why = e.what_without_backtrace();
    if (lacks_memory(why))
      throw out_of_memory(std::string("no room ") + doing + ": " + why);
    throw ballast_error(errc::device_failed,
                        std::string("LibTorch failed ") + doing + ": " + why);
  }
}

/// Thrown by an interrupt through the model and through autograd.
struct broken_off final : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// The device to make current, if it is one that must be.
std::optional<c10::Device> device_if_gpu(const model_place& place) {
  return place.cuda >= 0 ? std::optional(device_of(place)) : std::nullopt;
}

/// LibTorch's thread count is a property of the calling thread, too.
void use_threads(int threads) {
  thread_local int set = 0;
  if (set != threads)
    at::set_num_threads(threads);
  set = threads;
}

} // namespace

torch_model::torch_model(
    const model_request& request,
    const std::vector<std::pair<std::string, std::vector<int64_t>>>& parameters,
    model_traits traits)
    : setting_{*request.what, request.row, int(std::max(request.threads, 1U)),
               request.place,
               request.what->train.precision == compute_precision::bfloat16},
      traits_(traits), goal_(setting_.what, setting_.row),
      arenas_(lay_out(parameters), setting_.place),
      recorded_(setting_.place, setting_.row.features) {
  // Class weights are copied to the device in every step.
  traits_.repeats = traits_.repeats && goal_.class_weights().empty();
}

void torch_model::initialize(std::span<float> parameters) {
  const std::vector<buffer> rest = buffers();
  if (initialize_as_asked(setting_.what.model,
                          {this->parameters(), rest, aliases()}, parameters)) {
    if (!rest.empty())
      guarded("to take over buffers", [&] { constants_changed(); });
    return;
  }
  guarded("to make initial parameters", [&] {
    c10::InferenceMode no_autograd;
    default_values(parameters);
  });
  if (setting_.what.init.from.empty())
    return;
  inherit_parameters(setting_.what.init, {this->parameters(), rest, aliases()},
                     parameters);
  if (!rest.empty())
    guarded("to take over buffers", [&] { constants_changed(); });
}

void torch_model::bind(std::span<float> parameters,
                       std::span<float> gradients) {
  guarded("to bind arenas", [&] {
    arenas_.bind(parameters, gradients);
    if (setting_.by_outputs() || traits_.leaves)
      leaves_.bind(arenas_.parameters(), arenas_.gradients());
  });
}

double torch_model::accumulate(const batch_view& batch, uint64_t step_seed,
                               const std::function<void(size_t)>& ready) {
  use_threads(setting_.threads);
  accumulates_ = true;
  const std::function<void(size_t)> checked = [&](size_t i) {
    check_interrupt();
    if (ready)
      ready(i);
  };
  double loss = std::nan("");
  try {
    guarded("in a training step", [&] {
      check_interrupt();
      c10::InferenceMode no_autograd;
      const c10::OptionalDeviceGuard here(device_if_gpu(setting_.place));
      if (!setting_.by_outputs()) {
        loss = differentiate(batch, step_seed, checked);
        return;
      }
      check_rows(batch);
      // A recording tells of no gradient before its end, so it is for passes
      // whose gradients wait anyway.
      // Weights and scores are on the host.
      const bool recorded =
          !ready && traits_.repeats && !batch.weights && !batch.scores;
      loss = (recorded ? recorded_.run(batch,
                                       {arenas_.parameter_values(0),
                                        arenas_.gradient_values(0).data()},
                                       norms_,
                                       [&](const batch_view& rows) {
                                         return pass(rows, step_seed, checked);
                                       })
                       : pass(batch, step_seed, checked))
                 .item<double>();
    });
  } catch (const broken_off&) {
    loss = std::nan("");
  } catch (const out_of_memory&) {
    // The pass's own tensors are gone, and what they used is in the cache.
    accumulates_ = false;
    recorded_.forget();
    release_cached_memory();
    throw;
  } catch (...) {
    accumulates_ = false;
    throw;
  }
  accumulates_ = false;
  return loss;
}

double torch_model::overwrite(std::span<float> bound, const batch_view& batch,
                              uint64_t step_seed,
                              const std::function<void(size_t)>& ready) {
  if (setting_.by_outputs() || !traits_.overwrites)
    return model::overwrite(bound, batch, step_seed, ready);
  struct until_end {
    arena_tensors& of;
    ~until_end() { of.overwrite(false); }
  } here{arenas_};
  arenas_.overwrite(true);
  return accumulate(batch, step_seed, ready);
}

void torch_model::check_interrupt() const {
  if (accumulates_ && interrupted_.load(std::memory_order_relaxed))
    throw broken_off();
}

evaluation_sums torch_model::evaluate(const batch_view& batch) {
  use_threads(setting_.threads);
  evaluation_sums sums;
  const auto rows = uint32_t(std::min<uint64_t>(
      evaluation_rows(), setting_.what.train.micro_batch.value_or(UINT32_MAX)));
  for (uint32_t begin = 0; begin < batch.rows; begin += rows) {
    const batch_view part = batch.slice(
        begin, std::min(rows, batch.rows - begin), setting_.row.features);
    const evaluation_sums more = guarded("in an evaluation", [&] {
      c10::InferenceMode no_autograd;
      const c10::OptionalDeviceGuard here(device_if_gpu(setting_.place));
      return setting_.by_outputs() ? judge_outputs(part) : judge(part);
    });
    sums += more;
  }
  return sums;
}

void torch_model::answer(const batch_view& batch, std::span<float> out) {
  use_threads(setting_.threads);
  const size_t columns = answer_columns(setting_.what, setting_.row);
  std::vector<float> host;
  for (uint32_t begin = 0; begin < batch.rows; begin += evaluation_rows()) {
    const batch_view part =
        batch.slice(begin, std::min(evaluation_rows(), batch.rows - begin),
                    setting_.row.features);
    guarded("in a prediction", [&] {
      const c10::InferenceMode no_autograd(!setting_.by_outputs());
      const c10::NoGradGuard no_grad;
      const c10::OptionalDeviceGuard here(device_if_gpu(setting_.place));
      std::span<const float> found;
      if (setting_.by_outputs()) {
        const autocast_scope types(setting_.place, setting_.bfloat16);
        const at::Tensor there = outputs(part, false, 0);
        host.resize(size_t(there.numel()));
        copy_to_host(there, host.data());
        found = host;
      } else {
        found = predict(part);
      }
      answers_of(goal_, found,
                 out.subspan(begin * columns, part.rows * columns));
    });
  }
}

at::Tensor torch_model::pass(const batch_view& batch, uint64_t step_seed,
                             const std::function<void(size_t)>& ready) {
  const autograd_scope autograd;
  at::Tensor losses;
  {
    // The backward pass runs in the types of the forward pass.
    const autocast_scope types(setting_.place, setting_.bfloat16);
    const at::Tensor found = outputs(batch, true, step_seed);
    const wanted_outputs wanted = wanted_at(setting_.place, batch);
    losses = own_losses ? own_losses(found, wanted)
                        : losses_of(goal_, found, wanted, true);
    if (batch.scores)
      write_scores(goal_, found, wanted, {batch.scores, batch.rows});
  }
  const at::Tensor weights = row_weights(batch, losses);
  leaves_.backward(losses, weights, ready);
  const at::Tensor counted = losses.detach();
  return (batch.weights ? counted.mul(weights) : counted).sum(at::kDouble);
}

evaluation_sums torch_model::judge_outputs(const batch_view& batch) {
  goal_.check_labels(batch);
  const c10::NoGradGuard no_grad;
  const autocast_scope types(setting_.place, setting_.bfloat16);
  const at::Tensor found = outputs(batch, false, 0);
  const wanted_outputs wanted = wanted_at(setting_.place, batch);
  if (batch.scores)
    write_scores(goal_, found, wanted, {batch.scores, batch.rows});
  if (batch.tally) {
    std::vector<float> here(size_t(found.numel()));
    copy_to_host(found, here.data());
    goal_.tell_tally(batch, here);
  }
  const at::Tensor losses = own_losses ? own_losses(found, wanted)
                                       : losses_of(goal_, found, wanted, false);
  return {.loss = losses.sum(at::kDouble).item<double>(),
          .correct = correct_of(goal_, found, wanted),
          .rows = double(batch.rows),
          .weight = goal_.weight_of(batch)};
}

default_filler::default_filler(uint64_t seed)
    : generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {}

void default_filler::uniform(std::span<float> values, double bound) {
  tensor_over(values.data(), {int64_t(values.size())})
      .uniform_(-bound, bound, generator_);
}

// kaiming_uniform with a = sqrt(5), computed as torch.nn.init does.
void default_filler::weight(std::span<float> values, int64_t fan_in) {
  const double gain = std::sqrt(2.0 / (1 + 5.0));
  uniform(values, std::sqrt(3.0) * gain / std::sqrt(double(fan_in)));
}

void default_filler::bias(std::span<float> values, int64_t fan_in) {
  uniform(values, 1 / std::sqrt(double(fan_in)));
}

void default_filler::normal(std::span<float> values, double deviation) {
  tensor_over(values.data(), {int64_t(values.size())})
      .normal_(0, deviation, generator_);
}

namespace {

/// A step frees its temporaries and the next one allocates them again. By
/// default the C library returns them to the system each time, and the page
/// faults cost a third of a convolutional step.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

std::unique_ptr<model> make(const model_request& request) {
  keep_freed_memory();
  if (request.what->train.kernels == kernel_choice::portable)
    compute_portably();
  if (request.place.cuda >= 0)
    if (failure why = load_torch_cuda())
      throw ballast_error(why);
  switch (request.what->model.kind) {
  case model_kind::linear:
  case model_kind::logistic:
  case model_kind::mlp:
    return make_dense_model(request);
  case model_kind::cnn:
    return make_cnn_model(request);
  case model_kind::resnet18:
    return make_resnet_model(request);
  case model_kind::transformer:
    return make_transformer_model(request);
  case model_kind::torchscript:
    return make_script_model(request);
  case model_kind::emulated:
    break;
  }
  BALLAST_CHECK(false, "a model that is not made with LibTorch");
}

} // namespace
} // namespace ballast::gpu

extern "C" __attribute__((visibility("default"))) ballast::gpu::model*
ballast_make_torch_model(const ballast::gpu::model_request* request,
                         ballast::failure* why) {
  using namespace ballast;
  static_assert(
      std::is_same_v<decltype(ballast_make_torch_model), gpu::torch_factory>);
  try {
    return gpu::make(*request).release();
  } catch (const ballast_error& e) {
    *why = e.what_failed();
  } catch (const c10::Error& e) {
    *why = {errc::device_failed, e.what_without_backtrace(), {}};
  } catch (const std::exception& e) {
    *why = {errc::internal, e.what(), {}};
  }
  return nullptr;
}
