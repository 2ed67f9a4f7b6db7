#include "gpu/reduction/probe_leaf.hpp"

#include "data/base/content_hash.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace ballast::gpu {

namespace {

constexpr uint64_t probe_seed = 0x70726f6265;
/// Of a leaf that is probed, at most.
constexpr uint64_t rows_max = 256;

struct made_up_rows {
  std::vector<float> features;
  std::vector<int64_t> labels;
  std::vector<float> targets;
  std::vector<uint64_t> ids; // as many as rows
};

/// Libraries choose their products by the sizes: as many rows as the leaves of
/// the run have, of which there may be two sizes.
std::set<uint32_t> sizes_of(const train_spec& how) {
  const auto within = [](uint64_t rows) {
    return uint32_t(std::clamp<uint64_t>(rows, 1, rows_max));
  };
  const uint64_t least = how.global_batch / how.leaves;
  return {within(least), within(least + (how.global_batch % how.leaves > 0))};
}

made_up_rows made_up(uint32_t rows, const ledger::row_shape& row) {
  constexpr counter_random random(probe_seed, 0);
  made_up_rows out;
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t i = 0; i < row.features; ++i) {
      const uint64_t at = uint64_t{r} * row.features + i;
      out.features.push_back(row.vocabulary > 0
                                 ? float(random.below(row.vocabulary, at))
                                 : float(random.unit(at)));
    }
    out.labels.push_back(int64_t(row.classes > 0 ? r % row.classes : 0));
    out.targets.push_back(float(r) / float(rows));
    out.ids.push_back(r);
  }
  return out;
}

} // namespace

std::string probe_leaf(const job& what, const ledger::row_shape& row, model& of,
                       std::span<float> parameters,
                       std::span<float> gradients) {
  const bool classes = is_of_classes(what.train.loss);
  of.bind(parameters, gradients);
  data::content_hash hash;
  // They come from random numbers, which libraries make in vectors, too; a last
  // bit of one may show in no gradient.
  hash.update(parameters.data(), parameters.size_bytes());
  for (const uint32_t size : sizes_of(what.train)) {
    const made_up_rows rows = made_up(size, row);
    std::fill(gradients.begin(), gradients.end(), 0.0F);
    const batch_view batch{.features = rows.features.data(),
                           .labels = classes ? rows.labels.data() : nullptr,
                           .targets = classes ? nullptr : rows.targets.data(),
                           .sample_ids = rows.ids.data(),
                           .rows = uint32_t(rows.ids.size())};
    const double loss = of.accumulate(batch, probe_seed, nullptr);
    std::vector<float> statistics(of.statistics_count());
    of.take_statistics(statistics);
    hash.update(&loss, sizeof loss);
    hash.update(gradients.data(), gradients.size_bytes());
    hash.update(statistics.data(), statistics.size() * sizeof(float));
  }
  std::fill(gradients.begin(), gradients.end(), 0.0F);
  return data::hex16(hash.digest());
}

} // namespace ballast::gpu
