/// SHA-256 of the parameters in a file of weights, as `weights_sha256` of a
/// report has it: by name, without buffers, optimizer and best model; and
/// whether they are those that the folder they lie in vouches for.
///
/// Errors: ballast_error{invalid_data} with the file's name. Any thread.
#pragma once

#include "data/model/weights_file.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace ballast::data {

using look_at_values =
    std::function<void(const tensor_place&, std::span<const float>)>;

/// Reads all of them, one tensor at a time; `also` sees each.
std::string parameters_sha256(const weights_file& file,
                              const look_at_values& also = {});

/// What report.json of a run, or card.json of an exported folder, says of
/// model.safetensors beside it. Nothing: neither is there, or has it.
std::optional<std::string>
told_parameters_sha256(const std::filesystem::path& folder);

/// Throws invalid_data where FOLDER/model.safetensors holds other parameters
/// than are told of.
void check_parameters(const std::filesystem::path& folder);

} // namespace ballast::data
