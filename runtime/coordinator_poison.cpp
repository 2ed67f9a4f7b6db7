/// The part of coordinator_core that looks for data which no worker survives: a
/// step whose loss is not finite, and samples that are in flight whenever a
/// worker dies by its own fault.
#include "runtime/coordinator_core.hpp"

#include <algorithm>

namespace ballast {

namespace {

/// All ranks refuse the same step; the slowest one's word may take so long.
constexpr std::chrono::seconds refusal_wait{5};
/// Deaths with the same sample in flight before it is held to be the cause.
constexpr uint32_t deaths_max = 3;
constexpr size_t samples_named_max = 10;

/// Not the fault of somebody else, as a kill, a drain, or an eviction is.
bool own_fault(const std::string& how) {
  if (how.starts_with("exited with code"))
    return !how.starts_with("exited with code 0");
  return how.starts_with("killed by signal ") &&
         !how.starts_with("killed by signal 9 ") &&
         !how.starts_with("killed by signal 15 ");
}

} // namespace

actions coordinator_core::refuse_step(const worker_failed& message,
                                      instant now) {
  actions out;
  if (!run_->refused) {
    run_->refused = run::refused_step{
        message.step, message.message, now + refusal_wait, {}};
    run_->copy_wanted = true;
    if (next(run_->last.step) == message.step)
      run_->copies[run_->last.step] = point_here();
    fetch_copy(out);
  }
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
  bool told = refused.sample_ids.size() >= run_->members->workers.size();
  bool saved = next(run_->points.back().step()) == refused.step;
  if ((!told || !saved) && now < refused.until)
    return;
  nlohmann::ordered_json samples = nlohmann::ordered_json::object();
  for (const auto& [who, ids] : refused.sample_ids)
    samples[name_of(who)] = ids;
  std::string why = refused.why + "; the samples of the step are in "
                                  "events.jsonl";
  if (saved)
    why += ", the state before it in " + run_->points.back().checkpoint;
  out.push_back(write_event{"error",
                            {{"code", to_string(errc::non_finite_loss)},
                             {"message", why},
                             {"pointer", ""},
                             {"step", value(refused.step)},
                             {"samples", samples}}});
  run_->refused.reset();
  finish(out, run_phase::failed, describe(errc::non_finite_loss).exit_code,
         why);
}

/// What the worker was at, or would have done next.
std::vector<row_ref> coordinator_core::in_flight(worker_id who) const {
  std::vector<row_ref> out;
  if (!run_ || !run_->members || !run_->book ||
      !member(who, run_->members->number))
    return out;
  const commit_tracker& commits = run_->members->commits;
  step_number applied =
      std::max(commits.applied_by(rank_of(who)), run_->last.step);
  ledger book = book_at(commits.waiting(applied));
  if (value(book.next().epoch) > run_->what.train.epochs)
    return out;
  const std::vector<share>& shares = book.current().shares;
  for (size_t rank = 0; rank < shares.size(); ++rank)
    if (shares[rank].worker == who) {
      sequence own = book.sequence_of(rank);
      own.draw(book.takes()[rank], out);
    }
  return out;
}

/// Within an epoch a sample is in flight again only if it was not committed,
/// so the counts need no clearing before the epoch ends.
void coordinator_core::suspect(actions& out, worker_id who,
                               const std::vector<row_ref>& rows,
                               const std::string& how) {
  if (!own_fault(how) || !active())
    return;
  for (const row_ref& row : rows)
    ++run_->suspects[row];
  std::string named;
  size_t count = 0;
  for (const auto& [row, deaths] : run_->suspects)
    if (deaths >= deaths_max && ++count <= samples_named_max)
      named += (named.empty() ? "" : ", ") + std::string("chunk ") +
               to_string(row.chunk) + " row " + std::to_string(row.row);
  if (count == 0)
    return;
  actions more = fail(
      {errc::poison_sample,
       std::to_string(deaths_max) +
           " workers died with the same samples in flight, the last one "
           "was " +
           name_of(who) + " (" + how + "): " + named +
           (count > samples_named_max
                ? " and " + std::to_string(count - samples_named_max) + " more"
                : "") +
           "; look at these rows (sample_id = place in the prepared set)",
       {}});
  out.insert(out.end(), more.begin(), more.end());
}

} // namespace ballast
