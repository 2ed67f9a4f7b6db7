/// Coverage: at least two workers hold every class, so that the loss of one of
/// them takes no class out of training until its rows are loaded elsewhere. A
/// class of a single row, and a run of one worker, need only one holder.
/// Workers that own nothing do not count, because a worker without a size in
/// the plan gets nothing. A part of a chunk makes its owner a holder, because
/// the owner has the bytes of the whole chunk. Pure.
#pragma once

#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/quota.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <vector>

namespace ballast::balance {

/// A class with a single holder, although other workers could hold some of it.
struct lone_class {
  uint32_t label = 0;
  uint32_t rank = 0; // of the holder
  friend bool operator==(const lone_class&, const lone_class&) = default;
};

/// By class, ascending.
std::vector<lone_class> lone_classes(const ledger::manifest& set,
                                     const ledger::plan& of);
std::vector<lone_class> lone_classes(const chunk_labels& labels,
                                     const ledger::plan& of);

/// A request that covers these classes and changes nothing else: sizes stay,
/// and so does the skew.
quota_request coverage_request(const label_counts& held, double skew_tv);

} // namespace ballast::balance
