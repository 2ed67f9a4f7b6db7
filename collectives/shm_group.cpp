#include "collectives/shm_group.hpp"

#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ballast::collectives {

namespace {

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Sequence numbers wrap; ranks are never half a range apart.
bool passed(uint32_t progress, uint32_t wanted) {
  return static_cast<int32_t>(progress - wanted) >= 0;
}

} // namespace

own_marks::own_marks(std::shared_ptr<death_watch> watch,
                     std::shared_ptr<shared_memory> board, size_t members,
                     size_t me)
    : watch_(std::move(watch)), board_(std::move(board)) {
  shm_board& mine = *reinterpret_cast<shm_board*>(board_->data());
  for (size_t m = 0; m < members; ++m) {
    if (m != me) {
      watch_->keep(mine.marks[m]);
      marks_.push_back(&mine.marks[m]);
    }
  }
}

own_marks::~own_marks() {
  for (death_mark* mark : marks_) {
    watch_->forget(*mark);
  }
}

shm_group::shm_group(std::vector<shm_member> members, int me, own_marks marks,
                     std::shared_ptr<stop_switch> stop)
    : members_(std::move(members)), me_(me), marks_(std::move(marks)),
      stop_(std::move(stop)) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  // With too few cores, spinning takes the core from the rank waited for.
  spins_max_ = count() <= cores ? 4000 : 0;
  spins_ = spins_max_;
}

void shm_group::look_elsewhere(std::function<void()> look,
                               std::chrono::milliseconds every) {
  look_ = std::move(look);
  look_every_ = every;
}

shm_group::~shm_group() {
  watch_ends_.store(1, std::memory_order_seq_cst);
  futex_wake_all(watch_ends_);
  if (watcher_.joinable()) {
    watcher_.join();
  }
}

/// Computing ranks wait for no other; without this they would learn of a death
/// only at the next operation.
void shm_group::watch(std::function<void(int rank)> lost) {
  watcher_ = std::thread([this, lost = std::move(lost)] {
    name_this_thread("bl-peer-watch");
    constexpr auto look_again = std::chrono::seconds(1);
    while (watch_ends_.load(std::memory_order_seq_cst) == 0) {
      futex_watch watches[futex_watches_max];
      size_t count_watches = 0;
      watches[count_watches++] = {&watch_ends_, 0};
      for (int m = 0; m < count(); ++m) {
        if (m == me_) {
          continue;
        }
        death_mark& mark = board(m).marks[me_];
        watches[count_watches++] = {&mark.word,
                                    mark.word.load(std::memory_order_seq_cst)};
        if (mark.died() &&
            board(m).end.load(std::memory_order_seq_cst) == shm_end::alive) {
          return lost(rank_of(m));
        }
      }
      futex_wait_any({watches, count_watches},
                     std::chrono::steady_clock::now() + look_again);
    }
  });
}

void shm_group::meet(const shm_call& mine, deadline until) {
  ++number_;
  board(me_).calls[number_ & 1] = mine;
  advance(1);
  wait_all(1, until);
  for (int m = 0; m < count(); ++m) {
    const shm_call& theirs = call_of(m);
    if (theirs.operation != mine.operation || theirs.detail != mine.detail ||
        theirs.count != mine.count) {
      throw collective_error(
          collective_errc::mismatch,
          "rank " + std::to_string(rank_of(m)) + " does operation " +
              std::to_string(theirs.operation) + "." +
              std::to_string(theirs.detail) + " over " +
              std::to_string(theirs.count) + " elements, this rank " +
              std::to_string(mine.operation) + "." +
              std::to_string(mine.detail) + " over " +
              std::to_string(mine.count) +
              "; every rank must call the same operations in the same order",
          rank_of(m));
    }
  }
}

const shm_call& shm_group::call_of(int member) const {
  return board(member).calls[number_ & 1];
}

void shm_group::advance(uint32_t stage) {
  shm_board& mine = board(me_);
  // Sequentially consistent with the sleepers' count: either the sleepers see
  // the new value, or we see them.
  mine.progress.store(target(stage), std::memory_order_seq_cst);
  if (mine.sleepers.load(std::memory_order_seq_cst) != 0) {
    futex_wake_all(mine.progress);
  }
}

bool shm_group::reached(int member, uint32_t stage) const {
  return passed(board(member).progress.load(std::memory_order_acquire),
                target(stage));
}

void shm_group::wait_all(uint32_t stage, deadline until) {
  for (int m = 0; m < count(); ++m) {
    wait(m, stage, until);
  }
}

void shm_group::wait(int member, uint32_t stage, deadline until) {
  if (member == me_ || reached(member, stage)) {
    return;
  }
  const uint32_t wanted = target(stage);
  while (!spin(member, wanted)) {
    sleep(member, wanted, until);
  }
}

/// Spins for as long as spinning has succeeded lately.
bool shm_group::spin(int member, uint32_t wanted) {
  const std::atomic<uint32_t>& progress = board(member).progress;
  for (int i = 0; i <= spins_; ++i) {
    if (passed(progress.load(std::memory_order_acquire), wanted)) {
      spins_ = std::min(spins_max_, spins_ * 2 + 16);
      return true;
    }
    relax();
  }
  spins_ /= 2;
  return false;
}

