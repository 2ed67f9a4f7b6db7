#include "gpu/evaluation_totals.hpp"

#include "gpu/reduction/reduction.hpp"
#include "runtime/job/asked_metrics.hpp"
#include "runtime/metrics/metric_values.hpp"

#include <algorithm>

namespace ballast::gpu {

namespace {

/// Of the test part's chunks: the sums of each travel.
constexpr size_t groups_max = 4096;

} // namespace

std::shared_ptr<const metrics::layout>
evaluation_layout(const job& what, const ledger::manifest& set) {
  return std::make_shared<const metrics::layout>(
      metrics::lay_out(task_of(what.train.loss), set.row.classes,
                       asked_metrics(what), set.test_rows));
}

evaluation_totals::evaluation_totals(
    const std::shared_ptr<const metrics::layout>& layout,
    const ledger::manifest& set)
    : layout_(layout), chunks_(set.test.size()),
      groups_(std::min(chunks_, groups_max)), tally_(layout) {
  for (const ledger::chunk_info& one : set.test) {
    first_rows_.push_back(rows_);
    rows_ += one.rows;
  }
  values_.resize(groups_ * stride() + layout_->counts +
                 rows_ * layout_->ranked);
}

bool evaluation_totals::is_mine(size_t chunk,
                                const collectives::collective& ranks) const {
  return group_of(chunk) % size_t(ranks.size()) == size_t(ranks.rank());
}

void evaluation_totals::add(size_t chunk, uint32_t begin,
                            const evaluation_sums& found) {
  double* to = group(group_of(chunk));
  to[0] += found.loss;
  to[1] += found.correct;
  to[2] += found.rows;
  to[3] += found.weight;
  const metrics::ordered_part part = tally_.take_part();
  metrics::merge_reals(*layout_, {to + model_sums, layout_->reals}, part.reals);
  std::copy(part.ranked.begin(), part.ranked.end(),
            values_.begin() +
                ptrdiff_t(groups_ * stride() + layout_->counts +
                          (first_rows_[chunk] + begin) * layout_->ranked));
}

evaluation_report evaluation_totals::sum(collectives::collective& ranks) {
  double* const counts = group(groups_);
  std::copy(tally_.counts().begin(), tally_.counts().end(), counts);
  ranks.all_reduce(values_.data(), values_.size(),
                   collectives::element_type::float64, patience());
  evaluation_sums all;
  metrics::totals of;
  of.reals.resize(layout_->reals);
  for (size_t i = 0; i < groups_; ++i) {
    const double* one = group(i);
    all += {one[0], one[1], one[2], one[3]};
    metrics::merge_reals(*layout_, of.reals,
                         {one + model_sums, layout_->reals});
  }
  of.counts.assign(counts, counts + layout_->counts);
  const std::span<const double> ranked(counts + layout_->counts,
                                       values_.data() + values_.size());
  if (layout_->columns > 0)
    of.columns = rank_columns(ranked, ranks);
  else
    of.ranked.assign(ranked.begin(), ranked.end());
  evaluation_report out;
  out.loss = of.loss = all.loss / all.weight;
  out.accuracy = of.accuracy = all.correct / all.rows;
  out.rows = uint64_t(all.rows);
  out.values = metrics::values_of(*layout_, of);
  return out;
}

std::vector<metrics::class_ranking>
evaluation_totals::rank_columns(std::span<const double> ranked,
                                collectives::collective& ranks) const {
  if (layout_->ranked == 0)
    return {}; // of histograms, which takes no time
  std::vector<metrics::class_ranking> out(layout_->columns);
  constexpr size_t numbers = 4;
  std::vector<double> found(out.size() * numbers);
  for (auto c = size_t(ranks.rank()); c < out.size();
       c += size_t(ranks.size())) {
    const auto one = metrics::ranked_column(*layout_, ranked, c);
    const double told[numbers] = {double(one.own), double(one.others),
                                  one.roc_auc.value,
                                  one.average_precision.value};
    std::copy(std::begin(told), std::end(told), &found[c * numbers]);
  }
  // A sum with zeros: the bits of the one that ranked it.
  ranks.all_reduce(found.data(), found.size(),
                   collectives::element_type::float64, patience());
  for (size_t c = 0; c < out.size(); ++c) {
    const double* one = &found[c * numbers];
    out[c] = {uint64_t(one[0]), uint64_t(one[1]), {one[2], 0}, {one[3], 0}};
  }
  return out;
}

} // namespace ballast::gpu
