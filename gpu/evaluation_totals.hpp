/// What all ranks find in the test part, added up so that the result has the
/// same bits for every number of ranks: the part is cut into groups of chunks,
/// one rank evaluates a group, each group's sums travel by themselves, and
/// every rank merges them in the order of the groups.
///
/// One evaluation of one rank. Used by the step thread.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/model.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/messages/reports.hpp"
#include "runtime/metrics/ranking.hpp"
#include "runtime/metrics/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ballast::gpu {

/// What an evaluation of this job adds up.
std::shared_ptr<const metrics::layout>
evaluation_layout(const job& what, const ledger::manifest& set);

class evaluation_totals {
public:
  evaluation_totals(const std::shared_ptr<const metrics::layout>& layout,
                    const ledger::manifest& set);

  /// Of the chunk with this index in the manifest.
  bool is_mine(size_t chunk, const collectives::collective& ranks) const;
  /// For the batches of the rows; null: no metric needs them.
  metrics::tally* tally() { return tally_.empty() ? nullptr : &tally_; }
  /// Rows of that chunk from row `begin` on, which the tally was told.
  void add(size_t chunk, uint32_t begin, const evaluation_sums& found);
  /// All ranks: exchanges, and computes loss, accuracy, rows and metrics.
  evaluation_report sum(collectives::collective& ranks);

private:
  /// Of a group: sums of the model, then the reals of the metrics.
  static constexpr size_t model_sums = 4;
  size_t group_of(size_t chunk) const { return chunk * groups_ / chunks_; }
  size_t stride() const { return model_sums + layout_->reals; }
  /// Each rank ranks some of the columns.
  std::vector<metrics::class_ranking>
  rank_columns(std::span<const double> ranked,
               collectives::collective& ranks) const;
  double* group(size_t number) { return values_.data() + number * stride(); }

  std::shared_ptr<const metrics::layout> layout_;
  size_t chunks_;
  size_t groups_;
  std::vector<uint64_t> first_rows_; // by chunk
  uint64_t rows_ = 0;
  metrics::tally tally_;
  /// What travels: the groups, the counts, and what is ranked, in the order of
  /// the rows. Zero where it is another rank's.
  std::vector<double> values_;
};

} // namespace ballast::gpu
