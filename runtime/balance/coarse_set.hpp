/// A plan of very many intervals as one of few: consecutive intervals of an
/// owner count as one chunk, with the sum of their rows, bytes and labels. A
/// search over it takes as long for a million chunks as for a few thousand; its
/// moves are read back as moves of the intervals. Neighbours have like labels
/// where these matter (a sorted set, a set in files by origin), so little is
/// lost. Pure.
#pragma once

#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/shard_moves.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::balance {

class coarse_set {
public:
  /// At most about `groups` groups, at least a few dozen for each owner; of the
  /// first `keepers` ranks, which give nothing, one each. Reads everything;
  /// keeps nothing of it.
  coarse_set(const ledger::manifest& set, const chunk_labels& labels,
             const ledger::plan& of, size_t groups, size_t keepers = 0);

  /// Rows and bytes of each group, no samples and no histograms (labels()).
  const ledger::manifest& set() const { return set_; }
  const chunk_labels& labels() const { return labels_; }
  /// The same ranks as the plan.
  const ledger::plan& current() const { return current_; }

  /// Moves of groups, or parts of them, as moves of what is in them, in the
  /// order of the groups. Precondition: none is of a keeper.
  std::vector<shard_move> of_intervals(const std::vector<shard_move>& moves,
                                       const ledger::manifest& set) const;

private:
  void close_group(uint32_t rank, std::vector<double>& sums);

  ledger::manifest set_;
  chunk_labels labels_;
  ledger::plan current_;
  std::vector<ledger::interval> members_; // by group
  std::vector<size_t> begins_;            // of a group in members_, and the end
  ledger::chunk_info open_;               // the group that is being filled
};

} // namespace ballast::balance
