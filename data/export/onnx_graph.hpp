/// What a model computes of a row, in the operators of ONNX (opset 20): from
/// the row as the model sees it to its outputs, and to the probabilities of the
/// classes. Names of parameters are those of model.safetensors. Pure.
///
/// Inputs and outputs have any number of rows:
///   features       float32, rows x the shape of a row; of tokens `tokens`,
///                  int64, rows x length
///   logits         float32, rows x columns, before softmax or sigmoid; of
///                  tokens rows x length x vocabulary
///   probabilities  of classes: rows x classes
///   value          of a regression, in place of both: rows x 1
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ballast::data {

constexpr int64_t onnx_opset = 20;

struct onnx_attribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>> value;
};

struct onnx_node {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<onnx_attribute> attributes;
};

/// A tensor that is no parameter.
struct onnx_constant {
  std::string name;
  std::vector<int64_t> shape;
  std::variant<std::vector<int64_t>, std::vector<float>> values;
};

/// One that goes in or out, with any number of rows before `shape`.
struct onnx_value {
  std::string name;
  std::vector<int64_t> shape;
  bool whole_numbers = false; // int64, else float32
};

struct onnx_graph {
  std::vector<onnx_node> nodes;
  std::vector<onnx_constant> constants;
  std::vector<std::string> parameters; // that nodes use
  onnx_value input;
  std::vector<onnx_value> outputs;
};

/// Throws ballast_error{not_in_build} of a kind that has no graph here
/// (emulated, torchscript). `row`: as the model sees it.
onnx_graph onnx_graph_of(const job& what, const ledger::row_shape& row);

} // namespace ballast::data
