/// The parameters and gradients of a model as tensors over the executor's
/// arenas. Tensors do not own an arena; the executor keeps those that are bound
/// alive. Arenas alternate with every step, so their tensors are cached.
///
/// Thread: the step thread.
#pragma once

#include "gpu/model.hpp"
#include "gpu/torch/placement.hpp"

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace ballast::gpu {

class arena_tensors {
public:
  using tensors = std::vector<at::Tensor>;

  arena_tensors(std::vector<parameter_info> laid_out, const model_place& place);

  const std::vector<parameter_info>& infos() const { return infos_; }
  /// Elements of an arena.
  size_t count() const { return count_; }
  void bind(std::span<float> parameters, std::span<float> gradients);

  // -- the bound ones, by parameter
  const at::Tensor& parameter(size_t i) const { return (*parameters_)[i]; }
  const at::Tensor& gradient(size_t i) const { return (*gradients_)[i]; }
  const tensors& parameters() const { return *parameters_; }
  const tensors& gradients() const { return *gradients_; }
  const float* parameter_values(size_t i) const {
    return parameter_arena_.data() + infos_[i].offset;
  }
  std::span<float> gradient_values(size_t i) const {
    return gradient_arena_.subspan(infos_[i].offset, infos_[i].count);
  }

  /// Whether the gradients hold nothing of use: they are set, not added to.
  bool overwritten() const { return overwritten_; }
  void overwrite(bool now) { overwritten_ = now; }

private:
  const tensors& over(std::span<float> arena);

  std::vector<parameter_info> infos_;
  model_place place_;
  size_t count_ = 0;
  std::vector<std::pair<float*, std::unique_ptr<tensors>>> known_;
  const tensors* parameters_ = nullptr;
  const tensors* gradients_ = nullptr;
  std::span<float> parameter_arena_;
  std::span<float> gradient_arena_;
  bool overwritten_ = false;
};

} // namespace ballast::gpu
