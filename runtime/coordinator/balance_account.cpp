#include "runtime/coordinator/balance_account.hpp"

#include <utility>

namespace ballast::coordinator {

void balance_account::count(const balance::plan_note::of_balance& what) {
  if (what.moved_rows > 0) {
    // A round's own plans do not add up: what one of them moves too much, the
    // next one may have to move back.
    if (std::exchange(round, what.round) == what.round)
      bound_rows -= round_bound_rows;
    round_bound_rows = what.round_bound_rows;
    bound_rows += round_bound_rows;
  }
  ++plans;
  moved_rows += what.moved_rows;
  if (what.cause == balance::balance_cause::skew)
    moved_by_skew += what.moved_rows;
  if (what.cause == balance::balance_cause::coverage)
    moved_by_coverage += what.moved_rows;
  moved_bytes += what.moved_bytes;
}

} // namespace ballast::coordinator