void shm_group::sleep(int member, uint32_t wanted, deadline until) {
  const auto now = std::chrono::steady_clock::now();
  if (now >= until) {
    throw collective_error(collective_errc::timeout,
                           "the deadline passed waiting for rank " +
                               std::to_string(rank_of(member)),
                           rank_of(member));
  }
  shm_board& mine = board(me_);
  shm_board& theirs = board(member);
  theirs.sleepers.fetch_add(1, std::memory_order_seq_cst);
  // A failing rank rings our bell after setting its end: so read the bell
  // first, then the ends.
  futex_watch watches[futex_watches_max];
  size_t count_watches = 0;
  watches[count_watches++] = {&theirs.progress, 0};
  watches[count_watches++] = {&mine.bell,
                              mine.bell.load(std::memory_order_seq_cst)};
  for (int m = 0; m < count(); ++m) {
    if (m != me_) {
      std::atomic<uint32_t>& mark = board(m).marks[me_].word;
      watches[count_watches++] = {&mark, mark.load(std::memory_order_seq_cst)};
    }
  }
  uint32_t seen = theirs.progress.load(std::memory_order_seq_cst);
  watches[0].expected = seen;
  try {
    if (!passed(seen, wanted)) {
      for (int m = 0; m < count(); ++m) {
        check_member(m, m == member);
      }
      stop_->check();
      const auto next_look = now + look_every_;
      futex_wait_any({watches, count_watches}, std::min(until, next_look));
      if (look_ && std::chrono::steady_clock::now() >= next_look) {
        look_();
      }
    }
  } catch (...) {
    theirs.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    throw;
  }
  theirs.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void shm_group::check_member(int member, bool needed) const {
  if (member == me_) {
    return;
  }
  const shm_board& theirs = board(member);
  const shm_end end = theirs.end.load(std::memory_order_seq_cst);
  if (end == shm_end::failed) {
    const auto code = static_cast<collective_errc>(theirs.code);
    std::string reason(theirs.reason,
                       strnlen(theirs.reason, sizeof theirs.reason));
    int blame = theirs.blame;
    if (code == collective_errc::aborted) {
      reason =
          "rank " + std::to_string(rank_of(member)) + " aborted: " + reason;
    }
    throw collective_error(code, reason, blame);
  }
  const bool died = theirs.marks[me_].died();
  if (died || (end == shm_end::left && needed)) {
    const int rank = rank_of(member);
    throw collective_error(
        collective_errc::peer_lost,
        "rank " + std::to_string(rank) +
            (died ? "'s process is gone" : " has left this generation"),
        rank);
  }
}

void shm_group::check() const {
  // Orders all reads of peers' data before the reads of their ends.
  board(me_).bell.fetch_add(0, std::memory_order_seq_cst);
  stop_->check();
  for (int m = 0; m < count(); ++m) {
    if (m != me_ &&
        board(m).end.load(std::memory_order_seq_cst) == shm_end::failed) {
      check_member(m, false);
    }
  }
}

const char* shm_group::readable(int member) const {
  const shm_call& call = call_of(member);
  return memory_of(member, call.region, call.offset);
}

const char* shm_group::readable_result(int member) const {
  const shm_call& call = call_of(member);
  return memory_of(member, call.result_region, call.result_offset);
}

const char* shm_group::memory_of(int member, int32_t region,
                                 uint64_t offset) const {
  const shm_member& who = members_[member];
  if (region == 0) {
    return member == me_ ? who.board->data() + board_bytes + offset
                         : who.staging->data() + offset;
  }
  const size_t index = static_cast<size_t>(region) - 1;
  if (region < 0 || index >= who.arenas.size() ||
      offset > who.arenas[index]->bytes()) {
    throw collective_error(collective_errc::mismatch,
                           "rank " + std::to_string(rank_of(member)) +
                               " offers memory that it never shared",
                           rank_of(member));
  }
  return who.arenas[index]->data() + offset;
}

shm_call shm_group::locate(const void* data, size_t bytes) const {
  shm_call out;
  const auto& arenas = members_[me_].arenas;
  for (size_t i = 0; i < arenas.size(); ++i) {
    if (arenas[i]->holds(data, bytes)) {
      out.region = static_cast<int32_t>(i) + 1;
      out.offset = static_cast<uint64_t>(static_cast<const char*>(data) -
                                         arenas[i]->data());
      return out;
    }
  }
  return out;
}

char* shm_group::staging() {
  return members_[me_].board->data() + board_bytes +
         ((number_ + 1) & 1) * staging_bytes;
}

shm_call shm_group::staging_call() const {
  shm_call out;
  out.region = 0;
  out.offset = ((number_ + 1) & 1) * staging_bytes;
  return out;
}

void shm_group::end_with(shm_end end) noexcept {
  board(me_).end.store(end, std::memory_order_seq_cst);
  for (int m = 0; m < count(); ++m) {
    board(m).bell.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(board(m).bell);
  }
}

void shm_group::leave() noexcept {
  end_with(shm_end::left);
}

void shm_group::fail(collective_errc code, const std::string& what,
                     int peer) noexcept {
  shm_board& mine = board(me_);
  mine.code = static_cast<uint32_t>(code);
  mine.blame = peer;
  size_t length = std::min(what.size(), sizeof mine.reason - 1);
  std::memcpy(mine.reason, what.data(), length);
  mine.reason[length] = '\0';
  end_with(shm_end::failed);
}

} // namespace ballast::collectives
