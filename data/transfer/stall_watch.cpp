#include "data/transfer/stall_watch.hpp"

#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

using namespace std::chrono_literals;

/// How often `given_up` is polled.
constexpr auto look_every = 20ms;
/// A wait that ends this late means that this process itself was stopped
/// (SIGSTOP, a suspended machine): the bytes that the peer sent meanwhile are
/// still in the socket.
constexpr auto late_by = 2s;
constexpr auto wait_most = 1s;

instant steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

} // namespace

stall_watch::stall_watch(const bulk_watch& how, uint64_t expected,
                         int preparation, std::function<void()> cancel)
    : how_(how), cancel_(std::move(cancel)),
      state_(steady_now(), how.patience, expected) {
  state_.wait_longer_for_the_first(preparation * how.patience);
  thread_ = std::thread([this] { watch(); });
}

stall_watch::~stall_watch() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void stall_watch::arrived(uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    state_.arrived(bytes, steady_now());
  }
  if (how_.progress)
    how_.progress(bytes);
}

std::string stall_watch::why() const {
  std::lock_guard lock(mutex_);
  return why_;
}

void stall_watch::watch() {
  set_thread_name("bl-stall-watch");
  std::unique_lock lock(mutex_);
  while (!over_) {
    const instant before = steady_now();
    std::chrono::nanoseconds wait =
        std::max<std::chrono::nanoseconds>(state_.due() - before, 1ms);
    wait = std::min<std::chrono::nanoseconds>(
        wait, how_.given_up ? std::chrono::nanoseconds(look_every)
                            : std::chrono::nanoseconds(wait_most));
    if (changed_.wait_for(lock, wait, [this] { return over_; }))
      return;
    const instant now = steady_now();
    if (now - before > wait + late_by)
      state_.excuse(now - before);
    if (how_.given_up && how_.given_up())
      why_ = "it is wanted no more";
    else if (state_.stalled(now))
      why_ = state_.describe(now);
    if (why_.empty())
      continue;
    lock.unlock();
    cancel_();
    return;
  }
}

} // namespace ballast::data
