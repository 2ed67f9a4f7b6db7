/// Coverage: every class is held by two workers at least, so that the loss of
/// one of them takes no class out of training until its rows are somewhere
/// else. A class of a single row, and a run of one worker, need no more than
/// one holder. Who owns nothing at all is not counted: who has no size in the
/// plan gets nothing. A part of a chunk is enough to be a holder: its owner has
/// the bytes of the whole chunk. Pure.
#pragma once

#include "runtime/balance/quota.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

/// A class that one worker alone holds, though others could hold some of it.
struct lone_class {
  uint32_t label = 0;
  uint32_t rank = 0; // of who holds it
  friend bool operator==(const lone_class&, const lone_class&) = default;
};

/// By class, ascending.
std::vector<lone_class> lone_classes(const manifest& set, const plan& of);

/// What covers them and changes nothing else: sizes stay, and so does whatever
/// skew there is.
quota_request coverage_request(const label_counts& held, double skew_tv);

} // namespace ballast
