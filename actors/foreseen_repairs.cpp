#include "actors/foreseen_repairs.hpp"

#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace ballast::actors {

namespace {

/// Lower would make the destructor wait where all cores are busy.
constexpr int niceness_of_foresight = 10;

} // namespace

foreseen_repairs::foreseen_repairs(
    std::shared_ptr<const ledger::manifest> set,
    std::shared_ptr<const balance::chunk_labels> labels)
    : set_(std::move(set)), labels_(std::move(labels)),
      thread_([this] { work(); }) {}

foreseen_repairs::~foreseen_repairs() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    ++wanted_;
  }
  changed_.notify_all();
  thread_.join();
}

void foreseen_repairs::in_force(ledger::plan now, double skew_tv) {
  {
    const std::lock_guard lock(mutex_);
    made_.clear();
    asked_.reset();
    ++wanted_;
    if (balance::may_foresee(now))
      asked_ = {std::move(now), skew_tv};
  }
  changed_.notify_all();
}

std::optional<balance::foreseen_repair>
foreseen_repairs::take(const balance::place_shares& what) {
  const std::lock_guard lock(mutex_);
  asked_.reset();
  ++wanted_;
  const auto found = std::find_if(
      made_.begin(), made_.end(),
      [&](const balance::foreseen_repair& one) { return answers(one, what); });
  if (found == made_.end())
    return std::nullopt;
  return std::move(*found);
}

void foreseen_repairs::work() {
  name_this_thread("bl-foresight");
  // Of this thread; Linux knows no other meaning.
  (void)::setpriority(PRIO_PROCESS, id_t(::gettid()), niceness_of_foresight);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!asked_) {
      changed_.wait(lock);
      continue;
    }
    const question now = *std::exchange(asked_, std::nullopt);
    const uint64_t mine = wanted_;
    for (size_t lost = 0; lost < now.of.shares.size() && mine == wanted_;
         ++lost) {
      lock.unlock();
      balance::foreseen_repair one =
          balance::foresee(*set_, *labels_, now.skew_tv, now.of, lost);
      lock.lock();
      if (mine == wanted_)
        made_.push_back(std::move(one));
    }
  }
}

} // namespace ballast::actors
