// What outlives the coordinator: its journal and its files.
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>

namespace ballast::simulation {

/// What journal and files hold.
past_run cluster::remembered() const {
  past_run out;
  out.begun = what_;
  out.what = what_;
  out.name = "sim-1";
  out.rows = options_.rows;
  out.memberships = memberships_;
  for (const auto& [number, one] : plans_)
    out.plans.push_back(one);
  out.steps = steps_;
  out.asked = asked_;
  for (const auto& [file, state] : checkpoints_)
    if (state.size() <= steps_.size())
      out.checkpoints.push_back({step_number{state.size()}, file});
  std::sort(out.checkpoints.begin(), out.checkpoints.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  return out;
}

void cluster::keep(const journal_change& what) {
  if (!what.effective)
    ++outcome_.joins;
  if (what.generation <= journaled_)
    fail("generation " + to_string(what.generation) + " after " +
         to_string(journaled_));
  journaled_ = what.generation;
  changed_at_ = now_;
  if (what.effective)
    settled_ = what.generation;
  plans_[what.what.number] = {what.what, what.effective, what.note, false};
  memberships_.push_back(
      {what.generation, what.workers, what.names, what.incarnations});
  outcome_.generations = value(journaled_);
  log("generation " + to_string(what.generation) + " of " +
      std::to_string(what.workers.size()) +
      (what.effective ? " from step " + to_string(what.effective->step)
                      : " offered"));
}

void cluster::keep(const journal_offer& what) {
  if (what.what.generation != journaled_)
    fail("an offer for generation " + to_string(what.what.generation));
  plans_[what.what.number] = {what.what, std::nullopt, what.note, false};
  log("plan " + to_string(what.what.number) + " offered");
}

void cluster::keep(const journal_effective& what) {
  past_plan& one = plans_.at(what.number);
  if (one.effective && *one.effective != what.from)
    fail("plan " + to_string(what.number) + " gets a second position");
  one.effective = what.from;
  if (one.body.generation != settled_)
    changed_at_ = now_;
  settled_ = one.body.generation;
}

/// Of each plan it is told once how it ended: that it is in force, or dropped.
void cluster::keep(const write_event& what) {
  std::string outcome = what.fields.value("outcome", "");
  if (what.kind != "balance" && (what.kind != "plan" || outcome == "offered"))
    return;
  plan_number number{what.fields.at("plan").get<uint64_t>()};
  log("plan " + to_string(number) + " is told: " + what.kind + " " + outcome);
  if (outcome != "dropped" && !told_.insert(number).second)
    fail("plan " + to_string(number) + " is told twice");
  if (auto known = plans_.find(number); known != plans_.end())
    known->second.told = true;
}

void cluster::keep(const undo_steps& what) {
  log("back to step " + to_string(what.to) + ": " + what.reason);
  outcome_.undone += steps_.size() - value(what.to);
  steps_.resize(value(what.to));
  if (shown_.size() > steps_.size())
    shown_.resize(steps_.size());
  std::erase_if(checkpoints_, [&](const auto& one) {
    return one.second.size() > steps_.size();
  });
}

/// Every plan under which a step was done is told of in the events.
void cluster::check_told() {
  for (const committed_step& step : steps_)
    if (!told_.contains(step.plan))
      fail("step " + to_string(step.step) + " is shown under plan " +
           to_string(step.plan) + ", of which no event tells");
}

} // namespace ballast::simulation
