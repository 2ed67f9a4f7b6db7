/// The part of step_executor that takes orders: other threads post them, the
/// step thread obeys them between two steps, or while it stands still.
#include "gpu/step_executor.hpp"

#include <utility>

namespace ballast::gpu {

using collectives::collective_errc;
using collectives::collective_error;

void step_executor::post(command_kind kind) {
  {
    std::lock_guard lock(mutex_);
    posts_.push_back(kind);
  }
  posted_.notify_all();
}

void step_executor::post(ledger::plan pending) {
  {
    std::lock_guard lock(mutex_);
    pending_ = std::move(pending);
  }
  posted_.notify_all();
}

std::unique_ptr<collectives::collective>
step_executor::post(next_generation next) {
  std::unique_ptr<collectives::collective> before;
  {
    std::lock_guard lock(mutex_);
    before = std::move(last_group_);
    if (aborted_)
      next.group->abort("aborted");
    pending_ = next.what;
    next_ = std::move(next);
  }
  posted_.notify_all();
  return before;
}

void step_executor::take_posts() {
  std::lock_guard lock(mutex_);
  if (aborted_)
    throw collective_error(collective_errc::aborted, "aborted between steps");
  for (command_kind kind : posts_)
    switch (kind) {
    case command_kind::pause:
      core_->request_pause();
      break;
    case command_kind::stop:
      core_->request_stop();
      break;
    case command_kind::resume:
    case command_kind::unpause:
      core_->resume();
      break;
    case command_kind::checkpoint:
      copy_wanted_ = true;
      break;
    case command_kind::release: // not for the step thread: the lifecycle and
    case command_kind::leave:   // the coordinator's link obey them
    case command_kind::abandon:
    case command_kind::expel:
    case command_kind::kill:
    case command_kind::stall:
    case command_kind::slow:
    case command_kind::damage:
    case command_kind::flip:
    case command_kind::dismiss:
    case command_kind::recorded:
      break;
    }
  posts_.clear();
  if (pending_) {
    failure refused = core_->install(*pending_);
    pending_.reset();
    if (refused)
      throw ballast_error(refused);
  }
}

bool step_executor::stand_still() {
  enter(worker_phase::paused);
  worker_paused message;
  message.worker = with_.self;
  message.step = step_number{value(core_->stands_at().step) - 1};
  listener_.report(message);
  std::unique_lock lock(mutex_);
  auto copy = [&] {
    lock.unlock();
    copy_state();
    lock.lock();
  };
  // Who asks again could not fetch the copy that there was.
  auto copy_anew = [&] {
    copied_.reset();
    copy();
  };
  if (copy_wanted_) // too late for the step before
    copy_anew();
  while (true) {
    posted_.wait(lock, [this] { return aborted_ || !posts_.empty(); });
    if (aborted_)
      throw collective_error(collective_errc::aborted, "aborted in a pause");
    command_kind kind = posts_.front();
    posts_.erase(posts_.begin());
    // Only the coordinator sends these, when all workers stand still after the
    // same step: no lane is needed.
    if (kind == command_kind::stop) {
      copy(); // the state from which a resumed run continues
      core_->stop_here();
      return false;
    }
    if (kind == command_kind::resume) {
      core_->resume();
      return true;
    }
    if (kind == command_kind::checkpoint)
      copy_anew();
  }
}

} // namespace ballast::gpu
