/// What a model computes of a row as the forward() of a module of TorchScript:
/// the same graph as for ONNX (onnx_graph.hpp), up to its `logits`. Those are
/// what a loss takes, so the module can be trained on. Pure.
#pragma once

#include "data/export/onnx_graph.hpp"

#include <string>

namespace ballast::data {

/// "def forward(self, features): ...". Parameters and constants of the graph
/// are tensors of the module under their names.
std::string torch_source(const onnx_graph& graph);

} // namespace ballast::data
