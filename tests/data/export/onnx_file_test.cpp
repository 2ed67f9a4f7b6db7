// Goal: the graph of a model uses the parameters that model.safetensors has,
// and files that cannot be written are refused with a reason. Method: graphs of
// jobs; that onnxruntime reads the files and computes the same is
// end_to_end/export_model.py.
#include "data/export/onnx_file.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/protobuf.hpp"

#include <gmock/gmock.h>

namespace ballast::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

job mlp() {
  job out;
  out.model.kind = model_kind::mlp;
  out.model.hidden = {4};
  return out;
}

ledger::row_shape row() {
  ledger::row_shape out;
  out.features = 3;
  out.shape = {3};
  out.classes = 2;
  return out;
}

TEST(protobuf, writes_numbers_texts_and_messages_as_documented) {
  protobuf inner;
  inner.number(1, 150);
  EXPECT_EQ(inner.text(), std::string("\x08\x96\x01"));
  protobuf outer;
  outer.bytes(2, "testing");
  outer.message(3, inner);
  EXPECT_EQ(outer.text(), "\x12\x07testing\x1a\x03\x08\x96\x01");
}

TEST(onnx_graph, of_a_chain_uses_its_parameters_in_their_order) {
  const onnx_graph graph = onnx_graph_of(mlp(), row());
  EXPECT_THAT(graph.parameters,
              ElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"));
  ASSERT_EQ(graph.outputs.size(), 2U);
  EXPECT_EQ(graph.outputs[0].name, "logits");
  EXPECT_EQ(graph.outputs[1].name, "probabilities");
}

TEST(onnx_graph, of_two_classes_and_one_column_has_both_probabilities) {
  job what = mlp();
  what.model.kind = model_kind::logistic;
  const onnx_graph graph = onnx_graph_of(what, row());
  EXPECT_THAT(graph.outputs[0].shape, ElementsAre(1));
  EXPECT_THAT(graph.outputs[1].shape, ElementsAre(2));
}

TEST(onnx_graph, of_a_kind_without_layers_is_refused) {
  job what = mlp();
  what.model.kind = model_kind::emulated;
  try {
    (void)onnx_graph_of(what, row());
    FAIL();
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::not_in_build);
    EXPECT_THAT(error.what(), HasSubstr("'emulated' has no graph"));
  }
}

TEST(onnx_file, names_the_parameter_that_is_not_there) {
  try {
    (void)onnx_bytes(onnx_graph_of(mlp(), row()), tensor_file(), {});
    FAIL();
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::invalid_data);
    EXPECT_THAT(error.what(), HasSubstr("no parameter fc1.weight"));
  }
}

} // namespace
} // namespace ballast::data
