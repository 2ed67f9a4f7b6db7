/// A method of a TorchScript module that computes the loss of each row in place
/// of the job's: `NAME(outputs, labels)` with the outputs of `forward` (rows x
/// columns, float32), and of classes their numbers (rows, int64), of numbers
/// the targets (rows, float32). It returns float32, one number a row, which
/// autograd can follow to the outputs.
///
/// Throws ballast_error{invalid_job}, with pointer, of another method.
#pragma once

#include "gpu/torch/objective.hpp"
#include "gpu/torch/tensor_objective.hpp"

#include <ATen/core/Tensor.h>
#include <string>
#include <torch/script.h>

namespace ballast::gpu {

class script_loss {
public:
  /// `goal` outlives it.
  script_loss(const torch::jit::Module& module, const job& of,
              const objective& goal);

  /// The loss of each row.
  at::Tensor of(const at::Tensor& outputs, const wanted_outputs& wanted) const;
  /// Tries it on these outputs of two rows.
  void check(const at::Tensor& outputs) const;

private:
  [[noreturn]] void refuse(const std::string& why) const;

  const std::string path_;
  const std::string name_;
  const objective& goal_;
  mutable torch::jit::Method method_; // computing is not const in LibTorch
};

} // namespace ballast::gpu
