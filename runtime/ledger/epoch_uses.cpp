#include "runtime/ledger/epoch_uses.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/random.hpp"
#include "runtime/ledger/permutation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

namespace ballast::ledger {

namespace {

uint64_t uses_stream(epoch_number epoch, chunk_id chunk) {
  return mix(mix(uint64_t(stream_purpose::chunk_uses), value(epoch)),
             value(chunk));
}

double weight_of(const std::vector<weight_run>& runs) {
  double out = 0;
  for (const weight_run& run : runs)
    out += run.rows * run.weight;
  return out;
}

std::vector<double> weights_of_chunks(const manifest& set) {
  std::vector<double> out;
  out.reserve(set.train.size());
  for (const chunk_info& one : set.train)
    out.push_back(weight_of(one.weights));
  return out;
}

/// The length of an epoch, before it is known that there are weights.
uint64_t uses_in_epoch(const sampling_spec& how, const manifest& set,
                       const std::vector<double>& weights) {
  if (how.counts_uses())
    return uint64_t(
        std::llround(std::accumulate(weights.begin(), weights.end(), 0.0)));
  return how.rows.value_or(set.train_rows);
}

std::vector<uint64_t> uses_of_chunks(const sampling_spec& how, uint64_t seed,
                                     const manifest& set) {
  const std::vector<double> weights = weights_of_chunks(set);
  const counter_random random(seed, uint64_t(stream_purpose::chunk_uses));
  return systematic_counts(weights, uses_in_epoch(how, set, weights),
                           random.unit(0));
}

failure no_uses(const std::string& why) {
  return {errc::invalid_data, "/train/sampling: " + why, "/train/sampling"};
}

std::string in_digits(double number) {
  char out[32];
  std::snprintf(out, sizeof out, "%.6g", number);
  return out;
}

/// For a message: " (column "w" of a.csv)".
std::string weights_come_from(const sampling_spec& how, const manifest& set) {
  std::string out;
  if (!how.column.empty())
    out = "column \"" + printable(how.column) + "\"";
  for (size_t i = 0; i < std::min<size_t>(set.sources.size(), 1); ++i)
    out += (out.empty() ? "" : " of ") + printable(set.sources[i]) +
           (set.sources.size() > 1 ? " and others" : "");
  return out.empty() ? out : " (" + out + ")";
}

} // namespace

std::vector<uint64_t> systematic_counts(const std::vector<double>& weights,
                                        uint64_t uses, double fraction) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  BALLAST_CHECK(total > 0, "systematic counts need a weight above 0");
  std::vector<uint64_t> out;
  out.reserve(weights.size());
  double sum = 0; // in the order of the total, so that both end alike
  uint64_t before = 0;
  for (double weight : weights) {
    sum += weight;
    const auto now = std::min(
        uses, uint64_t(std::floor(double(uses) * (sum / total) + fraction)));
    out.push_back(now - before);
    before = now;
  }
  return out;
}

row_layout order_for(sampling_kind what) {
  switch (what) {
  case sampling_kind::once:
    return row_layout::any;
  case sampling_kind::curriculum:
    return row_layout::by_score;
  case sampling_kind::class_balanced:
  case sampling_kind::weighted:
  case sampling_kind::sources:
  case sampling_kind::stratified:
    break;
  }
  return row_layout::by_class;
}

double curriculum_share(const sampling_spec& how, uint64_t epochs,
                        epoch_number epoch) {
  const uint64_t full = how.full.value_or(epochs);
  if (value(epoch) >= full)
    return 1;
  const double along = double(value(epoch) - 1) / double(full - 1);
  if (how.pace == curriculum_pace::root) // arXiv 1903.09848
    return std::sqrt(how.begin * how.begin +
                     (1 - how.begin * how.begin) * along);
  return how.begin + (1 - how.begin) * along;
}

