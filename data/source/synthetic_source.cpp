/// Synthetic rows: for classes, a seeded mean for each class plus noise; for
/// regression, a seeded linear function of the row plus noise; for tokens, a
/// seeded favourite successor for each. Row r is a pure function of (seed,
/// train or test, r), so a smaller set is a prefix of a larger one.
#include "data/source/normal_numbers.hpp"
#include "data/source/source_table.hpp"
#include "runtime/base/random.hpp"
#include "store/work_watch.hpp"

#include <cstring>
#include <memory>

namespace ballast::data {

namespace {

constexpr uint64_t stream_means = 0x73796e74680001;
constexpr uint64_t stream_train = 0x73796e74680002;
constexpr uint64_t stream_test = 0x73796e74680003;
constexpr uint64_t stream_successors = 0x73796e74680004;
constexpr float noise_of_target = 0.1f;
constexpr size_t rows_at_once = 1024;
/// Probability that any token follows instead of the favourite.
constexpr double noise_of_tokens = 0.25;

/// Of classes, or of a regression.
class normal_rows {
public:
  normal_rows(const source_spec& spec, const source_request& request)
      : seed_(request.seed), stream_(request.test ? stream_test : stream_train),
        width_(spec.width),
        groups_(request.label == label_kind::target ? 1 : spec.classes),
        regression_(request.label == label_kind::target),
        means_(groups_ * width_) {
    normal_numbers(seed_, {&stream_means, 1}, means_.size(), means_);
  }

  /// The values of these rows, one after another.
  void make(std::span<const uint64_t> rows, std::span<float> out) const {
    normal_numbers(seed_, streams_of(rows), width_, out);
    if (regression_)
      return;
    for (size_t i = 0; i < rows.size(); ++i) {
      const float* mean = means_.data() + label(rows[i]) * width_;
      float* values = out.data() + i * width_;
      for (size_t j = 0; j < width_; ++j)
        values[j] += mean[j];
    }
  }

  size_t label(uint64_t row) const { return row % groups_; }

  /// Of a regression; the number after the last feature is its noise.
  std::vector<float> targets(std::span<const uint64_t> rows) const {
    const size_t each = width_ + 1;
    std::vector<float> values(rows.size() * each);
    normal_numbers(seed_, streams_of(rows), each, values);
    std::vector<float> out;
    for (const float* row = values.data(); out.size() < rows.size();
         row += each) {
      double target = noise_of_target * row[width_];
      for (size_t j = 0; j < width_; ++j)
        target += double(means_[j]) * row[j];
      out.push_back(float(target));
    }
    return out;
  }

private:
  std::vector<uint64_t> streams_of(std::span<const uint64_t> rows) const {
    std::vector<uint64_t> out;
    out.reserve(rows.size());
    for (uint64_t row : rows)
      out.push_back(mix(stream_, row));
    return out;
  }

  uint64_t seed_;
  uint64_t stream_;
  size_t width_;
  size_t groups_;
  bool regression_;
  std::vector<float> means_;
};

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
  const auto rows = std::make_shared<const normal_rows>(spec, request);
  std::vector<uint64_t> some;
  for (uint64_t row = 0; row < spec.rows; ++row) {
    if (!regression) {
      out.labels.push_back(int32_t(rows->label(row)));
      continue;
    }
    some.push_back(row);
    if (some.size() < rows_at_once && row + 1 < spec.rows)
      continue;
    check_stop(request.stop);
    const std::vector<float> targets = rows->targets(some);
    out.targets.insert(out.targets.end(), targets.begin(), targets.end());
    some.clear();
  }
  out.made = [rows](std::span<const uint64_t> wanted, std::span<float> to) {
    rows->make(wanted, to);
  };
  return out;
}

} // namespace ballast::data
