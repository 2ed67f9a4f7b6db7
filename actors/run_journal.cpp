#include "actors/run_journal.hpp"

#include "runtime/base/errors.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <variant>

namespace ballast::actors {

namespace {

/// Keeps in the journal what outlives the coordinator that told it.
struct memory {
  store::journal& in;
  uint64_t event;

  void operator()(const coordinator::events::plan_effective& e) const {
    in.record_told({e.plan, e.generation, false}, event);
  }
  void operator()(const coordinator::events::balanced& e) const {
    (*this)(e.what);
  }
  void operator()(const coordinator::events::plan_dropped& e) const {
    in.record_told({e.plan, e.generation, true}, event);
  }
  void operator()(const coordinator::events::evaluated& e) const {
    evaluation_report what;
    what.epoch = e.epoch;
    what.step = e.step;
    what.loss = e.loss;
    what.accuracy = e.accuracy.value_or(0);
    what.rows = e.rows;
    what.values = e.values;
    what.wall_ns = uint64_t(e.took.count() * 1e6);
    in.record_evaluation(what, event);
  }
  void operator()(const coordinator::events::generation_begun& e) const {
    using begun = coordinator::events::generation_begun;
    if (const auto* how = std::get_if<begun::recovered>(&e.why))
      in.record_recovery(
          {coordinator::describe(how->reason), how->whole.count()}, event);
    if (std::holds_alternative<begun::from_checkpoint>(e.why))
      in.record_restart(e.step, event);
  }
  template <class Other>
  void operator()(const Other&) const {}
};

} // namespace

store::journal& run_journal::open() {
  if (!book_)
    throw ballast_error(errc::internal,
                        "the run is over: its journal is closed");
  return *book_;
}

void run_journal::perform(const coordinator::journal_change& action) {
  store::journaled_generation row;
  row.number = action.generation;
  for (size_t i = 0; i < action.workers.size(); ++i)
    row.workers.push_back(
        {action.workers[i], action.names[i], action.incarnations[i]});
  open().record_change(row, action.what, action.effective, action.note);
  probe_->generation(action.generation);
  probe_->world(uint32_t(action.workers.size()));
  probe_->plan(action.effective
                   ? monitor::coordinator_probe::plan_outcome::effective
                   : monitor::coordinator_probe::plan_outcome::offered);
}

void run_journal::perform(const coordinator::journal_offer& action) {
  open().record_offer(action.what, action.note);
  probe_->plan(monitor::coordinator_probe::plan_outcome::offered);
}

void run_journal::perform(const coordinator::journal_effective& what) {
  open().record_effective(what.number, what.from);
  probe_->plan(monitor::coordinator_probe::plan_outcome::effective);
}

void run_journal::perform(const coordinator::journal_requests& action) {
  open().record_requests(action.what);
}

void run_journal::perform(const coordinator::journal_job& action) {
  open().record_job(to_json(action.what));
}

void run_journal::perform(const coordinator::journal_probe& what) {
  open().record_probe(what.probe);
}

void run_journal::perform(const coordinator::journal_commit& what) {
  open().record_commit(what.step, what.epoch);
}

/// The journal first, with the number of the line: a line that is missing then
/// was not told, and the next coordinator tells it.
void run_journal::tell(const coordinator::run_event& what,
                       monitor::event_log& events) {
  const monitor::event_text text = monitor::text_of(what);
  log_event(text);
  store::journal& book = open();
  try {
    events.append(text, [&](uint64_t number) {
      std::visit(memory{book, number}, what);
    });
  } catch (const ballast_error&) {
    try {
      book.forget_events_after(events.last());
    } catch (const ballast_error&) { // for the same reason; it comes again
    }
    throw;
  }
  probe_->event(what); // once, also where the disk was full first
}

} // namespace ballast::actors
