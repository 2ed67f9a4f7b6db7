/// A lower bound of the rows that must move, with a proof.
///
/// The problem is that of quota.hpp with fractions of rows: every worker gets
/// its size, and at most its budget of rows beyond its fair part of the
/// classes. The dual gives every class, size and budget a price. For any
/// prices, no plan can move fewer rows than
///
///     sum_c class_price N_c + sum_w worker_price n_w - sum_w budget_price B_w
///   + sum_wc min over 0 <= x <= min(N_c, n_w) of
///       max(0, x - held_wc) + budget_price_w max(0, x - p_c n_w)
///       - (class_price_c + worker_price_w) x
///
/// (weak duality: every quota that keeps sizes and budgets costs at least
/// that). N_c: rows of the class, p_c: its fraction of all rows, n_w: size,
/// B_w: budget in rows. With the best prices the bound equals the minimum. A
/// loop over the cells checks it; tests/runtime/balance/check_certificate.py
/// does that. Pure.
#pragma once

#include "runtime/balance/quota.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace ballast::balance {

struct moves_certificate {
  std::vector<int64_t> class_prices;  // by class; rows moved for one more row
  std::vector<int64_t> worker_prices; // by rank; the same for its size
  std::vector<int64_t> budget_prices; // by rank; >= 0
  double bound_rows = 0;              // the bound that they prove
  /// No prices prove more: the bound is the minimum over fractions of rows.
  bool minimum = false;
};

/// By rank: rows allowed beyond the fair parts: skew_tv of the size, but at
/// least the rounding of whole rows.
std::vector<double> budget_rows(const quota_request& what);

/// The bound that the prices prove. Negative budget prices count as 0. O(W C).
double proven_rows(const quota_request& what,
                   const moves_certificate& with_prices);

/// With more cells the coordinator uses the fast path's prices for its proofs.
inline constexpr size_t proof_cells_max = 20'000;
/// And beyond this many none.
inline constexpr size_t fast_proof_cells_max = 1'000'000;

/// The best prices, by network simplex; those of the fast path if W * C exceeds
/// `exact_cells_max` (`minimum` is false then).
moves_certificate prove_moves_bound(const quota_request& what,
                                    size_t exact_cells_max = 100'000);

/// Prices of the fast path, which solves for whole rows: they prove a little
/// less than the best ones. W = 64, C = 1000 in 7 ms.
moves_certificate fast_prices(const quota_request& what);

/// The rows proven, by the best prices that are found in time; with very many
/// cells 0, which is true, too.
uint64_t proven_least(const quota_request& what);

/// A request for any state as good as this one: its sizes, and its skew or the
/// requested one.
quota_request as_good_as(const label_counts& from, const label_counts& to,
                         double skew_tv);

/// The complete input for an independent check of the proof.
nlohmann::ordered_json certificate_json(const quota_request& what,
                                        const moves_certificate& proof);

/// The bound for whole rows that follows from one for fractions.
uint64_t whole_rows(double bound);

} // namespace ballast::balance
