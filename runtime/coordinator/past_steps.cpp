#include "runtime/coordinator/past_steps.hpp"

#include "runtime/messages/judge.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace ballast::coordinator {

namespace {

/// Why a line of steps.jsonl is not the step of the ledger; empty if it is.
std::string difference(const ledger::committed_step& line,
                       const ledger::committed_step& expected) {
  auto at = [&line](const char* field, uint64_t is, uint64_t should) {
    return "steps.jsonl: step " + to_string(line.step) + " has " + field + " " +
           std::to_string(is) + ", by the ledger it is " +
           std::to_string(should);
  };
  if (line.step != expected.step)
    return "steps.jsonl: after step " +
           std::to_string(value(expected.step) - 1) + " comes step " +
           to_string(line.step);
  if (line.epoch != expected.epoch)
    return at("epoch", value(line.epoch), value(expected.epoch));
  if (line.generation != expected.generation)
    return at("generation", value(line.generation), value(expected.generation));
  if (line.plan != expected.plan)
    return at("plan", value(line.plan), value(expected.plan));
  if (line.world != expected.world)
    return at("world", line.world, expected.world);
  if (line.samples != expected.samples)
    return at("samples", line.samples, expected.samples);
  return {};
}

class checker {
public:
  checker(const past_run& past, const ledger::recorded_run& record,
          uint64_t lineage, std::optional<evaluation_schedule> due)
      : past_(past), walk_(record), evaluations_due_(due), judge_(past.what) {
    out_.tally.lineage = lineage;
    out_.points.push_back({{}, out_.tally, std::nullopt});
    for (const evaluation_report& one : past.evaluations)
      evaluations_[one.step] = &one;
    for (const past_checkpoint& one : past.checkpoints)
      saved_.emplace(one.holds.step, &one);
  }

  bool take_lines() {
    for (const ledger::committed_step& line : past_.steps) {
      bool entered = false;
      std::optional<ledger::committed_step> expected = walk_.walk(entered);
      std::string wrong =
          expected ? difference(line, *expected)
                   : "the ledger contradicts itself: " + *walk_.error();
      if (!wrong.empty()) {
        out_.problem = {errc::run_dir_unusable,
                        wrong + "; one of the two was changed, so the run "
                                "cannot go on",
                        {}};
        return false;
      }
      count(out_.tally, line, entered);
      take_checkpoint(out_.tally, true);
    }
    if (walk_.error()) {
      out_.problem = {errc::run_dir_unusable,
                      "the ledger contradicts itself: " + *walk_.error(),
                      {}};
      return false;
    }
    out_.book = walk_.book();
    return true;
  }

  /// Behind the last line: as far as the journal or a checkpoint proves that
  /// steps were committed.
  void take_lost(uint64_t steps_max) {
    step_number last = past_.committed;
    for (const auto& [step, one] : saved_)
      last = std::max(last, step);
    run_tally ahead = out_.tally;
    std::vector<ledger::committed_step> more;
    while (ahead.last.step < last && value(ahead.last.step) < steps_max) {
      bool entered = false;
      std::optional<ledger::committed_step> step = walk_.walk(entered);
      if (!step)
        return; // what lies behind is refused, by name
      step->loss = std::numeric_limits<double>::quiet_NaN();
      step->t_ns = ahead.last.t_ns;
      count(ahead, *step, entered);
      more.push_back(*step);
      if (!take_checkpoint(ahead, false) && ahead.last.step > past_.committed)
        continue;
      out_.tally = ahead;
      out_.book = walk_.book();
      out_.lost.insert(out_.lost.end(), more.begin(), more.end());
      more.clear();
    }
  }

  past_steps result() {
    for (const auto& [step, one] : saved_)
      refuse(*one, "the run has committed only " +
                       to_string(out_.tally.last.step) + " steps");
    return std::move(out_);
  }

private:
  void count(run_tally& to, const ledger::committed_step& step,
             bool entered) const {
    to.lineage = lineage_after(to.lineage, step,
                               entered ? &walk_.book().current() : nullptr);
    if (const auto found = evaluations_.find(to.last.step);
        found != evaluations_.end()) {
      judge_.hear(to.judged, *found->second);
      to.test = *found->second;
    }
    auto evaluated = past_.evaluated_ns.find(to.last.step);
    if (evaluated != past_.evaluated_ns.end())
      to.evaluated_ns = evaluated->second;
    // How long an evaluation took, not every one's event tells.
    bool unknown = evaluations_due_ && evaluations_due_->is_due(to.last.step) &&
                   evaluated == past_.evaluated_ns.end();
    if (unknown || past_.restarts.contains(step.step))
      to.timed = false;
    to.count(step, past_.rows);
  }

  /// True if there is one of this step, and of this history; on the disk, in
  /// memory, or both.
  bool take_checkpoint(const run_tally& here, bool proven) {
    const auto [begin, end] = saved_.equal_range(here.last.step);
    const auto same = [&](const auto& one) {
      return one.second->holds == here.identity();
    };
    const bool found = std::any_of(begin, end, same);
    if (!found && !proven)
      return false; // said at the end, if nothing proves this step
    for (auto it = begin; it != end; ++it) {
      const past_checkpoint& one = *it->second;
      if (same(*it))
        out_.points.push_back({one.file, here, walk_.book(), one.in_memory});
      else
        refuse(one, why_other(one.holds, here.identity()));
    }
    saved_.erase(begin, end);
    return found;
  }

  void refuse(const past_checkpoint& one, std::string why) {
    out_.refused.push_back({one, std::move(why)});
  }

  const past_run& past_;
  ledger::ledger_walk walk_;
  const std::optional<evaluation_schedule> evaluations_due_;
  const judge judge_;
  std::map<step_number, const evaluation_report*> evaluations_;
  std::multimap<step_number, const past_checkpoint*> saved_;
  past_steps out_;
};

} // namespace

past_steps check_past_steps(const past_run& past,
                            const ledger::recorded_run& record,
                            uint64_t lineage, uint64_t steps_max,
                            std::optional<evaluation_schedule> due) {
  checker one(past, record, lineage, due);
  bool placed = !record.plans.empty() || !past.steps.empty();
  if (placed && one.take_lines())
    one.take_lost(steps_max);
  return one.result();
}

} // namespace ballast::coordinator
