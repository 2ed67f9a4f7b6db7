// Searches the budgets in whole rows that use budgets in fractions of rows
// best.
#include "runtime/balance/quota_flow.hpp"

#include <algorithm>

namespace ballast::balance {
namespace {

constexpr int guesses = 3;

} // namespace

/// A first guess, without solving a flow.
std::vector<int64_t> budget_search::by_what_is_kept() {
  std::vector<int64_t> out = whole_;
  for (int i = 0; i < guesses; ++i) {
    std::vector<int64_t> next;
    p_.start_with(out);
    p_.widen_budgets(what_, next);
    if (next == out)
      break;
    out = std::move(next);
  }
  return out;
}

void budget_search::keep_if_better() {
  const int64_t lacking = p_.holders_lacking();
  const uint64_t moved = p_.moved();
  if (best_ && (lacking > fewest_lacking_ ||
                (lacking == fewest_lacking_ && moved >= best_->moved)))
    return;
  best_ = {p_.targets(), moved, bound_, false, lacking == 0};
  fewest_lacking_ = lacking;
}

/// Another flow uses other cells: the worker that is over its budget changes,
/// the excess does not.
std::vector<int64_t>
budget_search::narrowed(const std::vector<int64_t>& to) const {
  int64_t over = 0;
  for (size_t w = 0; w < p_.workers; ++w)
    over = std::max(over, p_.excess_max[w] - to[w]);
  std::vector<int64_t> out;
  for (size_t w = 0; w < p_.workers; ++w)
    out.push_back(
        std::max(p_.excess_min[w], std::min(to[w], p_.excess_max[w]) - over));
  return out;
}

} // namespace ballast::balance
