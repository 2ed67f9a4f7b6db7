#include "runtime/coordinator/checkpoints.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

namespace {

/// Of periodic copies, beside those that are fetched or about to be.
constexpr size_t copies_max = 8;
/// How often, and how soon, a copy that was asked for is made again where it
/// could not be fetched.
constexpr uint32_t attempts_max = 10;
constexpr std::chrono::seconds retry{1};
/// What fills a memory is there for longer than a moment, as a rule.
constexpr std::chrono::minutes memory_retry{2};

} // namespace

std::string checkpoints::drop_newest() {
  std::string out = std::move(points_.back().checkpoint);
  points_.pop_back();
  return out;
}

const restart_point& checkpoints::newest_on_disk() const {
  return *std::find_if(points_.rbegin(), points_.rend(),
                       [](const restart_point& one) { return !one.in_memory; });
}

const restart_point* checkpoints::in_memory() const {
  for (auto it = points_.rbegin(); it != points_.rend(); ++it)
    if (it->in_memory)
      return &*it;
  return nullptr;
}

std::optional<step_number> checkpoints::newest_in_memory() const {
  if (const restart_point* there = in_memory())
    return there->step();
  return memory_ == memory::used ? std::optional(step_number{}) : std::nullopt;
}

bool checkpoints::ask_for_memory(uint64_t state_bytes) {
  if (memory_ != memory::off)
    return false;
  memory_ = memory::asked;
  state_bytes_ = state_bytes;
  return true;
}

std::optional<uint64_t> checkpoints::ask_for_memory_again(instant now) {
  if (memory_ != memory::given_up || !memory_again_ || now < *memory_again_)
    return std::nullopt;
  memory_again_.reset();
  memory_ = memory::asked;
  return state_bytes_;
}

checkpoints::memory_answer
checkpoints::memory_answered(bool room, const checkpoint_spec& how,
                             instant now) {
  if (memory_ != memory::asked)
    return memory_answer::strange;
  const bool again = memory_every_.count() > 0;
  if (!again) {
    disk_every_ = std::chrono::seconds(how.every_s);
    memory_every_ = std::chrono::seconds(how.in_memory_every_s());
  }
  memory_ = memory::used;
  if (!room)
    give_up_memory(now);
  return again ? memory_answer::again : memory_answer::first;
}

void checkpoints::give_up_memory(instant now) {
  if (memory_ != memory::used)
    return;
  memory_ = memory::given_up;
  memory_again_ = now + memory_retry;
}

std::vector<std::string> checkpoints::forget_memory() {
  std::vector<std::string> out;
  std::erase_if(points_, [&](const restart_point& one) {
    if (one.in_memory)
      out.push_back(one.checkpoint);
    return one.in_memory;
  });
  return out;
}

void checkpoints::committed(const restart_point& here, uint64_t every_steps) {
  // The news of a copy comes before rank 0 reports any later step.
  if (copied_ == here.step() || value(here.step()) % every_steps == 0)
    copies_[here.step()] = here;
  for (auto it = copies_.begin();
       copies_.size() > copies_max && it != copies_.end();) {
    bool needed =
        it->first == copied_ || (on_its_way_ && it->first == on_its_way_->step);
    it = needed ? std::next(it) : copies_.erase(it);
  }
}

void checkpoints::copied(step_number step, generation by,
                         const restart_point& here) {
  copied_ = step;
  copied_by_ = by;
  if (step == here.step())
    copies_.try_emplace(step, here);
}

void checkpoints::evaluated(const evaluation_report& found, const judge& by) {
  for (auto& [step, one] : copies_)
    if (step > found.step && one.tally.judged.judged < found.step) {
      by.hear(one.tally.judged, found);
      one.tally.test = found;
    }
}

void checkpoints::forget_copies() {
  copies_.clear();
  copied_.reset();
}

/// Workers copy as often as memory wants it, also once that is given up. The
/// disk takes the copy that is nearest to its time.
checkpoints::place checkpoints::place_of(const fetch_request& how) const {
  const bool tiered = memory_ == memory::used || memory_ == memory::given_up;
  if (!tiered || how.to_disk || !disk_at_ ||
      how.now - *disk_at_ + memory_every_ / 2 >= disk_every_)
    return place::disk;
  return memory_ == memory::used ? place::memory : place::nowhere;
}

