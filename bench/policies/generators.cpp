#include "bench/policies/generators.hpp"

#include "runtime/base/random.hpp"
#include "runtime/placement/placement.hpp"

#include <cmath>
#include <numeric>

namespace ballast::policies {
namespace {

enum stream : uint64_t { frequencies = 1, file_order, shares };

std::vector<int32_t> labels_in(generator::order order, uint32_t classes,
                               uint64_t rows, uint64_t seed) {
  counter_random random(seed, frequencies);
  std::vector<double> weights;
  for (uint32_t label = 0; label < classes; ++label)
    weights.push_back(0.5 + random.unit(label));
  std::vector<uint64_t> of_class = placement::split_by_shares(rows, weights);
  std::vector<int32_t> out;
  for (uint64_t file = 0; file < 2; ++file)
    for (uint32_t label = 0; label < classes; ++label) {
      uint64_t first = of_class[label] / 2;
      bool split = order == generator::order::two_sorted_files;
      uint64_t here = !split      ? (file == 0 ? of_class[label] : 0)
                      : file == 0 ? first
                                  : of_class[label] - first;
      out.insert(out.end(), here, int32_t(label));
    }
  if (order == generator::order::shuffled)
    shuffle(out, counter_random(seed, file_order));
  return out;
}

} // namespace

const std::vector<generator>& generators() {
  using order = generator::order;
  using kind = placement_kind;
  static const std::vector<generator> all{
      {"iid, unequal sizes", kind::sizes, 0, order::shuffled, true},
      {"iid, unequal speeds", kind::iid, 0, order::shuffled, false, true},
      {"sorted", kind::sorted},
      {"sorted, unequal sizes", kind::sizes, 0, order::sorted, true},
      {"sorted, unequal speeds", kind::sorted, 0, order::shuffled, false, true},
      {"two sorted files", kind::contiguous, 0, order::two_sorted_files},
      {"dirichlet 0.1", kind::dirichlet, 0.1},
      {"dirichlet 0.3", kind::dirichlet, 0.3},
      {"dirichlet 1", kind::dirichlet, 1},
      {"inner dirichlet 0.1", kind::inner_dirichlet, 0.1},
      {"two shards each", kind::shards},
      {"three classes each", kind::classes},
      {"lognormal sizes", kind::lognormal, 0, order::shuffled},
      {"linear sizes", kind::linear, 0, order::shuffled},
  };
  return all;
}

instance generate(const generator& how, uint32_t workers, uint32_t classes,
                  uint64_t rows, uint64_t seed) {
  instance out;
  out.labels = labels_in(how.file, classes, rows, seed);
  placement_spec spec;
  spec.kind = how.kind;
  spec.alpha = how.alpha;
  spec.sigma = 1;
  spec.classes_per_worker = 3; // four workers must hold ten classes
  if (how.unequal_shares)
    for (uint32_t worker = 0; worker < workers; ++worker)
      spec.shares.push_back(
          std::exp(normal(counter_random(seed, shares), worker)));
  out.rows =
      placement::place_rows(spec, {rows, out.labels, classes}, workers, seed);
  out.held = balance::label_counts(workers, classes);
  for (uint32_t worker = 0; worker < workers; ++worker)
    for (uint64_t row : out.rows[worker])
      ++out.held.at(worker, size_t(out.labels[row]));
  for (uint32_t worker = 0; worker < workers; ++worker)
    out.parts.push_back(how.unequal_speeds && worker % 2 == 1 ? 2 : 1);
  double sum = std::accumulate(out.parts.begin(), out.parts.end(), 0.0);
  for (double& part : out.parts)
    part /= sum;
  return out;
}

} // namespace ballast::policies
