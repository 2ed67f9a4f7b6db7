/// Fills a model's arena from job.model.init: all zeros, or a .safetensors file
/// (warm start). What "default" means is each model's own affair. Used on both
/// sides of the LibTorch border.
#pragma once

#include "gpu/model.hpp"

#include <span>
#include <string>
#include <vector>

namespace ballast {

/// What a file can hold of a model.
struct model_tensors {
  const std::vector<parameter_info>& parameters;
  std::vector<model::buffer> buffers = {};
  std::vector<model::alias> aliases = {};
};

/// Returns false if `spec.init` is "default": the caller fills the arena.
/// Throws ballast_error{invalid_job, "/model/init"} where the file lacks a
/// tensor or has one of another shape, and where it has one that the model does
/// not know (it belongs to another model): all of them are listed. Counters,
/// that is scalars of integers such as `num_batches_tracked`, are passed over.
bool initialize_as_asked(const model_spec& spec, const model_tensors& of,
                         std::span<float> arena);

/// The arena in which `shapes` lie one after another.
std::vector<parameter_info> lay_out(
    const std::vector<std::pair<std::string, std::vector<int64_t>>>& shapes);

/// "[128, 784]", for messages.
std::string to_string(const std::vector<int64_t>& shape);

} // namespace ballast
