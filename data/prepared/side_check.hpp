/// A check beside other work, on a thread of its own: what has to be asked for
/// elsewhere takes round trips, or a pass over a table, that the processor here
/// does not notice.
#pragma once

#include "runtime/base/thread_name.hpp"

#include <functional>
#include <future>
#include <utility>

namespace ballast::data {

class side_check {
public:
  explicit side_check(std::function<void()> check)
      : done_(std::async(std::launch::async, [check = std::move(check)] {
          name_this_thread("bl-check");
          check();
        })) {}
  /// Throws what it found.
  void wait() { done_.get(); }

private:
  std::future<void> done_; // whose destructor waits, too
};

} // namespace ballast::data
