/// What the outputs of a model say of each row: the probability of each class,
/// or of a regression the value. Plain C++; pure.
#pragma once

#include "gpu/torch/objective.hpp"

#include <span>

namespace ballast::gpu {

/// `outputs`: rows x goal.columns(); `answers`: rows x answer_columns(). The
/// softmax of the outputs; of the log-odds z of class 1 the two probabilities
/// 1 / (1 + e^z) and 1 / (1 + e^-z), each computed by itself: a small one is
/// not what is left of 1. Sums in double.
void answers_of(const objective& goal, std::span<const float> outputs,
                std::span<float> answers);

} // namespace ballast::gpu