failure epoch_uses::mistake(const sampling_spec& how, const manifest& set) {
  if (how.kind == sampling_kind::once) // rows in any order
    return {};
  if (set.order != order_for(how.kind))
    return no_uses(
        "the set was prepared without it, so its rows lie in another "
        "order; prepare it with the same `train.sampling`");
  if (how.kind == sampling_kind::stratified)
    for (const chunk_info& one : set.train)
      if (std::accumulate(one.label_histogram.begin(),
                          one.label_histogram.end(), uint64_t{0}) != one.rows)
        return no_uses("chunk " + to_string(one.id) +
                       " does not say how many rows of each class it has; "
                       "prepare the set anew");
  if (!how.is_weighted())
    return {};
  for (const chunk_info& one : set.train)
    if (one.weights.empty() && one.rows > 0)
      return no_uses("chunk " + to_string(one.id) +
                     " does not say what its rows weigh; prepare the set anew");
  const std::vector<double> weights = weights_of_chunks(set);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(total > 0) || !std::isfinite(total))
    return no_uses("the weights of all rows" + weights_come_from(how, set) +
                   " add up to " + in_digits(total) +
                   "; expected a finite sum above 0");
  const double uses = double(uses_in_epoch(how, set, weights));
  if (uses < 1)
    return no_uses("an epoch would use no row; expected at least one use");
  for (size_t i = 0; i < weights.size(); ++i)
    if (uses * (weights[i] / total) >= double(UINT32_MAX))
      return no_uses("the rows of chunk " + std::to_string(i) +
                     " would be used more than " + std::to_string(UINT32_MAX) +
                     " times in an epoch; expected fewer uses (\"rows\"), "
                     "or chunks of fewer rows (/data/chunk_rows)");
  return {};
}

std::shared_ptr<const epoch_uses> epoch_uses::of(const sampling_spec& how,
                                                 uint64_t epochs, uint64_t seed,
                                                 const manifest& set) {
  if (how.kind == sampling_kind::once)
    return nullptr;
  return std::shared_ptr<const epoch_uses>(
      new epoch_uses(how, epochs, seed, set));
}

epoch_uses::epoch_uses(const sampling_spec& how, uint64_t epochs, uint64_t seed,
                       const manifest& set)
    : how_(how), epochs_(epochs), seed_(seed) {
  std::vector<uint32_t> uses;
  if (how.is_weighted())
    for (uint64_t one : uses_of_chunks(how, seed, set))
      uses.push_back(uint32_t(one));
  for (const chunk_info& one : set.train) {
    chunk_rows& own = chunks_.emplace_back();
    own.rows = one.rows;
    if (how.is_weighted())
      own.runs = one.weights;
    else
      uses.push_back(one.rows);
    if (how.kind == sampling_kind::stratified)
      for (uint64_t rows : one.label_histogram)
        if (rows > 0)
          own.runs.push_back({uint32_t(rows), 1});
  }
  of_chunks_ = shared_list<uint32_t>(std::move(uses));
}

shared_list<uint32_t> counted_rows(const manifest& set,
                                   const epoch_uses* uses) {
  if (uses)
    return uses->of_chunks();
  std::vector<uint32_t> out;
  out.reserve(set.train.size());
  for (const chunk_info& one : set.train)
    out.push_back(one.rows);
  return out;
}

uint64_t epoch_uses::in_epoch() const {
  return std::accumulate(of_chunks_.begin(), of_chunks_.end(), uint64_t{0});
}

std::vector<uint32_t> epoch_uses::order(epoch_number epoch,
                                        chunk_id chunk) const {
  if (how_.kind == sampling_kind::stratified)
    return stratified(epoch, chunk);
  if (how_.kind == sampling_kind::curriculum)
    return eased(epoch, chunk);
  return weighted(epoch, chunk);
}

/// `uses` in the order in which the epoch takes them.
std::vector<uint32_t> epoch_uses::dealt(std::vector<uint32_t> uses,
                                        epoch_number epoch,
                                        chunk_id chunk) const {
  std::vector<uint32_t> out =
      epoch_permutation(seed_, epoch, chunk, uint32_t(uses.size()));
  for (uint32_t& one : out)
    one = uses[one];
  return out;
}

