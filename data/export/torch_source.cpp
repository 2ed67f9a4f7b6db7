#include "data/export/torch_source.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

namespace ballast::data {

namespace {

constexpr const char* result = "logits";

/// Names of values are those of ONNX; "x1" and "features" are names in Python,
/// too, and dots only stand in those of tensors.
class source_maker {
public:
  explicit source_maker(const onnx_graph& graph) : graph_(graph) {}

  std::string whole() const {
    const onnx_value& rows = graph_.input;
    std::string out = "def forward(self, " + rows.name + "):\n";
    // Rows of images of one colour may have no axis for it.
    if (rows.shape.size() > 1)
      out += "    " + rows.name + " = torch.reshape(" + rows.name + ", [" +
             rows.name + ".size(0), " +
             list(rows.shape, rows.shape.size()).substr(1) + ")\n";
    for (const onnx_node& one : graph_.nodes) {
      out += lines(one);
      if (one.outputs.front() == result)
        break; // answers come behind
    }
    return out + "    return " + result + "\n";
  }

private:
  std::string value(const std::string& name) const {
    if (const onnx_constant* one = constant(name))
      return literal(*one);
    if (std::ranges::count(graph_.parameters, name) == 0)
      return name;
    return member(name);
  }

  /// getattr, as names of modules may be numbers.
  static std::string member(const std::string& name) {
    std::string out = "self";
    std::istringstream parts(name);
    for (std::string part; std::getline(parts, part, '.');)
      out = "getattr(" + out + ", \"" + part + "\")";
    return out;
  }

  const onnx_constant* constant(const std::string& name) const {
    const auto found =
        std::ranges::find(graph_.constants, name, &onnx_constant::name);
    return found == graph_.constants.end() ? nullptr : &*found;
  }

  static std::string literal(const onnx_constant& of) {
    const auto* numbers = std::get_if<std::vector<float>>(&of.values);
    BALLAST_CHECK(numbers != nullptr, "shapes have no value of their own");
    if (!of.shape.empty())
      return member(of.name);
    std::ostringstream out;
    out.precision(9);
    out << numbers->front();
    return out.str();
  }

  template <class T>
  static const T& attribute(const onnx_node& of, const std::string& name) {
    const auto found =
        std::ranges::find(of.attributes, name, &onnx_attribute::name);
    BALLAST_CHECK(found != of.attributes.end(), "an attribute is missing");
    return std::get<T>(found->value);
  }

  static std::string number(const onnx_node& of, const std::string& name) {
    return std::to_string(attribute<int64_t>(of, name));
  }

  static std::string list(const std::vector<int64_t>& of, size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i)
      out += (i == 0 ? "[" : ", ") + std::to_string(of[i]);
    return out + "]";
  }

  static std::string list(const onnx_node& of, const std::string& name,
                          size_t count = SIZE_MAX) {
    const auto& all = attribute<std::vector<int64_t>>(of, name);
    return list(all, std::min(count, all.size()));
  }

  static std::string epsilon_of(const onnx_node& of) {
    std::ostringstream out;
    out.precision(9);
    out << attribute<float>(of, "epsilon");
    return out.str();
  }

  /// 0 stands for the number of rows.
  std::string shape(const std::string& of, const std::string& name) const {
    const onnx_constant* one = constant(name);
    std::string out = "[" + of + ".size(0)";
    const auto& all = std::get<std::vector<int64_t>>(one->values);
    for (size_t i = 1; i < all.size(); ++i)
      out += ", " + std::to_string(all[i]);
    return out + "]";
  }

  std::string arguments(const onnx_node& of) const {
    std::string out;
    for (const std::string& one : of.inputs)
      out += (out.empty() ? "" : ", ") + value(one);
    return out;
  }

  std::string in(const onnx_node& of, size_t i) const {
    return value(of.inputs.at(i));
  }

  std::string term(const onnx_node& of) const {
    using maker =
        std::function<std::string(const source_maker&, const onnx_node&)>;
    static const std::map<std::string, maker> terms{
        {"Gemm",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.linear(" + m.arguments(of) + ")";
         }},
        {"MatMul",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.matmul(" + m.arguments(of) + ")";
         }},
        {"Add",
         [](const source_maker& m, const onnx_node& of) {
           return m.in(of, 0) + " + " + m.in(of, 1);
         }},
        {"Mul",
         [](const source_maker& m, const onnx_node& of) {
           return m.in(of, 0) + " * " + m.in(of, 1);
         }},
        {"Relu",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.relu(" + m.in(of, 0) + ")";
         }},
        {"Gelu",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.gelu(" + m.in(of, 0) + ", approximate=\"tanh\")";
         }},
        {"Gather",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.embedding(" + m.arguments(of) + ")";
         }},
        {"Transpose",
         [](const source_maker& m, const onnx_node& of) {
           return m.in(of, 0) + ".permute(" + list(of, "perm") + ")";
         }},
        {"Flatten",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.flatten(" + m.in(of, 0) + ", 1)";
         }},
        {"GlobalAveragePool",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.mean(" + m.in(of, 0) + ", [2, 3], True)";
         }},
        {"Softmax",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.softmax(" + m.in(of, 0) + ", " + number(of, "axis") +
                  ")";
         }},
        {"Reshape",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.reshape(" + m.in(of, 0) + ", " +
                  m.shape(m.in(of, 0), of.inputs[1]) + ")";
         }},
        {"Conv",
         [](const source_maker& m, const onnx_node& of) {
           const std::string bias = of.inputs.size() > 2 ? m.in(of, 2) : "None";
           return "torch.conv2d(" + m.in(of, 0) + ", " + m.in(of, 1) + ", " +
                  bias + ", " + list(of, "strides") + ", " +
                  list(of, "pads", 2) + ")";
         }},
        {"MaxPool",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.max_pool2d(" + m.in(of, 0) + ", " +
                  list(of, "kernel_shape") + ", " + list(of, "strides") + ", " +
                  list(of, "pads", 2) + ")";
         }},
        {"BatchNormalization",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.batch_norm(" + m.arguments(of) + ", False, 0.0, " +
                  epsilon_of(of) + ", False)";
         }},
        {"LayerNormalization",
         [](const source_maker& m, const onnx_node& of) {
           return "torch.layer_norm(" + m.in(of, 0) + ", " + m.in(of, 1) +
                  ".size(), " + m.in(of, 1) + ", " + m.in(of, 2) + ", " +
                  epsilon_of(of) + ")";
         }},
    };
    const auto found = terms.find(of.op);
    BALLAST_CHECK(found != terms.end(), "an operator without a term");
    return found->second(*this, of);
  }

  std::string lines(const onnx_node& of) const {
    if (of.op != "Split")
      return "    " + of.outputs.front() + " = " + term(of) + "\n";
    std::string out = "    parts = torch.chunk(" + value(of.inputs.front()) +
                      ", " + number(of, "num_outputs") + ", " +
                      number(of, "axis") + ")\n";
    for (size_t i = 0; i < of.outputs.size(); ++i)
      out += "    " + of.outputs[i] + " = parts[" + std::to_string(i) + "]\n";
    return out;
  }

  const onnx_graph& graph_;
};

} // namespace

std::string torch_source(const onnx_graph& graph) {
  return source_maker(graph).whole();
}

} // namespace ballast::data
