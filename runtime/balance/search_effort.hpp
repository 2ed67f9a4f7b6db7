/// The work that a search may do, so that every look at the data is answered in
/// time, whatever the size of the set. Counted in label entries examined (about
/// a nanosecond each), never by a clock: the same input gives the same plan on
/// every machine. A search spends it on the best option first, and returns the
/// best valid result when it runs out. It can also be broken off from outside:
/// then there is no result. One per search, not shared between threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace ballast::balance {

class search_effort {
public:
  static constexpr uint64_t unlimited = UINT64_MAX;

  /// Asked again and again: true breaks the search off; may be empty.
  using stop_asked = std::function<bool()>;

  search_effort() = default;
  explicit search_effort(uint64_t units, stop_asked stop = {})
      : left_(units), stop_(std::move(stop)) {}

  /// What is beyond the effort left is given free of charge.
  void spend(uint64_t units) {
    if (left_ != unlimited)
      left_ -= std::min(left_, units);
  }
  uint64_t left() const { return left_; }
  /// Whether a step of this cost may still be done; if not, the search is cut
  /// short.
  bool allows(uint64_t units) {
    stopped_ = stopped_ || (stop_ && stop_());
    if (!stopped_ && units <= left_ && left_ > 0)
      return true;
    cut_short_ = true;
    return false;
  }
  /// Something was left out for lack of effort.
  bool cut_short() const { return cut_short_; }
  /// Broken off from outside.
  bool stopped() const { return stopped_; }

private:
  uint64_t left_ = unlimited;
  bool cut_short_ = false;
  bool stopped_ = false;
  stop_asked stop_;
};

} // namespace ballast::balance
