// Compares resnet18 and transformer with the plain training loop of torch::nn
// and torch::optim: same network, batch, threads and optimizer.
//
//   eager_bench [--benchmark_repetitions=5
//   --benchmark_enable_random_interleaving]
#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"
#include "runtime/base/random.hpp"

#include <benchmark/benchmark.h>
#include <torch/nn.h>
#include <torch/optim.h>

namespace ballast::bench {
namespace {

using torch::Tensor;

constexpr int threads = 1;
constexpr uint32_t classes = 10;

struct workload {
  job what;
  ledger::row_shape row;
  uint32_t rows;
};

workload images() {
  workload out{{}, {}, 16};
  out.what.model.kind = model_kind::resnet18;
  out.row.shape = {3, 64, 64};
  out.row.features = 3 * 64 * 64;
  out.row.classes = classes;
  return out;
}

workload tokens() {
  workload out{{}, {}, 8};
  out.what.model.kind = model_kind::transformer;
  out.what.train.loss = loss_kind::next_token;
  out.row.shape = {128};
  out.row.features = 128;
  out.row.classes = 1;
  out.row.vocabulary = 1024;
  return out;
}

struct rows_in_memory {
  std::vector<float> features;
  std::vector<int64_t> labels;

  explicit rows_in_memory(const workload& of) : labels(of.rows) {
    const counter_random random(1, 2);
    uint64_t draw = 0;
    for (size_t i = 0; i < size_t(of.rows) * of.row.features; ++i)
      features.push_back(of.row.vocabulary > 0
                             ? float(random.below(of.row.vocabulary, draw++))
                             : float(random.unit(draw++)));
    for (int64_t& label : labels)
      label = int64_t(random.below(of.row.classes, draw++));
  }
};

void ballast_step(benchmark::State& state, workload of) {
  of.what.train.optimizer.kind = optimizer_kind::adamw;
  auto tested = gpu::make_model({&of.what, of.row, threads});
  const size_t count = tested->parameter_count();
  auto update = gpu::make_optimizer(of.what.train.optimizer, count);
  std::vector<float> parameters(count), gradients(count);
  tested->initialize(parameters);
  tested->bind(parameters, gradients);
  const rows_in_memory data(of);
  uint64_t done = 0;
  for (auto _ : state) {
    std::fill(gradients.begin(), gradients.end(), 0.0F);
    tested->accumulate({.features = data.features.data(),
                        .labels = data.labels.data(),
                        .rows = of.rows},
                       done, {});
    update->apply(parameters, gradients, 1.0 / of.rows, 1e-3, ++done);
  }
}

struct residual_block : torch::nn::Module {
  torch::nn::Conv2d conv1, conv2, shortcut{nullptr};
  torch::nn::BatchNorm2d bn1, bn2, shortcut_bn{nullptr};

  static torch::nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel,
                                int64_t stride) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel)
                                 .stride(stride)
                                 .padding(kernel / 2)
                                 .bias(false));
  }
  residual_block(int64_t in, int64_t out, int64_t stride)
      : conv1(conv(in, out, 3, stride)), conv2(conv(out, out, 3, 1)), bn1(out),
        bn2(out) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("bn1", bn1);
    register_module("bn2", bn2);
    if (stride != 1) {
      shortcut = register_module("shortcut", conv(in, out, 1, stride));
      shortcut_bn = register_module("shortcut_bn", torch::nn::BatchNorm2d(out));
    }
  }
  Tensor forward(const Tensor& x) {
    Tensor y = torch::relu(bn1(conv1(x)));
    y = bn2(conv2(y));
    return torch::relu(y + (shortcut ? shortcut_bn(shortcut(x)) : x));
  }
};

struct eager_resnet : torch::nn::Module {
  torch::nn::Sequential layers;

  explicit eager_resnet(const workload&) {
    layers->push_back(residual_block::conv(3, 64, 7, 2));
    layers->push_back(torch::nn::BatchNorm2d(64));
    layers->push_back(torch::nn::ReLU());
    layers->push_back(torch::nn::MaxPool2d(
        torch::nn::MaxPool2dOptions(3).stride(2).padding(1)));
    int64_t in = 64;
    for (int64_t width : {64, 128, 256, 512})
      for (int block = 0; block < 2; ++block) {
        layers->push_back(residual_block(in, width, in == width ? 1 : 2));
        in = width;
      }
    layers->push_back(torch::nn::AdaptiveAvgPool2d(1));
    layers->push_back(torch::nn::Flatten());
    layers->push_back(torch::nn::Linear(512, classes));
    register_module("layers", layers);
  }
  Tensor loss(const Tensor& features, const Tensor& labels) {
    return torch::nn::functional::cross_entropy(
        layers->forward(features.view({-1, 3, 64, 64})), labels);
  }
};