std::vector<uint32_t> epoch_uses::weighted(epoch_number epoch,
                                           chunk_id chunk) const {
  const chunk_rows& own = chunks_[value(chunk)];
  const uint32_t uses = of_chunks_[value(chunk)];
  if (uses == 0)
    return {};
  const uint64_t stream = uses_stream(epoch, chunk);
  // In a random order: neighbours would be used by turns.
  const std::vector<uint32_t> rows =
      random_permutation(seed_, stream, own.rows);
  std::vector<double> of_row;
  of_row.reserve(own.rows);
  for (const weight_run& run : own.runs)
    of_row.insert(of_row.end(), run.rows, run.weight);
  std::vector<double> weights;
  weights.reserve(own.rows);
  for (uint32_t row : rows)
    weights.push_back(of_row[row]);
  const double fraction = counter_random(seed_, mix(stream, own.rows)).unit(0);
  const std::vector<uint64_t> times =
      systematic_counts(weights, uses, fraction);
  std::vector<uint32_t> out;
  out.reserve(uses);
  for (size_t i = 0; i < rows.size(); ++i)
    out.insert(out.end(), times[i], rows[i]);
  return dealt(std::move(out), epoch, chunk);
}

/// Row k of the n of a class lies at (k + a) / n of the order, where a in
/// [0, 1) is one number for each class.
std::vector<uint32_t> epoch_uses::stratified(epoch_number epoch,
                                             chunk_id chunk) const {
  const chunk_rows& own = chunks_[value(chunk)];
  const uint64_t stream = uses_stream(epoch, chunk);
  std::vector<std::pair<double, uint32_t>> placed;
  placed.reserve(own.rows);
  uint32_t first = 0;
  for (size_t label = 0; label < own.runs.size(); ++label) {
    const uint32_t count = own.runs[label].rows;
    const uint64_t of_class = mix(stream, label);
    const double ahead = counter_random(seed_, mix(of_class, count)).unit(0);
    const std::vector<uint32_t> rows =
        random_permutation(seed_, of_class, count);
    for (uint32_t k = 0; k < count; ++k)
      placed.emplace_back((k + ahead) / count, first + rows[k]);
    first += count;
  }
  std::sort(placed.begin(), placed.end());
  std::vector<uint32_t> out;
  out.reserve(placed.size());
  for (const auto& [at, row] : placed)
    out.push_back(row);
  return out;
}

/// Once round the rows that are in, as often as it takes, from a random one.
std::vector<uint32_t> epoch_uses::eased(epoch_number epoch,
                                        chunk_id chunk) const {
  const uint32_t rows = chunks_[value(chunk)].rows;
  if (rows == 0)
    return {};
  const double share = curriculum_share(how_, epochs_, epoch);
  // 0.6 of 100 rows are 60, though the product is a little more.
  const auto in =
      std::clamp(uint32_t(std::ceil(share * rows - 1e-6)), 1U, rows);
  const std::vector<uint32_t> first =
      random_permutation(seed_, uses_stream(epoch, chunk), in);
  std::vector<uint32_t> out;
  out.reserve(rows);
  for (uint32_t i = 0; i < rows; ++i)
    out.push_back(first[i % in]);
  return dealt(std::move(out), epoch, chunk);
}

manifest epoch_uses::counted(const manifest& set) const {
  manifest out = set;
  out.train_rows = in_epoch();
  for (size_t c = 0; c < out.train.size(); ++c) {
    chunk_info& one = out.train[c];
    one.samples.clear();
    one.source_rows.clear();
    if (!how_.is_weighted())
      continue;
    one.rows = of_chunks_[c];
    // The rows lie class by class.
    std::vector<double> of_class(one.label_histogram.size());
    size_t run = 0;
    uint32_t taken = 0; // of the run
    for (size_t label = 0; label < of_class.size(); ++label)
      for (uint64_t left = one.label_histogram[label];
           left > 0 && run < one.weights.size();) {
        const auto part =
            std::min<uint64_t>(left, one.weights[run].rows - taken);
        of_class[label] += double(part) * one.weights[run].weight;
        left -= part;
        taken += uint32_t(part);
        if (taken == one.weights[run].rows) {
          ++run;
          taken = 0;
        }
      }
    if (one.rows == 0)
      one.label_histogram.assign(of_class.size(), 0);
    else if (weight_of(one.weights) > 0 && !of_class.empty())
      one.label_histogram = systematic_counts(of_class, one.rows, 0.5);
    one.weights.clear();
  }
  return out;
}

} // namespace ballast::ledger
