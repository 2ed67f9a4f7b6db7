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
/// A file is hashed in parts of so many bytes, so that several threads can
/// check it.
constexpr uint64_t hashed_bytes = uint64_t{64} << 20;

} // namespace

state_snapshot::~state_snapshot() {
  make_no_room();
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
    for (size_t at = used; at < room_.size() && !ends_; at += page_bytes)
      room_.data()[at] = 0;
  });
}

void state_snapshot::begin(step_number after, replica_image of, uint32_t rank,
                           uint32_t world) {
  {
    const std::lock_guard lock(mutex_);
    step_ = after;
    copying_ = true;
    wanted_ = clock::now();
  }
  start([this, rank, world,
         of = std::make_shared<const replica_image>(std::move(of))] {
    bool copied = true;
    try {
      const std::unique_lock lock(memory_); // nobody reads the one before
      file_bytes_ = of->file.bytes();
      part_ = part_of(file_bytes_, rank, world);
      header_ = checksum_of(of->file.header);
      const uint64_t bytes = part_.to - part_.from;
      if (room_.size() < bytes)
        room_.resize(bytes);
      of->file.copy(part_.from, {reinterpret_cast<char*>(room_.data()), bytes});
    } catch (const std::bad_alloc&) {
      copied = false; // whoever fetches it is told that it is not here
      monitor::log().warn("no memory for a copy of the state, {} MB",
                          of->file.bytes() / world >> 20);
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

void state_snapshot::ordered_by(term of) {
  const std::lock_guard lock(mutex_);
  if (of > ordered_by_)
    wanted_.reset();
  ordered_by_ = std::max(ordered_by_, of);
}

bool state_snapshot::is_fetched() const {
  const std::lock_guard lock(mutex_);
  return wanted_ &&
         clock::now() - *wanted_ <
             std::clamp<clock::duration>(pieces_missed * slowest_piece_,
                                         patience_least, patience_most);
}

/// Waits until a copy of that name is complete, if it is the newest.
bool state_snapshot::holds(std::string_view blob) {
  const auto is_here = [&] { return step_ && state_blob(*step_) == blob; };
  std::unique_lock lock(mutex_);
  complete_.wait(lock, [&] { return !copying_ || !is_here(); });
  if (!is_here())
    return false;
  return true;
}

/// Whoever used a piece up to `end` of the part has it right: no other copy was
/// made there meanwhile.
bool state_snapshot::took(std::string_view blob, uint64_t end) {
  const std::shared_lock memory(memory_);
  const std::lock_guard lock(mutex_);
  if (!step_ || state_blob(*step_) != blob)
    return false;
  const clock::time_point now = clock::now();
  if (wanted_ && end > part_.from + piece_bytes) // from one to the next
    slowest_piece_ = std::max(slowest_piece_, now - *wanted_);
  wanted_ = now;
  if (end == part_.to)
    wanted_.reset();
  return true;
}

bool state_snapshot::with_piece(
    std::string_view blob, uint64_t at, uint64_t most,
    const std::function<void(std::string_view)>& use) {
  if (!holds(blob))
    return false;
  uint64_t end = 0;
  {
    const std::shared_lock memory(memory_);
    if (at < part_.from || at > part_.to)
      return false;
    end = at + std::min(most, part_.to - at);
    use({reinterpret_cast<const char*>(room_.data()) + (at - part_.from),
         end - at});
  }
  return took(blob, end);
}

std::optional<std::string> state_snapshot::read(std::string_view blob,
                                                uint64_t at) {
  std::string out;
  const auto copy = [&](std::string_view bytes) { out = bytes; };
  if (!with_piece(blob, at, piece_bytes, copy))
    return std::nullopt;
  return out;
}

bool state_snapshot::write(const write_order& what) {
  return with_piece(what.image, what.part.from, what.part.to - what.part.from,
                    [&](std::string_view bytes) {
                      data::write_synced(what.to, what.part.from, bytes);
                    });
}

state_note state_snapshot::note(step_number after) {
  const std::string blob = state_blob(after);
  state_note out;
  if (holds(blob)) {
    const std::shared_lock memory(memory_);
    out.file_bytes = file_bytes_;
    out.header = header_;
    out.part = part_;
    const auto* bytes = reinterpret_cast<const char*>(room_.data());
    for (uint64_t at = part_.from; at < part_.to;) {
      const uint64_t count = std::min(hashed_bytes, part_.to - at);
      out.checksums.push_back(
          {count, checksum_of({bytes + (at - part_.from), count})});
      at += count;
    }
  }
  (void)took(blob, out.part.from); // who asks is at it
  const std::lock_guard lock(mutex_);
  out.copied = step_.value_or(step_number{});
  return out;
}

} // namespace ballast::actors
