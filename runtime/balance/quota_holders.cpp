// Adds holders for classes with too few after the fast flow: swaps one row of
// the class for one row of another between two workers, so that sizes stay.
// Greedy: costs a row or two beyond the minimum for each class.
#include "runtime/balance/quota_flow.hpp"

#include <algorithm>

namespace ballast::balance {
namespace {

/// Of all classes together. With thousands of them that lack holders there are
/// mostly few rows of each, and little to swap.
constexpr uint64_t tries_max = 5'000'000;

class swaps {
public:
  explicit swaps(quota_problem& p)
      : p_(p), holders_(p.classes), slack_(p.excess_max) {
    for (size_t w = 0; w < p.workers; ++w)
      for (size_t c = 0; c < p.classes; ++c) {
        const quota_cell& cell = p.at(w, c);
        holders_[c] += cell.target > 0;
        slack_[w] -= std::max<int64_t>(0, cell.target - cell.fair);
      }
  }

  void run() {
    for (size_t c = 0; c < p_.classes; ++c)
      while (holders_[c] < p_.holders_min[c] && add_holder(c)) {
      }
  }

private:
  struct swap {
    size_t giver = 0;
    size_t taker = 0;
    size_t back = 0; // the class that the taker returns
    int64_t moves = 0;
  };

  static int64_t moves_of_more(const quota_cell& cell) {
    return cell.target < cell.held ? 0 : 1;
  }
  static int64_t moves_of_less(const quota_cell& cell) {
    return cell.target > cell.held ? -1 : 0;
  }
  static int64_t excess_of_more(const quota_cell& cell) {
    return cell.target < cell.fair ? 0 : 1;
  }
  static int64_t excess_of_less(const quota_cell& cell) {
    return cell.target > cell.fair ? -1 : 0;
  }

  bool spare(size_t w, size_t c) const {
    int64_t rows = p_.at(w, c).target;
    return rows > 1 || (rows == 1 && holders_[c] > p_.holders_min[c]);
  }

  bool allowed(const swap& s, size_t c) const {
    return spare(s.taker, s.back) &&
           slack_[s.taker] >= excess_of_more(p_.at(s.taker, c)) +
                                  excess_of_less(p_.at(s.taker, s.back)) &&
           slack_[s.giver] >= excess_of_less(p_.at(s.giver, c)) +
                                  excess_of_more(p_.at(s.giver, s.back));
  }

  bool add_holder(size_t c) {
    size_t giver = 0;
    for (size_t w = 1; w < p_.workers; ++w)
      if (p_.at(w, c).target > p_.at(giver, c).target)
        giver = w;
    if (p_.at(giver, c).target < 2)
      return false;
    swap best{giver, giver, c, 0};
    // Each class starts at another worker, so that they do not all choose the
    // same one.
    for (size_t i = 0; i < p_.workers && !good(best); ++i) {
      size_t taker = (i + c) % p_.workers;
      if (p_.at(taker, c).target > 0 || p_.sizes[taker] == 0)
        continue;
      for (size_t back = 0; back < p_.classes && !good(best); ++back) {
        if (tries_left_ == 0)
          return false;
        --tries_left_;
        swap now{giver, taker, back, 0};
        if (back == c || !allowed(now, c))
          continue;
        now.moves = moves_of_more(p_.at(taker, c)) +
                    moves_of_less(p_.at(giver, c)) +
                    moves_of_less(p_.at(taker, back)) +
                    moves_of_more(p_.at(giver, back));
        if (best.taker == giver || now.moves < best.moves)
          best = now;
      }
    }
    if (best.taker == giver)
      return false;
    perform(best, c);
    return true;
  }

  /// Rarely more than one additional move from the optimum: a longer search
  /// does not pay.
  static bool good(const swap& s) { return s.taker != s.giver && s.moves <= 1; }

  void perform(const swap& s, size_t c) {
    change(s.giver, c, -1);
    change(s.taker, s.back, -1);
    change(s.taker, c, 1);
    change(s.giver, s.back, 1);
  }

  void change(size_t w, size_t c, int64_t by) {
    quota_cell& cell = p_.at(w, c);
    slack_[w] -= by > 0 ? excess_of_more(cell) : excess_of_less(cell);
    holders_[c] -= cell.target > 0;
    cell.target += by;
    holders_[c] += cell.target > 0;
  }

  quota_problem& p_;
  std::vector<int64_t> holders_; // by class
  std::vector<int64_t> slack_;   // by worker: unused excess_max
  uint64_t tries_left_ = tries_max;
};

} // namespace

void add_holders(quota_problem& p) {
  swaps(p).run();
}

} // namespace ballast::balance
