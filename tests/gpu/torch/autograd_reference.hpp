/// The models written down again, plainly, in double precision: what the tests
/// compare losses and gradients with.
#pragma once

#include "tests/gpu/torch/model_fixture.hpp"

#include <cmath>
#include <torch/nn.h>

namespace ballast::gpu {

using torch::Tensor;

inline Tensor in_double(const float* values, std::vector<int64_t> shape) {
  return torch::from_blob(const_cast<float*>(values), shape).to(torch::kDouble);
}

/// linear, logistic, mlp and cnn.
inline Tensor outputs_of(const model_setup& m, std::vector<Tensor> p,
                         const batch_view& batch, bool training) {
  std::vector<int64_t> sizes{batch.rows};
  sizes.insert(sizes.end(), m.row.shape.begin(), m.row.shape.end());
  Tensor x = in_double(batch.features, sizes);
  size_t next = 0;
  if (m.what.model.kind == model_kind::cnn) {
    if (x.dim() == 3)
      x = x.unsqueeze(1);
    for (size_t b = 0; b < m.what.model.channels.size(); ++b) {
      x = torch::conv2d(x, p[next], p[next + 1]);
      next += 2;
      if (m.what.model.batch_norm) {
        x = torch::batch_norm(x, p[next], p[next + 1], {}, {}, training, 0.1,
                              1e-5, false);
        next += 2;
      }
      x = torch::max_pool2d(torch::relu(x), 2);
    }
    x = x.flatten(1);
  }
  for (; next + 2 < p.size(); next += 2)
    x = torch::relu(torch::linear(x, p[next], p[next + 1]));
  return torch::linear(x, p[next], p[next + 1]);
}

/// What multiplies -log of each class's probability: rows x classes.
inline Tensor parts_of_labels(const model_setup& m, const Tensor& labels,
                              int64_t classes) {
  const double smoothing = m.what.train.label_smoothing;
  const Tensor parts =
      torch::one_hot(labels, classes).to(torch::kDouble) * (1 - smoothing) +
      smoothing / double(classes);
  const std::vector<double>& weights = m.what.train.class_weights;
  return weights.empty() ? parts
                         : parts * torch::tensor(weights, torch::kDouble);
}

inline Tensor loss_of_outputs(const model_setup& m, const Tensor& out,
                              const batch_view& batch) {
  const int64_t rows = batch.rows;
  if (is_of_numbers(m.what.train.loss)) {
    Tensor target = batch.targets ? in_double(batch.targets, {rows})
                                  : torch::tensor(std::vector<double>(
                                        batch.labels, batch.labels + rows));
    const Tensor off = out.squeeze(1) - target;
    const double delta = m.what.train.huber_delta;
    if (m.what.train.loss == loss_kind::mse)
      return off.pow(2).sum();
    return torch::where(off.abs() <= delta, off.pow(2) / 2,
                        delta * (off.abs() - delta / 2))
        .sum();
  }
  Tensor labels = torch::tensor(
      std::vector<int64_t>(batch.labels, batch.labels + rows), torch::kLong);
  if (m.what.train.loss == loss_kind::hinge) {
    const Tensor sign = (2 * labels - 1).to(torch::kDouble);
    const Tensor weights =
        parts_of_labels(m, labels, 2).gather(1, labels.unsqueeze(1));
    return (weights.squeeze(1) * (1 - sign * out.squeeze(1)).clamp_min(0))
        .sum();
  }
  Tensor logits =
      out.size(1) == 1 ? torch::cat({torch::zeros_like(out), out}, 1) : out;
  return -(torch::log_softmax(logits, 1) *
           parts_of_labels(m, labels, logits.size(1)))
              .sum();
}

/// GPT-2 with its attention as a masked softmax. `p` in the model's order.
inline Tensor transformer_loss(const model_setup& m,
                               const std::vector<Tensor>& p,
                               const batch_view& batch) {
  const int64_t length = m.row.features, width = m.what.model.width,
                heads = m.what.model.heads, each = width / heads;
  Tensor tokens =
      in_double(batch.features, {batch.rows, length}).to(torch::kLong);
  size_t next = 2;
  auto norm = [&](const Tensor& x) {
    Tensor centred = x - x.mean(-1, true);
    Tensor out = centred / (centred.pow(2).mean(-1, true) + 1e-5).sqrt();
    next += 2;
    return out * p[next - 2] + p[next - 1];
  };
  auto linear = [&](const Tensor& x) {
    next += 2;
    return x.matmul(p[next - 2].t()) + p[next - 1];
  };
  auto by_head = [&](const Tensor& x, int64_t part) {
    return x.slice(2, part * width, (part + 1) * width)
        .reshape({batch.rows, length, heads, each})
        .permute({0, 2, 1, 3});
  };
  const Tensor later =
      torch::ones({length, length}, torch::kBool).triu(/*diagonal=*/1);
  Tensor x = p[0].index({tokens}) + p[1];
  for (uint32_t layer = 0; layer < m.what.model.layers; ++layer) {
    Tensor qkv = linear(norm(x));
    Tensor weights = by_head(qkv, 0).matmul(by_head(qkv, 1).transpose(2, 3)) /
                     std::sqrt(double(each));
    weights = torch::softmax(weights.masked_fill(later, -INFINITY), -1);
    Tensor mixed = weights.matmul(by_head(qkv, 2))
                       .permute({0, 2, 1, 3})
                       .reshape({batch.rows, length, width});
    x = x + linear(mixed);
    Tensor h = linear(norm(x));
    h = 0.5 * h *
        (1 + torch::tanh(std::sqrt(2 / M_PI) * (h + 0.044715 * h.pow(3))));
    x = x + linear(h);
  }
  Tensor logits = norm(x).matmul(p[0].t()).slice(1, 0, length - 1);
  Tensor loss = -torch::log_softmax(logits, 2) *
                parts_of_labels(m, tokens.slice(1, 1, length), logits.size(2));
  return loss.sum() / double(length - 1);
}

inline Tensor reference_loss(const model_setup& m, const std::vector<Tensor>& p,
                             const batch_view& batch) {
  if (m.what.model.kind == model_kind::transformer)
    return transformer_loss(m, p, batch);
  return loss_of_outputs(m, outputs_of(m, p, batch, true), batch);
}

} // namespace ballast::gpu
