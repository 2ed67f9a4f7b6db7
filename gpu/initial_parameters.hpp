/// Fills a model's arena by job.model.init: all zeros, or a .safetensors file
/// (warm start). Each model defines "default" itself. Used on both sides of the
/// LibTorch boundary.
#pragma once

#include "gpu/model.hpp"

#include <span>
#include <string>
#include <vector>

namespace ballast::gpu {

/// The tensors of a model that a file can hold.
struct model_tensors {
  const std::vector<parameter_info>& parameters;
  std::vector<model::buffer> buffers = {};
  std::vector<model::alias> aliases = {};
};

/// Returns false if `spec.init` is "default": the caller fills the arena.
/// Throws ballast_error{invalid_job, "/model/init"} if the file lacks a tensor
/// or has one of another shape, or has one that the model does not know (it
/// belongs to another model): lists all of them. Ignores counters, that is
/// integer scalars such as `num_batches_tracked`.
bool initialize_as_asked(const model_spec& spec, const model_tensors& of,
                         std::span<float> arena);

/// The arena layout of consecutive tensors of these `shapes`.
std::vector<parameter_info> lay_out(
    const std::vector<std::pair<std::string, std::vector<int64_t>>>& shapes);

/// The first few of these names, and the number of the others, for messages.
std::string listed(const std::vector<std::string>& names);
/// Threads that read a file of weights.
size_t weight_readers();

/// "[128, 784]", for messages.
std::string to_string(const std::vector<int64_t>& shape);

} // namespace ballast::gpu
