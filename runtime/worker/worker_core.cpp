#include "runtime/worker/worker_core.hpp"

#include "runtime/base/check.hpp"
#include "runtime/ledger/step_takes.hpp"

#include <utility>

namespace ballast::worker {

namespace {

bool names(const ledger::plan& p, worker_id who) {
  for (const ledger::share& part : p.shares)
    if (part.worker == who)
      return true;
  return false;
}

size_t rank_in(const ledger::plan& p, worker_id self) {
  for (size_t rank = 0; rank < p.shares.size(); ++rank)
    if (p.shares[rank].worker == self)
      return rank;
  BALLAST_CHECK(false, "a plan that does not name its worker");
}

/// The rows of a leaf in the next step of `at`; `from` is of its epoch.
std::vector<ledger::row_ref> leaf_rows(const ledger::ledger& at,
                                       ledger::row_order from, uint32_t leaf,
                                       uint32_t leaves) {
  uint64_t samples = 0;
  for (uint64_t take : at.takes())
    samples += take;
  std::vector<ledger::row_ref> out;
  for (size_t rank = 0; rank < at.leaves().size(); ++rank)
    for (size_t i = 0; i < at.leaves()[rank].size(); ++i) {
      const ledger::leaf_range own = at.leaves()[rank][i];
      if (leaf < own.begin || leaf >= own.end)
        continue;
      const uint64_t first = ledger::rows_of(own, samples, leaves).begin;
      const ledger::step_rows part =
          ledger::rows_of({leaf, leaf + 1}, samples, leaves);
      from.draw({{at.parts_of(rank)[i].first + part.begin - first,
                  part.end - part.begin}},
                out);
    }
  return out;
}

} // namespace

worker_core::worker_core(worker_core_config config, ledger::plan first,
                         ledger::position start,
                         std::vector<ledger::worker_cursor> cursors)
    : config_(std::move(config)),
      applied_(config_.ledger, first, start, std::move(cursors)),
      evaluations_(config_.evaluate_every, applied_.steps_per_epoch(),
                   config_.epochs),
      ahead_(applied_), own_(ahead_.order_of(rank_in(first, config_.self))),
      rank_(rank_in(first, config_.self)), ahead_rank_(rank_) {
  own_since_ = first.shares[rank_].since;
  own_epoch_ = start.epoch;
  renew_turns();
}

uint64_t worker_core::steps_total() const {
  return config_.epochs * applied_.steps_per_epoch();
}

std::vector<ledger::worker_cursor> worker_core::cursors() const {
  std::vector<ledger::worker_cursor> out;
  for (size_t rank = 0; rank < world(); ++rank)
    out.push_back(applied_.cursor_of(rank));
  return out;
}

bool worker_core::ends_before(ledger::position at) const {
  return stopped_ || value(at.epoch) > config_.epochs ||
         (agreed_ && agreed_->stop && at.step > agreed_->after);
}

void worker_core::renew_own_order() {
  const ledger::share& mine = ahead_.current().shares[ahead_rank_];
  if (mine.since == own_since_ && ahead_.next().epoch == own_epoch_)
    return;
  own_ = ahead_.order_of(ahead_rank_);
  own_since_ = mine.since;
  own_epoch_ = ahead_.next().epoch;
  renew_turns();
}

void worker_core::renew_turns() {
  own_fresh_ = own_.takes_turns();
  next_turns_ = ahead_.turns_of(ahead_rank_, next(own_epoch_));
}

std::shared_ptr<const std::vector<chunk_id>> worker_core::upcoming() const {
  auto out = std::make_shared<std::vector<chunk_id>>();
  own_.upcoming(*out);
  if (value(own_epoch_) == config_.epochs)
    return out;
  // A chunk that is used in the next epoch only comes behind all others.
  std::vector<bool> there(config_.ledger.chunk_rows.size());
  for (chunk_id id : *out)
    there[value(id)] = true;
  for (chunk_id id : next_turns_)
    if (!there[value(id)]) {
      there[value(id)] = true;
      out->push_back(id);
    }
  return out;
}

std::optional<step_order> worker_core::draw() {
  ledger::position at = ahead_.next();
  BALLAST_CHECK(value(at.step) <= value(applied_.next().step) + 1,
                "drawing more than one step ahead");
  if (ends_before(at))
    return std::nullopt;
  // What is agreed for after the step in flight is already known here: lanes
  // leave a whole step between agreement and effect.
  if (agreed_ && agreed_->switch_to && at.step == next(agreed_->after)) {
    if (!names(*agreed_->switch_to, config_.self))
      return std::nullopt;
    auto refused = ahead_.switch_to(*agreed_->switch_to);
    BALLAST_CHECK(!refused, "an agreed plan must fit: " + *refused);
    ahead_rank_ = rank_in(*agreed_->switch_to, config_.self);
  }
  renew_own_order();
  step_order out;
  out.at = at;
  out.generation = ahead_.current().generation;
  out.plan = ahead_.current().number;
  for (uint64_t take : ahead_.takes())
    out.samples += take;
  if (own_fresh_)
    out.upcoming = upcoming();
  const uint64_t window_end = own_.window_end();
  const std::vector<ledger::step_part> own = ahead_.parts_of(ahead_rank_);
  out.leaves = ahead_.leaves();
  out.rows.reserve(ahead_.takes()[ahead_rank_]);
  draw_checks(out);
  own_.draw(own, out.rows);
  own_fresh_ = own_.window_end() != window_end; // the same without a window
  ahead_.advance();
  return out;
}

void worker_core::draw_checks(step_order& out) const {
  const uint64_t every = config_.check_every_steps;
  const uint64_t step = value(out.at.step);
  if (every == 0 || step % every != 0 || out.leaves.empty())
    return;
  out.checks = ledger::spot_checks(out.leaves, out.samples,
                                   config_.ledger.leaves, step / every);
  for (const ledger::spot_check& one : out.checks)
    if (one.checker == ahead_rank_)
      out.checked_rows =
          leaf_rows(ahead_, own_, one.leaf, config_.ledger.leaves);
}

std::vector<ledger::row_ref> worker_core::rows_of_leaf(uint32_t leaf) const {
  return leaf_rows(applied_, applied_.order_of(rank_), leaf,
                   config_.ledger.leaves);
}

bool worker_core::leaves_nothing_out() const {
  const step_number here = applied_.next().step;
  if (copies_next_ || value(here) == steps_total() ||
      (config_.may_end_early && evaluations_.is_due(here)))
    return true;
  return agreed_ && agreed_->after == here &&
         (agreed_->pause || agreed_->stop ||
          agreed_->switch_to->generation != applied_.current().generation);
}

step_number worker_core::copied_after() const {
  const step_number here = applied_.next().step;
  return config_.compresses ? next(here) : here;
}

trailer worker_core::contribution(uint64_t samples, double loss_sum,
                                  copy_wish copy) {
  trailer out;
  out.set_samples(samples);
  out.set_loss_sum(loss_sum);
  if (copy.due)
    out.raise_copy_due_lane();
  if (copy.asked)
    out.raise_copy_asked_lane();
  if (copy.busy)
    out.raise_copy_busy_lane();
  contributed_ = plan_number{};
  contributed_pause_ = pause_wanted_;
  contributed_stop_ = stop_wanted_;
  // One agreement at a time: while one waits for its step nothing is raised.
  if (agreed_) {
    contributed_pause_ = contributed_stop_ = false;
    return out;
  }
  if (pending_) {
    contributed_ = pending_->number;
    out.raise_plan_lane(contributed_);
  }
  if (contributed_pause_)
    out.raise_pause_lane();
  if (contributed_stop_)
    out.raise_stop_lane();
  return out;
}

failure worker_core::reduced(const trailer& sums) {
  uint64_t expected = 0;
  for (uint64_t take : applied_.takes())
    expected += take;
  if (sums.samples() != float(expected))
    return {errc::digest_mismatch,
            "step " + to_string(applied_.next().step) + " reduced " +
                std::to_string(sums.samples()) +
                " samples where the plan says " + std::to_string(expected) +
                ": the workers disagree on the plan; nothing was applied",
            {}};
  copies_ = sums.copy_asked_lane() > 0 ||
            (sums.copy_due_lane() > 0 && sums.copy_busy_lane() == 0);
  if (config_.compresses)
    std::swap(copies_, copies_next_);
  auto everyone = float(applied_.current().shares.size());
  if (agreed_)
    return {};
  agreement now;
  now.after = next(applied_.next().step);
  // A worker acts on the number that it contributed, not on its newest offer.
  if (contributed_ != plan_number{} && pending_ &&
      pending_->number == contributed_ &&
      sums.plan_lane(contributed_) == everyone) {
    now.switch_to = std::move(pending_);
    pending_.reset();
  }
  // One thing at a time: newcomers of a switch know of no pause and no stop.
  // Both stay wanted, and come after it.
  if (!now.switch_to) {
    now.pause = contributed_pause_ && sums.pause_lane() == everyone;
    now.stop = contributed_stop_ && sums.stop_lane() == everyone;
  }
  if (now.switch_to || now.pause || now.stop)
    agreed_ = std::move(now);
  return {};
}

step_end worker_core::applied() {
  step_end out;
  ledger::position done = applied_.next();
  const generation trained_by = applied_.current().generation;
  out.evaluate = evaluations_.is_due(done.step);
  applied_.advance();
  if (agreed_ && agreed_->after == done.step) {
    if (agreed_->switch_to) {
      auto refused = applied_.switch_to(*agreed_->switch_to);
      BALLAST_CHECK(!refused, "an agreed plan must fit: " + *refused);
      out.left = !names(*agreed_->switch_to, config_.self);
      if (!out.left)
        rank_ = rank_in(*agreed_->switch_to, config_.self);
      if (!out.left && ahead_.next() == applied_.next()) {
        // Nothing was drawn ahead.
        ahead_ = applied_;
        ahead_rank_ = rank_;
      }
      out.plan_switched = true;
    }
    out.pause = agreed_->pause;
    stopped_ = agreed_->stop;
    agreed_.reset();
  }
  if (value(applied_.next().epoch) > config_.epochs) {
    out.finish = true;
    stopped_ = false;
  }
  out.finish = out.finish || stopped_;
  // The last step of a run leaves the model instead, that of a stopped one the
  // state from which it can go on.
  // Parts are cut by rank and world, which another generation changes.
  out.copy = out.finish
                 ? stopped_
                 : copies_ && applied_.current().generation == trained_by;
  if (applied_.current().generation != trained_by)
    copies_next_ = false; // newcomers do not know of it
  out.pause = out.pause && !out.finish;
  return out;
}

failure worker_core::install(const ledger::plan& pending) {
  if (pending.generation < applied_.current().generation)
    return {errc::stale_generation,
            "plan " + to_string(pending.number) + " belongs to generation " +
                to_string(pending.generation) + ", this is generation " +
                to_string(applied_.current().generation),
            {}};
  if (pending.number <= applied_.current().number ||
      (agreed_ && agreed_->switch_to &&
       pending.number <= agreed_->switch_to->number))
    return {errc::bad_request,
            "plan " + to_string(pending.number) + " is not newer",
            {}};
  if (auto wrong = succession_error(applied_.current(), pending,
                                    config_.ledger.chunk_rows))
    return {errc::bad_request,
            "plan " + to_string(pending.number) + ": " + *wrong,
            {}};
  if (auto wrong = kept_error(pending, config_.ledger.leaves))
    return {errc::bad_request,
            "plan " + to_string(pending.number) + ": " + *wrong,
            {}};
  pending_ = pending;
  return {};
}

} // namespace ballast::worker
