#include "data/export/onnx_graph.hpp"

#include "runtime/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ballast::data {

namespace {

using text_list = std::vector<std::string>;
using numbers = std::vector<int64_t>;

/// Of layer and batch norms, as LibTorch has it.
constexpr float epsilon = 1e-5F;

/// Adds nodes one behind the other; each method returns the name of its
/// result.
class graph_maker {
public:
  std::string node(const std::string& op, text_list inputs,
                   std::vector<onnx_attribute> attributes = {},
                   std::string result = {}) {
    if (result.empty())
      result = "x" + std::to_string(++results_);
    out.nodes.push_back(
        {op, std::move(inputs), {result}, std::move(attributes)});
    return result;
  }
  std::string parameter(const std::string& name) {
    if (std::find(out.parameters.begin(), out.parameters.end(), name) ==
        out.parameters.end())
      out.parameters.push_back(name);
    return name;
  }
  template <class Values>
  std::string constant(const std::string& name, numbers shape, Values values) {
    const auto known = [&](const onnx_constant& one) {
      return one.name == name;
    };
    if (std::none_of(out.constants.begin(), out.constants.end(), known))
      out.constants.push_back({name, std::move(shape), std::move(values)});
    return name;
  }

  /// Of rows with one axis.
  std::string dense(const std::string& prefix, const std::string& x,
                    const std::string& result = {}) {
    return node("Gemm",
                {x, parameter(prefix + "weight"), parameter(prefix + "bias")},
                {{"transB", int64_t{1}}}, result);
  }
  /// Of rows with more axes: of the last one.
  std::string linear(const std::string& prefix, const std::string& x) {
    return node("Add",
                {product(x, prefix + "weight"), parameter(prefix + "bias")});
  }
  /// x times the transposed parameter.
  std::string product(const std::string& x, const std::string& weight,
                      const std::string& result = {}) {
    const std::string turned =
        node("Transpose", {parameter(weight)}, {{"perm", numbers{1, 0}}});
    return node("MatMul", {x, turned}, {}, result);
  }
  std::string convolution(const text_list& weights, const std::string& x,
                          int64_t stride, int64_t padding) {
    text_list inputs{x};
    for (const std::string& one : weights)
      inputs.push_back(parameter(one));
    return node(
        "Conv", std::move(inputs),
        {{"strides", numbers{stride, stride}}, {"pads", numbers(4, padding)}});
  }
  std::string batch_norm(const std::string& name, const std::string& x) {
    return node("BatchNormalization",
                {x, parameter(name + ".weight"), parameter(name + ".bias"),
                 parameter(name + ".running_mean"),
                 parameter(name + ".running_var")},
                {{"epsilon", epsilon}});
  }
  std::string max_pool(const std::string& x, int64_t side, int64_t stride,
                       int64_t padding) {
    return node("MaxPool", {x},
                {{"kernel_shape", numbers{side, side}},
                 {"strides", numbers{stride, stride}},
                 {"pads", numbers(4, padding)}});
  }
  std::string relu(const std::string& x) { return node("Relu", {x}); }
  std::string flatten(const std::string& x) {
    return node("Flatten", {x}, {{"axis", int64_t{1}}});
  }
  std::string layer_norm(const std::string& name, const std::string& x) {
    return node("LayerNormalization",
                {x, parameter(name + ".weight"), parameter(name + ".bias")},
                {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
  }

  onnx_graph out;

private:
  size_t results_ = 0;
};

numbers shape_of_image(const ledger::row_shape& row) {
  const std::vector<uint32_t>& s = row.shape;
  if (s.size() == 2)
    return {1, int64_t(s[0]), int64_t(s[1])};
  return {s.begin(), s.end()};
}

// -- the kinds; each from its input to what its last layer says, `last` ------

constexpr const char* last = "logits";

void add_chain(graph_maker& g, const job& what) {
  if (what.model.kind != model_kind::mlp) {
    g.dense("", "features", last);
    return;
  }
  std::string x = "features";
  size_t layer = 1;
  for (; layer <= what.model.hidden.size(); ++layer)
    x = g.relu(g.dense("fc" + std::to_string(layer) + ".", x));
  g.dense("fc" + std::to_string(layer) + ".", x, last);
}

void add_cnn(graph_maker& g, const job& what) {
  std::string x = "features";
  for (size_t b = 1; b <= what.model.channels.size(); ++b) {
    const std::string number = std::to_string(b);
    x = g.convolution({"conv" + number + ".weight", "conv" + number + ".bias"},
                      x, 1, 0);
    if (what.model.batch_norm)
      x = g.batch_norm("bn" + number, x);
    x = g.max_pool(g.relu(x), 2, 2, 0);
  }
  g.dense("fc.", g.flatten(x), last);
}

/// Two convolutions, and a third one on the shortcut where the shape changes.
std::string add_block(graph_maker& g, const std::string& name,
                      const std::string& x, bool changes_shape) {
  const int64_t stride = changes_shape ? 2 : 1;
  std::string y = g.convolution({name + "conv1.weight"}, x, stride, 1);
  y = g.relu(g.batch_norm(name + "bn1", y));
  y = g.convolution({name + "conv2.weight"}, y, 1, 1);
  y = g.batch_norm(name + "bn2", y);
  std::string shortcut = x;
  if (changes_shape)
    shortcut =
        g.batch_norm(name + "downsample.1",
                     g.convolution({name + "downsample.0.weight"}, x, 2, 0));
  return g.relu(g.node("Add", {y, shortcut}));
}

void add_resnet(graph_maker& g, const job& what) {
  const bool small = what.model.stem == resnet_stem::cifar;
  std::string x =
      g.convolution({"conv1.weight"}, "features", small ? 1 : 2, small ? 1 : 3);
  x = g.relu(g.batch_norm("bn1", x));
  if (!small)
    x = g.max_pool(x, 3, 2, 1);
  for (int stage = 1; stage <= 4; ++stage)
    for (int block = 0; block < 2; ++block)
      x = add_block(g,
                    "layer" + std::to_string(stage) + "." +
                        std::to_string(block) + ".",
                    x, stage > 1 && block == 0);
  g.dense("fc.", g.flatten(g.node("GlobalAveragePool", {x})), last);
}

class transformer_maker {
public:
  transformer_maker(graph_maker& g, const job& what, int64_t length)
      : g_(g), what_(what), length_(length), width_(what.model.width),
        heads_(what.model.heads) {}

  void add() {
    std::string x = g_.node(
        "Add", {g_.node("Gather", {g_.parameter("wte.weight"), "tokens"}),
                g_.parameter("wpe.weight")});
    for (uint32_t layer = 0; layer < what_.model.layers; ++layer)
      x = block("h." + std::to_string(layer) + ".", x);
    g_.product(g_.layer_norm("ln_f", x), "wte.weight", last);
  }

private:
  std::string block(const std::string& name, const std::string& x) {
    const std::string y = g_.node(
        "Add", {x, attention(name + "attn.", g_.layer_norm(name + "ln_1", x))});
    std::string inner =
        g_.linear(name + "mlp.c_fc.", g_.layer_norm(name + "ln_2", y));
    inner = g_.node("Gelu", {inner}, {{"approximate", std::string("tanh")}});
    return g_.node("Add", {y, g_.linear(name + "mlp.c_proj.", inner)});
  }

  std::string by_head(const std::string& x, numbers order) {
    const std::string shape =
        g_.constant("heads", {4}, numbers{0, length_, heads_, width_ / heads_});
    return g_.node("Transpose", {g_.node("Reshape", {x, shape})},
                   {{"perm", std::move(order)}});
  }

  /// Added to scores: no token sees those behind it.
  std::string mask() {
    std::vector<float> values(size_t(length_ * length_), 0.0F);
    for (int64_t row = 0; row < length_; ++row)
      for (int64_t column = row + 1; column < length_; ++column)
        values[size_t(row * length_ + column)] =
            -std::numeric_limits<float>::infinity();
    return g_.constant("mask", {length_, length_}, std::move(values));
  }

  std::string attention(const std::string& name, const std::string& x) {
    const std::string all = g_.linear(name + "c_attn.", x);
    const text_list parts{all + "_q", all + "_k", all + "_v"};
    g_.out.nodes.push_back(
        {"Split",
         {all},
         parts,
         {{"axis", int64_t{2}}, {"num_outputs", int64_t{3}}}});
    const int64_t head_width = width_ / heads_;
    const std::string scale = g_.constant(
        "scale", {},
        std::vector<float>{float(1 / std::sqrt(double(head_width)))});
    std::string scores = g_.node("MatMul", {by_head(parts[0], {0, 2, 1, 3}),
                                            by_head(parts[1], {0, 2, 3, 1})});
    scores = g_.node("Add", {g_.node("Mul", {scores, scale}), mask()});
    const std::string weights =
        g_.node("Softmax", {scores}, {{"axis", int64_t{-1}}});
    std::string out =
        g_.node("MatMul", {weights, by_head(parts[2], {0, 2, 1, 3})});
    out = g_.node("Transpose", {out}, {{"perm", numbers{0, 2, 1, 3}}});
    out = g_.node("Reshape",
                  {out, g_.constant("rows", {3}, numbers{0, length_, width_})});
    return g_.linear(name + "c_proj.", out);
  }

  graph_maker& g_;
  const job& what_;
  const int64_t length_;
  const int64_t width_;
  const int64_t heads_;
};

/// What comes behind the last layer.
void add_answers(graph_maker& g, const job& what,
                 const ledger::row_shape& row) {
  std::vector<onnx_value>& outputs = g.out.outputs;
  if (what.train.loss == loss_kind::next_token) {
    const auto vocabulary =
        int64_t(what.model.vocabulary.value_or(row.vocabulary));
    outputs.push_back({last, {int64_t(row.features), vocabulary}});
    return;
  }
  if (what.train.loss == loss_kind::hinge) {
    g.node("Identity", {last}, {}, "score");
    outputs.push_back({"score", {1}});
    return;
  }
  if (is_of_numbers(what.train.loss)) {
    g.node("Identity", {last}, {}, "value");
    outputs.push_back({"value", {1}});
    return;
  }
  const int64_t classes = row.classes;
  const bool one_column =
      what.train.loss == loss_kind::bce ||
      (what.model.kind == model_kind::logistic && classes == 2);
  outputs.push_back({last, {one_column ? 1 : classes}});
  outputs.push_back({"probabilities", {classes}});
  if (!one_column) {
    g.node("Softmax", {last}, {{"axis", int64_t{1}}}, "probabilities");
    return;
  }
  g.node(
      "Concat",
      {g.node("Sigmoid", {g.node("Neg", {last})}), g.node("Sigmoid", {last})},
      {{"axis", int64_t{1}}}, "probabilities");
}

void add_model(graph_maker& g, const job& what, const ledger::row_shape& row) {
  switch (what.model.kind) {
  case model_kind::linear:
  case model_kind::logistic:
  case model_kind::mlp:
    g.out.input = {"features", {int64_t(row.features)}};
    add_chain(g, what);
    return;
  case model_kind::cnn:
    g.out.input = {"features", shape_of_image(row)};
    add_cnn(g, what);
    return;
  case model_kind::resnet18:
    g.out.input = {"features", shape_of_image(row)};
    add_resnet(g, what);
    return;
  case model_kind::transformer:
    g.out.input = {"tokens", {int64_t(row.features)}, true};
    transformer_maker(g, what, row.features).add();
    return;
  case model_kind::torchscript:
  case model_kind::emulated:
    break;
  }
  throw ballast_error(
      errc::not_in_build,
      "a model '" + to_string(what.model.kind) +
          "' has no graph that could be exported; expected one of linear, "
          "logistic, mlp, cnn, resnet18 and transformer",
      "/model/kind");
}

} // namespace

onnx_graph onnx_graph_of(const job& what, const ledger::row_shape& row) {
  graph_maker g;
  add_model(g, what, row);
  add_answers(g, what, row);
  return std::move(g.out);
}

} // namespace ballast::data
