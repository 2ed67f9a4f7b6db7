#include "collectives/death_watch.hpp"

#include "runtime/base/thread_name.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace ballast::collectives {

// Every pointer store below leaves the list consistent, because the kernel may
// walk it at any moment.

death_watch::death_watch() : end_(make_eventfd()) {
  head_.list.next = &head_.list;
  head_.futex_offset = static_cast<long>(offsetof(death_mark, word)) -
                       static_cast<long>(offsetof(death_mark, node));
  head_.list_op_pending = nullptr;
  std::promise<uint32_t> started;
  std::future<uint32_t> id = started.get_future();
  thread_ = std::thread(
      [this, s = std::move(started)]() mutable { watch(std::move(s)); });
  thread_id_ = id.get();
}

death_watch::~death_watch() {
  signal_eventfd(end_.get());
  thread_.join();
}

void death_watch::watch(std::promise<uint32_t> started) {
  name_this_thread("bl-last-sign");
  // This thread uses no robust mutex of the C library, whose list this
  // replaces.
  bool works = syscall(SYS_set_robust_list, &head_, sizeof head_) == 0;
  const int end = end_.get();
  started.set_value(works ? static_cast<uint32_t>(syscall(SYS_gettid)) : 0);
  pollfd p{end, POLLIN, 0};
  while (::poll(&p, 1, -1) <= 0) { // interrupted by a signal
  }
}

void death_watch::keep(death_mark& mark) {
  std::lock_guard lock(mutex_);
  // With FUTEX_WAITERS set the kernel wakes the sleepers on the word.
  mark.word.store(thread_id_ | FUTEX_WAITERS, std::memory_order_release);
  if (!works()) {
    return;
  }
  mark.node.next = head_.list.next;
  std::atomic_ref(head_.list.next).store(&mark.node, std::memory_order_release);
}

void death_watch::forget(death_mark& mark) {
  std::lock_guard lock(mutex_);
  robust_list* before = &head_.list;
  while (before->next != &head_.list) {
    if (before->next == &mark.node) {
      std::atomic_ref(before->next)
          .store(mark.node.next, std::memory_order_release);
      return;
    }
    before = before->next;
  }
}

} // namespace ballast::collectives
