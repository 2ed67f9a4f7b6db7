#include "gpu/torch/script_loss.hpp"

#include "gpu/initial_parameters.hpp"
#include "gpu/torch/script_file.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <ATen/ops/zeros.h>
#include <exception>

namespace ballast::gpu {

namespace {

constexpr const char* pointer = "/model/loss";

torch::jit::Method method_of(const torch::jit::Module& module, const job& of) {
  const auto found = module.find_method(of.model.loss);
  if (!found)
    throw ballast_error(errc::invalid_job,
                        of.model.path + ": the module has no method '" +
                            printable(of.model.loss) +
                            "'; expected one of outputs and labels, marked "
                            "with @torch.jit.export",
                        pointer);
  return *found;
}

} // namespace

script_loss::script_loss(const torch::jit::Module& module, const job& of,
                         const objective& goal)
    : path_(of.model.path), name_(of.model.loss), goal_(goal),
      method_(method_of(module, of)) {
  if (method_.num_inputs() != 3) // the module is the first
    refuse("takes " + std::to_string(method_.num_inputs() - 1) +
           " arguments; expected outputs and labels");
  if (may_draw(module, name_))
    refuse("may draw random numbers, for which an evaluation has no seed; draw "
           "them in forward");
}

void script_loss::refuse(const std::string& why) const {
  throw ballast_error(errc::invalid_job,
                      path_ + ": '" + printable(name_) + "' " + why, pointer);
}

at::Tensor script_loss::of(const at::Tensor& outputs,
                           const wanted_outputs& wanted) const {
  const at::Tensor& labels =
      wanted.targets.defined() ? wanted.targets : wanted.labels;
  return method_({outputs.to(at::kFloat),
                  goal_.is_of_numbers() ? labels.to(at::kFloat) : labels})
      .toTensor();
}

void script_loss::check(const at::Tensor& outputs) const {
  at::Tensor found;
  try {
    found = of(outputs, {at::zeros({2}, outputs.options().dtype(at::kLong)),
                         at::Tensor()});
  } catch (const std::exception& e) {
    refuse(std::string("fails on the outputs of 2 rows: ") + e.what());
  }
  if (found.scalar_type() != at::kFloat || found.dim() != 1 ||
      found.size(0) != 2)
    refuse("of 2 rows returns " + std::string(found.toString()) + " of shape " +
           to_string(found.sizes().vec()) +
           "; expected float32 of shape [2], the loss of each row");
  if (!found.requires_grad())
    refuse("returns what no parameter decides; expected a loss of the outputs");
}

} // namespace ballast::gpu
