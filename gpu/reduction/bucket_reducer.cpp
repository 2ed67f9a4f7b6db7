#include "gpu/reduction/bucket_reducer.hpp"

#include "runtime/base/thread_name.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace ballast::gpu {

namespace {

/// When every core computes, a thread that moves bytes now and then must not
/// wait milliseconds for its turn, because the wire is idle meanwhile. Requests
/// short time slices, which the scheduler grants sooner (Linux 6.12; older
/// kernels ignore it).
void ask_for_short_turns() {
  if (::sched_getscheduler(0) != SCHED_OTHER)
    return; // scheduling policy was set explicitly; keep it
  struct {  // sched_attr, which C libraries do not declare
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
  } wish{};
  wish.size = sizeof wish;
  wish.nice = ::getpriority(PRIO_PROCESS, 0);
  wish.runtime_ns = 200'000;
  (void)::syscall(SYS_sched_setattr, 0, &wish, 0u);
}

} // namespace

bucket_reducer::bucket_reducer(bucket_layout layout, compute_device& device,
                               bucket_sum* how)
    : layout_(std::move(layout)), device_(device), how_(how),
      parameters_in_(layout_.buckets.size()) {
  for (size_t i = 0; i < layout_.first.size(); ++i)
    for (size_t b = layout_.first[i];
         b <= layout_.last[i] && b < parameters_in_.size(); ++b)
      ++parameters_in_[b];
  if (layout_.buckets.size() > 1)
    thread_ = std::thread([this] { work(); });
}

bucket_reducer::~bucket_reducer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void bucket_reducer::begin(float* gradients, collectives::collective& group,
                           collectives::deadline until) {
  std::lock_guard lock(mutex_);
  waiting_for_ = parameters_in_;
  gradients_ = gradients;
  group_ = &group;
  until_ = until;
  ready_ = 0;
  done_ = 0;
  error_ = nullptr;
}

void bucket_reducer::parameter_ready(size_t parameter) {
  for (size_t b = layout_.first[parameter]; b <= layout_.last[parameter]; ++b)
    --waiting_for_[b];
  // In order, and never the last one.
  size_t ready = ready_;
  while (ready + 1 < waiting_for_.size() && waiting_for_[ready] == 0)
    device_.mark(ready++);
  if (ready == ready_)
    return;
  {
    std::lock_guard lock(mutex_);
    ready_ = ready;
  }
  changed_.notify_all();
}

void bucket_reducer::reduce(size_t bucket) {
  if (how_ != nullptr)
    return how_->sum(bucket, gradients_, *group_, until_);
  if (group_->size() == 1) // it is the sum
    return;
  const auto& part = layout_.buckets[bucket];
  group_->all_reduce(gradients_ + part.offset, part.count,
                     collectives::element_type::float32, until_);
}

void bucket_reducer::finish() {
  size_t first = 0;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return error_ || done_ == ready_; });
    if (error_)
      std::rethrow_exception(error_);
    first = done_;
  }
  device_.finish();
  for (size_t b = first; b < layout_.buckets.size(); ++b)
    reduce(b);
}

void bucket_reducer::drop() noexcept {
  std::unique_lock lock(mutex_);
  ready_ = done_; // starts nothing more
  changed_.wait(lock, [this] { return !busy_; });
}

void bucket_reducer::work() {
  name_this_thread("bl-comm");
  ask_for_short_turns();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock,
                  [this] { return stop_ || (!error_ && done_ < ready_); });
    if (stop_)
      return;
    size_t bucket = done_;
    busy_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      device_.await(bucket);
      reduce(bucket);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    busy_ = false;
    error_ = error;
    done_ = bucket + 1;
    changed_.notify_all();
  }
}

} // namespace ballast::gpu
