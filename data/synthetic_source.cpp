/// Synthetic rows: for classes, a seeded mean for each class plus noise; for
/// regression, a seeded linear function of the row plus noise; for tokens, a
/// seeded favourite successor for each. Row r is a pure function of (seed,
/// train or test, r), so a smaller set is a prefix of a larger one.
#include "data/source_table.hpp"
#include "runtime/base/random.hpp"
#include "store/work_watch.hpp"

#include <cmath>
#include <cstring>

namespace ballast::data {

namespace {

constexpr uint64_t stream_means = 0x73796e74680001;
constexpr uint64_t stream_train = 0x73796e74680002;
constexpr uint64_t stream_test = 0x73796e74680003;
constexpr uint64_t stream_successors = 0x73796e74680004;
constexpr float noise_of_target = 0.1f;
/// Probability that any token follows instead of the favourite.
constexpr double noise_of_tokens = 0.25;

/// Normal number 2k and 2k + 1 of a stream (Box and Muller).
struct normal_pair {
  float first;
  float second;
  normal_pair(const counter_random& random, uint64_t k) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit(2 * k)));
    const double angle = 2 * M_PI * random.unit(2 * k + 1);
    first = float(radius * std::cos(angle));
    second = float(radius * std::sin(angle));
  }
};

std::vector<float> normals(const counter_random& random, size_t count) {
  std::vector<float> out(count + 1);
  for (size_t i = 0; i < count; i += 2) {
    const normal_pair pair(random, i / 2);
    out[i] = pair.first;
    out[i + 1] = pair.second;
  }
  out.resize(count);
  return out;
}

/// The loss of a perfect model is the entropy of a successor: with V tokens and
/// p = 0.75 + 0.25 / V, -p ln p - (1 - p) ln((1 - p) / (V - 1)).
source_table make_tokens(const source_spec& spec,
                         const source_request& request) {
  source_table out;
  out.rows = spec.rows;
  out.row.features = spec.width;
  out.row.shape = {spec.width};
  out.row.stored = ledger::stored_type::float32;
  out.row.classes = 1;
  out.row.vocabulary = spec.classes;
  out.labels.assign(spec.rows, 0);
  out.features.resize(spec.rows * spec.width * sizeof(float));
  const counter_random successors(request.seed, stream_successors);
  const uint64_t stream = request.test ? stream_test : stream_train;
  std::vector<float> tokens(spec.width);
  for (uint64_t row = 0; row < spec.rows; ++row) {
    check_stop(request.stop);
    const counter_random random(request.seed, mix(stream, row));
    uint64_t token = 0;
    for (uint64_t at = 0; at < spec.width; ++at) {
      const bool any = at == 0 || random.unit(2 * at) < noise_of_tokens;
      token = any ? random.below(spec.classes, 2 * at + 1)
                  : successors.below(spec.classes, token);
      tokens[at] = float(token);
    }
    std::memcpy(out.features.data() + row * spec.width * sizeof(float),
                tokens.data(), spec.width * sizeof(float));
  }
  narrow(out);
  return out;
}

} // namespace

source_table make_synthetic(const source_spec& spec,
                            const source_request& request) {
  if (request.label == label_kind::none)
    return make_tokens(spec, request);
  const bool regression = request.label == label_kind::target;
  source_table out;
  out.rows = spec.rows;
  out.label = "label";
  out.row.features = spec.width;
  out.row.shape = {spec.width};
  out.row.stored = ledger::stored_type::float32;
  out.row.classes = regression ? 0 : spec.classes;
  const size_t groups = regression ? 1 : spec.classes;
  const std::vector<float> means =
      normals(counter_random(request.seed, stream_means), groups * spec.width);
  out.features.resize(spec.rows * spec.width * sizeof(float));
  const uint64_t stream = request.test ? stream_test : stream_train;
  for (uint64_t row = 0; row < spec.rows; ++row) {
    check_stop(request.stop);
    // One more than the features: the noise of a target.
    std::vector<float> values =
        normals(counter_random(request.seed, mix(stream, row)), spec.width + 1);
    if (regression) {
      double target = noise_of_target * values[spec.width];
      for (size_t j = 0; j < spec.width; ++j)
        target += double(means[j]) * values[j];
      out.targets.push_back(float(target));
    } else {
      const size_t label = row % spec.classes;
      for (size_t j = 0; j < spec.width; ++j)
        values[j] += means[label * spec.width + j];
      out.labels.push_back(int32_t(label));
    }
    std::memcpy(out.features.data() + row * spec.width * sizeof(float),
                values.data(), spec.width * sizeof(float));
  }
  return out;
}

} // namespace ballast::data