struct decoder_block : torch::nn::Module {
  int64_t width, heads;
  torch::nn::LayerNorm norm1, norm2;
  torch::nn::Linear qkv, out, up, down;

  decoder_block(int64_t w, int64_t h)
      : width(w), heads(h), norm1(torch::nn::LayerNormOptions({w})),
        norm2(torch::nn::LayerNormOptions({w})), qkv(w, 3 * w), out(w, w),
        up(w, 4 * w), down(4 * w, w) {
    register_module("norm1", norm1);
    register_module("norm2", norm2);
    register_module("qkv", qkv);
    register_module("out", out);
    register_module("up", up);
    register_module("down", down);
  }
  Tensor forward(Tensor x) {
    std::vector<Tensor> parts = qkv(norm1(x)).chunk(3, 2);
    for (Tensor& part : parts)
      part = part.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
    Tensor mixed = torch::scaled_dot_product_attention(parts[0], parts[1],
                                                       parts[2], {}, 0, true);
    x = x + out(mixed.transpose(1, 2).reshape_as(x));
    return x + down(torch::gelu(up(norm2(x)), "tanh"));
  }
};

struct eager_transformer : torch::nn::Module {
  torch::nn::Embedding words, places;
  torch::nn::Sequential blocks;
  torch::nn::LayerNorm last;

  explicit eager_transformer(const workload& of)
      : words(of.row.vocabulary, of.what.model.width),
        places(of.row.features, of.what.model.width),
        last(torch::nn::LayerNormOptions({int64_t(of.what.model.width)})) {
    for (uint32_t layer = 0; layer < of.what.model.layers; ++layer)
      blocks->push_back(
          decoder_block(of.what.model.width, of.what.model.heads));
    register_module("words", words);
    register_module("places", places);
    // As ours: with the default, scores begin in the hundreds, and arithmetic
    // on denormals takes most of the time.
    torch::nn::init::normal_(words->weight, 0, 0.02);
    torch::nn::init::normal_(places->weight, 0, 0.02);
    register_module("blocks", blocks);
    register_module("last", last);
  }
  Tensor loss(const Tensor& features, const Tensor&) {
    const Tensor tokens = features.to(torch::kLong);
    const int64_t length = tokens.size(1);
    Tensor x = words(tokens) + places(torch::arange(length));
    Tensor scores = torch::linear(last(blocks->forward(x)), words->weight);
    return torch::nn::functional::cross_entropy(
        scores.slice(1, 0, length - 1).flatten(0, 1),
        tokens.slice(1, 1).flatten());
  }
};

template <class Module>
void eager_step(benchmark::State& state, const workload& of) {
  torch::set_num_threads(threads);
  Module network(of);
  torch::optim::AdamW update(network.parameters(), 1e-3);
  rows_in_memory data(of);
  const Tensor features = torch::from_blob(data.features.data(),
                                           {of.rows, int64_t(of.row.features)});
  const Tensor labels =
      torch::from_blob(data.labels.data(), {of.rows}, torch::kLong);
  for (auto _ : state) {
    update.zero_grad();
    Tensor loss = network.loss(features, labels);
    loss.backward();
    update.step();
    benchmark::DoNotOptimize(loss.item<float>());
  }
}

constexpr auto* eager_resnet_step = &eager_step<eager_resnet>;
constexpr auto* eager_transformer_step = &eager_step<eager_transformer>;

BENCHMARK_CAPTURE(ballast_step, resnet18, images())->UseRealTime();
BENCHMARK_CAPTURE(eager_resnet_step, resnet18, images())->UseRealTime();
BENCHMARK_CAPTURE(ballast_step, transformer, tokens())->UseRealTime();
BENCHMARK_CAPTURE(eager_transformer_step, transformer, tokens())->UseRealTime();

} // namespace
} // namespace ballast::bench

BENCHMARK_MAIN();
