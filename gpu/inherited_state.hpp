/// What a run begins with where job.init names a model or a checkpoint: its
/// tensors in the place of those that the seed makes. Used on both sides of the
/// LibTorch boundary.
///
/// Errors: ballast_error{invalid_job} with a pointer below /init: a tensor that
/// lacks or has another shape, by name, with the pattern that would leave it
/// out; a pattern that fits nothing; a file that cannot be read.
#pragma once

#include "gpu/initial_parameters.hpp"
#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"
#include "runtime/job/job.hpp"

#include <span>
#include <string>
#include <vector>

namespace ballast::gpu {

/// Over what the seed has made: parameters and buffers, but those that
/// `how.except` names. `how.from`: a file of this machine.
void inherit_parameters(const init_spec& how, const model_tensors& of,
                        std::span<float> arena);

/// What the file has of the optimizer's state: vectors as long as the arena, in
/// host memory, by the names of optimizer::state(); 0 for parameters that
/// `how.except` names.
struct inherited_vector {
  std::string name;
  std::vector<float> values;
};
std::vector<inherited_vector>
inherit_optimizer(const init_spec& how,
                  const std::vector<parameter_info>& parameters,
                  const std::vector<std::string>& wanted);

/// `init.freeze` and `train.optimizer.lr_of` over the parameters of a model,
/// which may also be named as its aliases are. Throws also with a pointer below
/// /train/optimizer/lr_of.
update_groups arrange_updates(const job& what, const model& of);

} // namespace ballast::gpu
