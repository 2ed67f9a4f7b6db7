#include "runtime/ledger/replay.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>
#include <numeric>

namespace ballast::ledger {

replay::replay(const recorded_run& run) {
  if (run.plans.empty()) {
    error_ = "no plan ever took effect";
    return;
  }
  for (size_t i = run.plans.size(); i-- > 0;)
    if (plans_.empty() || run.plans[i].effective < plans_.back()->effective)
      plans_.push_back(&run.plans[i]);
  std::reverse(plans_.begin(), plans_.end());
  const plan_in_force& first = *plans_.front();
  if (first.effective != position{}) {
    error_ = "the first plan, " + to_string(first.body.number) +
             ", begins at step " + to_string(first.effective.step) +
             ", not at step 1 of epoch 1";
    return;
  }
  if (auto wrong = start_error(run.config, first.body, position{}, {})) {
    error_ = "plan " + to_string(first.body.number) + ": " + *wrong;
    return;
  }
  book_.emplace(run.config, first.body);
  next_plan_ = 1;
  begin_plans();
  renew_orders();
}

/// Puts the plan into force that begins at the next step.
void replay::begin_plans() {
  while (!error_ && next_plan_ < plans_.size() &&
         plans_[next_plan_]->effective.step <= book_->next().step) {
    const plan_in_force& coming = *plans_[next_plan_++];
    std::string who = "plan " + to_string(coming.body.number);
    if (coming.effective != book_->next())
      error_ = who + " is said to begin at step " +
               to_string(coming.effective.step) + " of epoch " +
               to_string(coming.effective.epoch) + ", which is none";
    else if (auto refused = book_->switch_to(coming.body))
      error_ = who + " cannot begin at step " +
               to_string(coming.effective.step) + ": " + *refused;
  }
}

void replay::renew_orders() {
  orders_.clear();
  for (size_t rank = 0; rank < book_->current().shares.size(); ++rank) {
    orders_.push_back(book_->order_of(rank));
    if (orders_.back().is_of_all())
      break;
  }
}

void replay::walk(std::vector<std::vector<row_ref>>& rows) {
  BALLAST_CHECK(!error_, "a record that contradicts itself has no next step");
  rows.resize(book_->takes().size());
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    rows[rank].clear();
    orders_[std::min(rank, orders_.size() - 1)].draw(book_->parts_of(rank),
                                                     rows[rank]);
  }
  bool epoch_ended = book_->last_of_epoch();
  plan_number before = book_->current().number;
  book_->advance();
  begin_plans();
  if (!error_ && (epoch_ended || book_->current().number != before))
    renew_orders();
}

std::optional<committed_step> ledger_walk::walk(bool& entered) {
  // A plan that begins with this step is not in force yet: see book().
  if (!replay_.error_)
    replay_.begin_plans();
  if (replay_.error_)
    return std::nullopt;
  ledger& book = *replay_.book_;
  committed_step out;
  out.step = book.next().step;
  out.epoch = book.next().epoch;
  out.generation = book.current().generation;
  out.plan = book.current().number;
  out.world = uint32_t(book.current().shares.size());
  out.samples =
      std::accumulate(book.takes().begin(), book.takes().end(), uint64_t{0});
  entered = out.plan != last_plan_;
  last_plan_ = out.plan;
  book.advance();
  return out;
}

} // namespace ballast::ledger
