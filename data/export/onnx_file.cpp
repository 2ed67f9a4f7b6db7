#include "data/export/onnx_file.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/protobuf.hpp"

#include <span>
#include <type_traits>

namespace ballast::data {

namespace {

constexpr int64_t ir_version = 9;

// Numbers of fields, by message.
namespace in_model {
constexpr uint32_t version = 1, producer = 2, graph = 7, opset = 8,
                   metadata = 14;
}
namespace in_opset {
constexpr uint32_t version = 2;
}
namespace in_entry {
constexpr uint32_t key = 1, value = 2;
}
namespace in_graph {
constexpr uint32_t node = 1, name = 2, initializer = 5, input = 11, output = 12;
}
namespace in_node {
constexpr uint32_t input = 1, output = 2, name = 3, op = 4, attribute = 5;
}
namespace in_attribute {
constexpr uint32_t name = 1, real = 2, number = 3, text = 4, numbers = 8,
                   type = 20;
}
namespace in_tensor {
constexpr uint32_t length = 1, type = 2, name = 8, raw = 9;
}
namespace in_value {
constexpr uint32_t name = 1, type = 2, tensor = 1, element = 1, shape = 2,
                   axis = 1, length = 1, any_length = 2;
}

enum class attribute_type : uint8_t {
  real = 1,
  number = 2,
  text = 3,
  numbers = 7
};
enum class element_type : uint8_t { float32 = 1, int64 = 7 };

template <class Value>
std::string_view raw(std::span<const Value> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

protobuf tensor(const std::string& name, const std::vector<int64_t>& shape,
                element_type type, std::string_view values) {
  protobuf out;
  for (const int64_t length : shape)
    out.number(in_tensor::length, length);
  out.number(in_tensor::type, int64_t(type));
  out.bytes(in_tensor::name, name);
  out.bytes(in_tensor::raw, values);
  return out;
}

protobuf tensor(const onnx_constant& of) {
  return std::visit(
      [&](const auto& values) {
        using value = typename std::decay_t<decltype(values)>::value_type;
        return tensor(of.name, of.shape,
                      std::is_same_v<value, float> ? element_type::float32
                                                   : element_type::int64,
                      raw<value>(values));
      },
      of.values);
}

struct attribute_writer {
  protobuf& out;

  void type(attribute_type what) const {
    out.number(in_attribute::type, int64_t(what));
  }
  void operator()(int64_t value) const {
    out.number(in_attribute::number, value);
    type(attribute_type::number);
  }
  void operator()(float value) const {
    out.real(in_attribute::real, value);
    type(attribute_type::real);
  }
  void operator()(const std::string& value) const {
    out.bytes(in_attribute::text, value);
    type(attribute_type::text);
  }
  void operator()(const std::vector<int64_t>& values) const {
    for (const int64_t one : values)
      out.number(in_attribute::numbers, one);
    type(attribute_type::numbers);
  }
};

protobuf node(const onnx_node& of) {
  protobuf out;
  for (const std::string& one : of.inputs)
    out.bytes(in_node::input, one);
  for (const std::string& one : of.outputs)
    out.bytes(in_node::output, one);
  out.bytes(in_node::name, of.outputs.front());
  out.bytes(in_node::op, of.op);
  for (const onnx_attribute& one : of.attributes) {
    protobuf attribute;
    attribute.bytes(in_attribute::name, one.name);
    std::visit(attribute_writer{attribute}, one.value);
    out.message(in_node::attribute, attribute);
  }
  return out;
}

protobuf value(const onnx_value& of) {
  protobuf any;
  any.bytes(in_value::any_length, "rows");
  protobuf shape;
  shape.message(in_value::axis, any);
  for (const int64_t length : of.shape) {
    protobuf axis;
    axis.number(in_value::length, length);
    shape.message(in_value::axis, axis);
  }
  protobuf tensor;
  tensor.number(
      in_value::element,
      int64_t(of.whole_numbers ? element_type::int64 : element_type::float32));
  tensor.message(in_value::shape, shape);
  protobuf type;
  type.message(in_value::tensor, tensor);
  protobuf out;
  out.bytes(in_value::name, of.name);
  out.message(in_value::type, type);
  return out;
}

protobuf graph(const onnx_graph& of, const tensor_file& parameters) {
  protobuf out;
  out.bytes(in_graph::name, "model");
  for (const onnx_node& one : of.nodes)
    out.message(in_graph::node, node(one));
  uint64_t bytes = 0;
  for (const std::string& name : of.parameters) {
    const tensor_view* found = parameters.find(name);
    if (found == nullptr)
      throw ballast_error(errc::invalid_data,
                          "model.safetensors has no parameter " + name +
                              ", which a model of its job has");
    bytes += found->values.size_bytes();
    if (bytes > onnx_bytes_max)
      throw ballast_error(errc::not_in_build,
                          "the parameters have more than the 2 GiB that a file "
                          "of ONNX can have");
    out.message(in_graph::initializer,
                tensor(name, found->shape, element_type::float32,
                       raw<float>(found->values)));
  }
  for (const onnx_constant& one : of.constants)
    out.message(in_graph::initializer, tensor(one));
  out.message(in_graph::input, value(of.input));
  for (const onnx_value& one : of.outputs)
    out.message(in_graph::output, value(one));
  return out;
}

} // namespace

std::string onnx_bytes(const onnx_graph& of, const tensor_file& parameters,
                       const std::map<std::string, std::string>& metadata) {
  protobuf out;
  out.number(in_model::version, ir_version);
  out.bytes(in_model::producer, "ballast");
  out.message(in_model::graph, graph(of, parameters));
  protobuf opset;
  opset.number(in_opset::version, onnx_opset);
  out.message(in_model::opset, opset);
  for (const auto& [key, text] : metadata) {
    protobuf entry;
    entry.bytes(in_entry::key, key);
    entry.bytes(in_entry::value, text);
    out.message(in_model::metadata, entry);
  }
  return out.text();
}

} // namespace ballast::data
