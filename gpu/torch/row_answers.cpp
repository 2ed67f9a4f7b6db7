#include "gpu/torch/row_answers.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::gpu {

namespace {

/// 1 / (1 + e^-z), without overflow.
double sigmoid(double z) {
  return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
}

void softmax(std::span<const float> outputs, float* out) {
  const float largest = *std::ranges::max_element(outputs);
  double sum = 0;
  for (size_t c = 0; c < outputs.size(); ++c) {
    out[c] = std::exp(outputs[c] - largest);
    sum += double(out[c]);
  }
  for (size_t c = 0; c < outputs.size(); ++c)
    out[c] = float(double(out[c]) / sum);
}

} // namespace

void answers_of(const objective& goal, std::span<const float> outputs,
                std::span<float> answers) {
  switch (goal.what()) {
  case objective::kind::squared:
  case objective::kind::huber:
  case objective::kind::hinge:
    std::ranges::copy(outputs, answers.begin());
    return;
  case objective::kind::sigmoid:
    for (size_t row = 0; row < outputs.size(); ++row) {
      answers[2 * row] = float(sigmoid(-double(outputs[row])));
      answers[2 * row + 1] = float(sigmoid(double(outputs[row])));
    }
    return;
  case objective::kind::softmax:
    break;
  }
  const size_t columns = goal.columns();
  for (size_t at = 0; at + columns <= outputs.size(); at += columns)
    softmax(outputs.subspan(at, columns), answers.data() + at);
}

} // namespace ballast::gpu
