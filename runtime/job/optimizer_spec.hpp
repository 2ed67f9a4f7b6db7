/// `train.optimizer` and `train.schedule` of a job. Plain data.
#pragma once

#include "runtime/job/job_words.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace ballast {

struct optimizer_spec {
  optimizer_kind kind = optimizer_kind::sgd;
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  /// Factors of the learning rate of some parameters, numbers as text, by
  /// pattern of their names.
  std::map<std::string, std::string> lr_of = {};
};

struct schedule_spec {
  schedule_kind kind = schedule_kind::constant;
  uint64_t warmup_steps = 0;
  uint64_t every_steps = 0; // step
  double gamma = 0.1;       // step
  double final_ratio = 0;   // cosine, linear: last lr / lr
};

} // namespace ballast
