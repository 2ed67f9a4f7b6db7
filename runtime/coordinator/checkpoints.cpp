#include "runtime/coordinator/checkpoints.hpp"

#include <utility>

namespace ballast::coordinator {

namespace {

/// Of periodic copies, beside those that are fetched or about to be.
constexpr size_t copies_max = 8;
/// How often, and how soon, a copy that was asked for is made again where it
/// could not be fetched.
constexpr uint32_t attempts_max = 10;
constexpr std::chrono::seconds retry{1};

} // namespace

std::string checkpoints::drop_newest() {
  std::string out = std::move(points_.back().checkpoint);
  points_.pop_back();
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

void checkpoints::forget_copies() {
  copies_.clear();
  copied_.reset();
}

bool checkpoints::fetch(outbox& out, const generation_state& members,
                        const fetch_request& how) {
  if (!copied_ || on_its_way_ || *copied_ > how.committed)
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
  const bool requested = std::exchange(wanted_, false) || how.requested;
  on_its_way_ = point->second.tally.identity();
  fetch_checkpoint what{{}, *on_its_way_, how.keep, requested};
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
  auto point = copies_.find(after.step);
  if (failed) // a rank holds one copy: a newer one may have replaced it
    return copied_ && *copied_ > after.step ? written::superseded
                                            : written::failed;
  if (point == copies_.end() || point->second.tally.identity() != after)
    return written::superseded;
  point->second.checkpoint = std::move(file);
  // The first one is the seed, which costs nothing to keep.
  while (points_.size() > keep)
    points_.erase(points_.begin() + 1);
  points_.push_back(std::move(point->second));
  failures_ = 0;
  copies_.erase(point);
  return written::published;
}

void checkpoints::try_again(instant now) {
  if (++failures_ < attempts_max)
    again_ = now + retry;
}

bool checkpoints::due_again(instant now) {
  if (!again_ || now < *again_)
    return false;
  again_.reset();
  return true;
}

} // namespace ballast::coordinator
