/// The part of coordinator_core that looks for data which no worker survives: a
/// step whose loss is not finite, and samples that are in flight whenever a
/// worker dies by its own fault.
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

/// All ranks refuse the same step; the slowest one's word may take so long.
constexpr std::chrono::seconds refusal_wait{5};
/// Deaths with the same sample in flight before it is held to be the cause.
constexpr uint32_t deaths_max = 3;

} // namespace

actions coordinator_core::refuse_step(const worker_failed& message,
                                      instant now) {
  actions out;
  if (!run_->refused) {
    run_->refused =
        run::refused_step{message.step,       message.code, message.message,
                          now + refusal_wait, {},           {}};
    if (next(run_->last.step) == message.step)
      run_->copies[run_->last.step] = point_here();
    fetch_copy(out);
  }
  // Done again by others, the step is parted among them in another way.
  if (std::exchange(run_->refused->under, message.generation) !=
      message.generation)
    run_->refused->sample_ids.clear();
  run_->refused->sample_ids[message.worker] = message.sample_ids;
  conclude_refused(out, now);
  return out;
}

/// Ends the run once every member has told its samples and the state before is
/// on the disk.
void coordinator_core::conclude_refused(actions& out, instant now) {
  if (!run_ || !run_->refused || !active())
    return;
  const run::refused_step& refused = *run_->refused;
  bool told = !run_->members ||
              refused.sample_ids.size() >= run_->members->workers.size();
  bool saved = next(run_->points.back().step()) == refused.step;
  if ((!told || !saved) && now < refused.until)
    return;
  decltype(events::step_refused::samples) samples;
  for (const auto& [who, ids] : refused.sample_ids)
    samples.emplace_back(name_of(who), ids);
  std::string why = refused.why + "; the samples of the step are in "
                                  "events.jsonl";
  if (!run_->points.back().checkpoint.empty())
    why += saved ? ", the state before it in " : ", the newest checkpoint is ";
  why += run_->points.back().checkpoint;
  const errc code = refused.code;
  out.push_back(write_event{
      events::step_refused{{code, why, {}}, refused.step, std::move(samples)}});
  run_->refused.reset();
  finish(out, run_phase::failed, describe(code).exit_code, why);
}

/// All had begun, so it is at a step or about to be.
bool coordinator_core::in_a_step(worker_id who) const {
  return run_->members && member(who, run_->members->number) &&
         run_->members->ready.size() == run_->members->workers.size();
}

/// Nobody applies a step to which a member has not contributed everything. So
/// who died was at the step behind those that the survivors hold, whatever it
/// had last reported.
void coordinator_core::locate_deaths(actions& out, ledger at) {
  auto& deaths = run_->step_deaths;
  if (deaths.empty())
    return;
  // In force, also where no step was committed under it yet.
  const plan& last = run_->members->current;
  bool fits = last.number <= at.current().number || !at.switch_to(last);
  // Whether an offer was in force already, nobody can tell.
  fits = fits && !(run_->transfer && run_->transfer->sent);
  const std::vector<share>& shares = at.current().shares;
  bool over = value(at.next().epoch) > run_->what.train.epochs;
  for (size_t rank = 0; fits && !over && rank < shares.size(); ++rank) {
    auto found = deaths.find(shares[rank].worker);
    if (found == deaths.end() || found->second.rows)
      continue;
    sequence own = at.sequence_of(rank);
    own.draw(at.takes()[rank], found->second.rows.emplace());
  }
  // A guess would accuse others.
  std::erase_if(deaths, [](const auto& one) { return !one.second.rows; });
  for (const auto& [who, death] : std::map(deaths))
    judge(out, who);
}

/// The run goes back, and what the last ones were at is not known.
void coordinator_core::died_in_vain(actions& out) {
  for (auto& [who, death] : run_->step_deaths)
    death.nobody_survived = death.nobody_survived || !death.rows;
  for (const auto& [who, death] : std::map(run_->step_deaths))
    judge(out, who);
}

void coordinator_core::explain_death(actions& out, worker_id who,
                                     const loss_cause& how) {
  auto found = run_->step_deaths.find(who);
  if (found == run_->step_deaths.end() || !active())
    return;
  if (!own_fault(how)) {
    run_->step_deaths.erase(found);
    return;
  }
  found->second.how = how;
  judge(out, who);
}

/// Counts a death of which all is known that ever will be.
void coordinator_core::judge(actions& out, worker_id who) {
  auto found = run_->step_deaths.find(who);
  if (!found->second.how ||
      (!found->second.rows && !found->second.nobody_survived))
    return;
  step_death death = std::move(found->second);
  run_->step_deaths.erase(found);
  std::string last =
      "the last one was " + name_of(who) + " (" + describe(*death.how) + ")";
  if (!death.rows) {
    // Where others saw what somebody was at, the next ones to see it will tell
    // more than that the last of a few dies, too.
    const uint32_t most = run_->suspects.empty() ? deaths_max : 2 * deaths_max;
    if (++run_->deaths_in_vain >= most)
      out.push_back(give_up{
          {errc::worker_lost,
           std::to_string(run_->deaths_in_vain) +
               " times the last worker died by its own fault and the run went "
               "back to step " +
               to_string(run_->points.back().step()) + "; " + last +
               ": see its file in logs/",
           {}},
          {}});
    return;
  }
  std::vector<row_ref> guilty;
  for (const row_ref& row : *death.rows)
    if (++run_->suspects[row] >= deaths_max)
      guilty.push_back(row);
  if (!guilty.empty())
    out.push_back(give_up{{errc::poison_sample,
                           std::to_string(deaths_max) +
                               " workers died with the same samples in "
                               "flight, " +
                               last,
                           {}},
                          std::move(guilty)});
}

/// Before a step is committed: its samples killed nobody.
void coordinator_core::acquit(const committed_step& step) {
  if (run_->suspects.empty())
    return;
  ledger at = *run_->book;
  enter(at, step.plan);
  std::vector<row_ref> rows;
  for (size_t rank = 0; rank < at.takes().size(); ++rank)
    at.sequence_of(rank).draw(at.takes()[rank], rows);
  for (const row_ref& row : rows)
    run_->suspects.erase(row);
}

} // namespace ballast
