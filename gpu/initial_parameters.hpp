/// Fills a model's arena from job.model.init: all zeros, or a .safetensors file
/// (warm start). What "default" means is each model's own affair. Used on both
/// sides of the LibTorch border.
#pragma once

#include "gpu/model.hpp"

#include <span>
#include <string>
#include <vector>

namespace ballast {

/// Returns false if `spec.init` is "default": the caller fills the arena.
/// Throws ballast_error{invalid_job, "/model/init"} where the file has no
/// tensor of a parameter's name or one of another shape; tensors that the model
/// does not know are refused too (the file belongs to another model).
bool initialize_as_asked(const model_spec& spec,
                         const std::vector<parameter_info>& parameters,
                         std::span<float> arena,
                         const std::vector<model::buffer>& buffers = {});

/// The arena in which `shapes` lie one after another.
std::vector<parameter_info> lay_out(
    const std::vector<std::pair<std::string, std::vector<int64_t>>>& shapes);

/// "[128, 784]", for messages.
std::string to_string(const std::vector<int64_t>& shape);

} // namespace ballast
