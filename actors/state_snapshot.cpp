#include "actors/state_snapshot.hpp"

#include "monitor/logs/log.hpp"
#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace ballast::actors {

namespace {

/// A fetch that goes on no more, or never begins, holds a later copy back for
/// so long, or for some times what a piece took so far on this line.
constexpr std::chrono::seconds patience_least{2};
constexpr std::chrono::seconds patience_most{60};
constexpr int pieces_missed = 4;
constexpr size_t page_bytes = 4096;

} // namespace

std::string state_blob(step_number after) {
  return "checkpoint-" + to_string(after);
}

state_snapshot::~state_snapshot() {
  if (worker_.joinable())
    worker_.join();
}

void state_snapshot::start(std::function<void()> work) {
  worker_ = std::thread(
      [before = std::move(worker_), work = std::move(work)]() mutable {
        name_this_thread("bl-snapshot");
        if (before.joinable())
          before.join();
        work();
      });
}

void state_snapshot::make_room(uint64_t bytes) {
  start([this, bytes] {
    const std::unique_lock lock(memory_);
    // A copy may lie there already, and be fetched: a worker is ready again in
    // each generation.
    const size_t used = room_.size();
    if (used >= bytes)
      return;
    try {
      room_.resize(bytes);
    } catch (const std::bad_alloc&) {
      return; // the copy says so
    }
    // By faults, one at a time: to populate them by a call holds a lock of the
    // whole process, and a thread that is put aside meanwhile stops all others.
    for (size_t at = used; at < room_.size(); at += page_bytes)
      room_.data()[at] = 0;
  });
}

void state_snapshot::begin(step_number after, replica_image of) {
  {
    const std::lock_guard lock(mutex_);
    step_ = after;
    copying_ = true;
    wanted_ = clock::now();
  }
  start([this, of = std::make_shared<const replica_image>(std::move(of))] {
    bool copied = true;
    try {
      const std::unique_lock lock(memory_); // nobody reads the one before
      bytes_ = of->file.bytes();
      if (room_.size() < bytes_)
        room_.resize(bytes_);
      of->file.copy(0, {reinterpret_cast<char*>(room_.data()), bytes_});
    } catch (const std::bad_alloc&) {
      copied = false; // whoever fetches it is told that it is not here
      monitor::log().warn("no memory for a copy of the state, {} MB",
                          of->file.bytes() >> 20);
    }
    {
      const std::lock_guard lock(mutex_);
      copying_ = false;
      if (!copied) {
        step_.reset();
        wanted_.reset();
      }
    }
    complete_.notify_all();
  });
}

void state_snapshot::await() {
  std::unique_lock lock(mutex_);
  complete_.wait(lock, [this] { return !copying_; });
}

bool state_snapshot::is_fetched() const {
  const std::lock_guard lock(mutex_);
  return wanted_ &&
         clock::now() - *wanted_ <
             std::clamp<clock::duration>(pieces_missed * slowest_piece_,
                                         patience_least, patience_most);
}

std::optional<std::string> state_snapshot::read(const std::string& blob,
                                                uint64_t at) {
  const auto is_here = [&] { return step_ && state_blob(*step_) == blob; };
  {
    std::unique_lock lock(mutex_);
    complete_.wait(lock, [&] { return !copying_ || !is_here(); });
    if (!is_here())
      return std::nullopt;
    const clock::time_point now = clock::now();
    if (at > 0 && wanted_)
      slowest_piece_ = std::max(slowest_piece_, now - *wanted_);
    wanted_ = now;
  }
  std::string out;
  {
    const std::shared_lock memory(memory_);
    if (at > bytes_)
      return std::nullopt;
    out.assign(reinterpret_cast<const char*>(room_.data()) + at,
               std::min(piece_bytes, bytes_ - at));
  }
  const std::lock_guard lock(mutex_);
  if (!is_here()) // another copy is being made there
    return std::nullopt;
  if (out.size() < piece_bytes)
    wanted_.reset();
  return out;
}

} // namespace ballast::actors
