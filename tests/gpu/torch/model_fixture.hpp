/// A model of any kind with its arenas and a random batch, for the tests that
/// compare with LibTorch's autograd.
#pragma once

#include "gpu/model.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace ballast::gpu {

struct random_rows {
  std::vector<float> features;
  std::vector<int64_t> labels;
  std::vector<float> targets;
  std::vector<uint64_t> ids;
  uint32_t rows = 0;
  uint32_t width = 0;

  random_rows(const ledger::row_shape& row, uint32_t count, uint64_t seed = 1)
      : rows(count), width(row.features) {
    const counter_random random(seed, 0);
    uint64_t draw = 0;
    for (size_t i = 0; i < size_t(rows) * width; ++i)
      features.push_back(row.vocabulary > 0
                             ? float(random.below(row.vocabulary, draw++))
                             : float(2 * random.unit(draw++) - 1));
    for (uint32_t i = 0; i < rows; ++i) {
      if (row.classes > 0)
        labels.push_back(int64_t(random.below(row.classes, draw++)));
      else
        targets.push_back(float(4 * random.unit(draw++) - 2));
    }
    ids.resize(rows);
    std::iota(ids.begin(), ids.end(), 1000);
  }

  batch_view view(uint32_t begin, uint32_t count) const {
    return {.features = features.data() + size_t(begin) * width,
            .labels = labels.empty() ? nullptr : labels.data() + begin,
            .targets = targets.empty() ? nullptr : targets.data() + begin,
            .sample_ids = ids.data() + begin,
            .rows = count};
  }
  batch_view view() const { return view(0, rows); }
};

struct model_setup {
  job what;
  ledger::row_shape row;
  std::unique_ptr<model> made;
  std::vector<float> parameters;
  std::vector<float> gradients;

  model_setup(const job& j, const ledger::row_shape& shape,
              uint32_t threads = 1)
      : what(j), row(shape), made(make_model({&what, row, threads})),
        parameters(made->parameter_count()),
        gradients(made->parameter_count()) {
    made->initialize(parameters);
    made->bind(parameters, gradients);
  }

  double accumulate(const batch_view& batch, uint64_t step_seed = 1) {
    return made->accumulate(batch, step_seed, {});
  }
  void clear() { std::fill(gradients.begin(), gradients.end(), 0.0F); }
  size_t index_of(const std::string& name) const {
    const auto& all = made->parameters();
    return size_t(std::find_if(all.begin(), all.end(),
                               [&](const auto& p) { return p.name == name; }) -
                  all.begin());
  }
};

inline job job_of(model_kind kind, loss_kind loss = loss_kind::cross_entropy) {
  job out;
  out.seed = 7;
  out.model.kind = kind;
  out.model.hidden = {9, 5};
  out.model.channels = {16, 3};
  out.model.layers = 2;
  out.model.width = 12;
  out.model.heads = 3;
  out.train.loss = loss;
  return out;
}

inline ledger::row_shape image(const std::vector<uint32_t>& shape,
                               uint32_t classes) {
  ledger::row_shape out;
  out.features = 1;
  for (uint32_t s : shape)
    out.features *= s;
  out.shape = shape;
  out.classes = classes;
  return out;
}

inline ledger::row_shape flat(uint32_t features, uint32_t classes) {
  return image({features}, classes);
}

inline ledger::row_shape tokens(uint32_t length, uint32_t vocabulary) {
  ledger::row_shape out = flat(length, 1);
  out.vocabulary = vocabulary;
  return out;
}

} // namespace ballast::gpu