/// Where no newer copy is to come, or is needed: what workers that stand still
/// would copy is this state.
bool checkpoints::save_from_memory(outbox& out, const fetch_request& how) {
  const restart_point& here = newest();
  if (!here.in_memory || !how.to_disk || not_saved_ == here.step() ||
      newest_on_disk().step() == here.step() ||
      (here.step() != how.committed && !how.enough))
    return false;
  on_its_way_ = here.tally.identity();
  way_ = {false, how.now};
  out.put(fetch_checkpoint{.from = {},
                           .after = *on_its_way_,
                           .keep = how.keep,
                           .requested = true,
                           .in_memory = false,
                           .file = here.checkpoint});
  return true;
}

bool checkpoints::fetch(outbox& out, const generation_state& members,
                        const fetch_request& how) {
  if (on_its_way_ || save_from_memory(out, how) || !copied_ ||
      *copied_ > how.committed)
    return false;
  const step_number step = *copied_;
  const bool complete = members.number == copied_by_;
  // Whoever is away comes back, or another generation begins without it.
  if (complete && !how.connected)
    return false;
  copied_.reset();
  auto point = copies_.find(step);
  // A busy worker told of later steps first.
  if (point == copies_.end())
    return true;
  if (step <= newest().step())
    return false;
  if (!complete)
    return true;
  copies_.erase(copies_.begin(), point);
  const place to = place_of(how);
  const bool requested = std::exchange(wanted_, false) || how.requested;
  if (to == place::nowhere)
    return false;
  on_its_way_ = point->second.tally.identity();
  way_ = {to == place::memory, how.now};
  fetch_checkpoint what{{}, *on_its_way_, how.keep, requested, way_.in_memory};
  for (size_t rank = 0; rank < members.workers.size(); ++rank)
    what.from.push_back({members.workers[rank], members.data_addresses[rank]});
  out.put(std::move(what));
  return false;
}

checkpoints::written checkpoints::take(const ledger::checkpoint_identity& after,
                                       std::string file, bool failed,
                                       uint32_t keep) {
  if (on_its_way_ != after)
    return written::strange;
  on_its_way_.reset();
  const auto is_it = [&](const restart_point& one) {
    return one.in_memory && one.tally.identity() == after;
  };
  const auto kept = std::find_if(points_.begin(), points_.end(), is_it);
  if (failed && kept != points_.end())
    not_saved_ = after.step;
  if (failed) // a rank holds one copy: a newer one may have replaced it
    return copied_ && *copied_ > after.step ? written::superseded
                                            : written::failed;
  auto point = copies_.find(after.step);
  restart_point made;
  if (kept != points_.end())
    made = *kept;
  else if (point != copies_.end() && point->second.tally.identity() == after)
    made = std::move(point->second);
  else
    return written::superseded;
  if (point != copies_.end())
    copies_.erase(point);
  made.checkpoint = std::move(file);
  made.in_memory = way_.in_memory;
  if (!made.in_memory)
    disk_at_ = way_.since;
  keep_point(std::move(made), keep);
  failures_ = 0;
  return written::published;
}

/// One in memory; on the disk the newest. The first one is the seed, which
/// costs nothing to keep.
void checkpoints::keep_point(restart_point made, uint32_t keep) {
  const auto same_place = [&](const restart_point& one) {
    return one.in_memory == made.in_memory;
  };
  auto too_many = std::count_if(points_.begin(), points_.end(), same_place) -
                  ptrdiff_t(made.in_memory ? 0 : keep);
  for (auto it = points_.begin() + 1; too_many > 0 && it != points_.end();)
    if (same_place(*it)) {
      it = points_.erase(it);
      --too_many;
    } else {
      ++it;
    }
  auto at = points_.end();
  // From memory: that one is loaded sooner.
  if (points_.back().in_memory && points_.back().step() == made.step())
    --at;
  points_.insert(at, std::move(made));
}

void checkpoints::try_again(instant now) {
  if (++failures_ < attempts_max)
    again_ = now + retry;
}

bool checkpoints::due_again(instant now) {
  if (!again_ || now < *again_)
    return false;
  again_.reset();
  not_saved_.reset();
  return true;
}

} // namespace ballast::coordinator
