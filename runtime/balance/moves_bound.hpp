/// How many rows must move at least, and a proof of it.
///
/// The problem is that of quota.hpp with fractions of rows: every worker gets
/// its size, and of no worker more than its budget lies beyond its fair part of
/// each class. Its dual gives every class, size and budget a price. Whatever
/// the prices are, nobody can move fewer rows than
///
///     sum_c class_price N_c + sum_w worker_price n_w - sum_w budget_price B_w
///   + sum_wc min over 0 <= x <= min(N_c, n_w) of
///       max(0, x - held_wc) + budget_price_w max(0, x - p_c n_w)
///       - (class_price_c + worker_price_w) x
///
/// (weak duality: every quota that keeps sizes and budgets pays at least that).
/// N_c: rows of the class, p_c: its part of all, n_w: size, B_w: budget in
/// rows. With the best prices it is the minimum itself. Anyone can check it
/// with a loop over the cells; tests/runtime/balance/check_certificate.py does.
/// Pure.
#pragma once

#include "runtime/balance/quota.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace ballast {

struct moves_certificate {
  std::vector<int64_t> class_prices;  // by class; rows moved for one more row
  std::vector<int64_t> worker_prices; // by rank; likewise for its size
  std::vector<int64_t> budget_prices; // by rank; >= 0
  double bound_rows = 0;              // what they prove
  /// No prices prove more: it is the minimum over fractions of rows.
  bool minimum = false;
};

/// By rank: rows that may lie beyond the fair parts. skew_tv of the size, and
/// what whole rows need at least.
std::vector<double> budget_rows(const quota_request& what);

/// What the prices prove. Prices of a budget below 0 count as 0. O(W C).
double proven_rows(const quota_request& what,
                   const moves_certificate& with_prices);

/// Beyond so many cells the coordinator takes the quick prices for its proofs.
inline constexpr size_t proof_cells_max = 20'000;

/// The best prices, by network simplex; those of the fast path where W * C
/// exceeds `exact_cells_max` (`minimum` is false then).
moves_certificate prove_moves_bound(const quota_request& what,
                                    size_t exact_cells_max = 100'000);

/// Prices of the fast path, which solves for whole rows: they prove a little
/// less than the best ones. W = 64, C = 1000 in 7 ms.
moves_certificate fast_prices(const quota_request& what);

/// What leads from one state to another as good as this one: its sizes, and the
/// skew that it has or that is asked for.
quota_request as_good_as(const label_counts& from, const label_counts& to,
                         double skew_tv);

/// Everything that somebody needs to check the proof.
nlohmann::ordered_json certificate_json(const quota_request& what,
                                        const moves_certificate& proof);

/// Rows are whole: what a bound on fractions of them says of these.
uint64_t whole_rows(double bound);

} // namespace ballast
