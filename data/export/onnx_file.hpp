/// A trained model as a file of ONNX, which onnxruntime and others run: its
/// graph (onnx_graph.hpp), its parameters, and as metadata what its inputs and
/// outputs are called. Fields are those of onnx.proto
/// (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, IR version 9).
#pragma once

#include "data/export/onnx_graph.hpp"
#include "data/model/safetensors.hpp"

#include <map>
#include <string>

namespace ballast::data {

/// Of a file, by its format: no more than 2 GiB.
constexpr uint64_t onnx_bytes_max = (uint64_t{1} << 31) - 1;

/// Throws ballast_error{invalid_data} where `parameters` lacks one of the
/// graph's, and {not_in_build} where they are too large for the format.
std::string onnx_bytes(const onnx_graph& graph, const tensor_file& parameters,
                       const std::map<std::string, std::string>& metadata);

} // namespace ballast::data
