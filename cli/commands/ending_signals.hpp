/// SIGINT, SIGTERM and SIGHUP ask a command to end: its work stops at its next
/// look at stop(), and what it has half done is removed on the way out. A
/// second one, as of a user whose operator never returns, ends the process at
/// once, without what is half done (store/unfinished.hpp). Before any other
/// thread starts; one owner.
#pragma once

#include "store/work_watch.hpp"

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace ballast::cli {

class ending_signals {
public:
  ending_signals();
  ~ending_signals();
  ending_signals(const ending_signals&) = delete;

  store::work_watch stop() const { return {stop_.get_token()}; }
  /// Of the signal that came; 0: none.
  int number() const { return number_; }

private:
  void watch();

  sigset_t watched_{};
  sigset_t before_{};
  std::stop_source stop_;
  std::atomic<int> number_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

} // namespace ballast::cli
