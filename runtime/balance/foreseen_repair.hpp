/// The repair of a plan for the loss of one of its workers, made before that
/// happens, because a run stands still meanwhile. It is the one that would be
/// made then, under a number and a generation that are not known yet. Pure.
#pragma once

#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/place_shares.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/messages.hpp"

#include <cstddef>
#include <vector>

namespace ballast::balance {

struct foreseen_repair {
  plan_number base{}; // of the plan before, and its generation
  generation of{};
  std::vector<worker_id> workers; // all but the lost one, in their order
  ledger::plan made;              // within no limits
  std::vector<share_summary> shares;
};

/// The loss of the worker of this rank.
foreseen_repair foresee(const ledger::manifest& set, const chunk_labels& labels,
                        double skew_tv, const ledger::plan& before,
                        size_t lost_rank);

/// It is what is asked for, apart from limits.
bool answers(const foreseen_repair& known, const place_shares& what);

/// Precondition: it answers that.
ledger::plan renumbered(const foreseen_repair& known, const place_shares& what);

/// Whether the repairs for all workers may be kept: each has intervals of its
/// own.
bool may_foresee(const ledger::plan& before);

} // namespace ballast::balance
