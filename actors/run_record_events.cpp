/// The part of run_record that tells what happens: a line for people, numbers
/// for the probe, and in the journal what the next coordinator must know of it.
#include "actors/run_record.hpp"

namespace ballast {

namespace {

/// Keeps in the journal what outlives the coordinator that told it.
struct memory {
  journal& in;
  uint64_t event;

  void operator()(const events::plan_effective& e) const {
    in.record_told({e.plan, e.generation, false}, event);
  }
  void operator()(const events::balanced& e) const { (*this)(e.what); }
  void operator()(const events::plan_dropped& e) const {
    in.record_told({e.plan, e.generation, true}, event);
  }
  void operator()(const events::evaluated& e) const {
    evaluation_report what;
    what.epoch = e.epoch;
    what.loss = e.loss;
    what.accuracy = e.accuracy.value_or(0);
    what.rows = e.rows;
    what.wall_ns = uint64_t(e.took.count() * 1e6);
    in.record_evaluation(what, event);
  }
  void operator()(const events::generation_begun& e) const {
    using begun = events::generation_begun;
    if (const auto* how = std::get_if<begun::recovered>(&e.why))
      in.record_recovery({describe(how->reason), how->whole.count()}, event);
    if (std::holds_alternative<begun::from_checkpoint>(e.why))
      in.record_restart(e.step, event);
  }
  template <class Other>
  void operator()(const Other&) const {}
};

} // namespace

/// The journal first, with the number of the line: a line that is missing then
/// was not told, and the next coordinator tells it.
void run_record::perform(const write_event& what) {
  const event_text text = text_of(what.what);
  log_event(text);
  journal& book = open_journal();
  try {
    events_->append(text, [&](uint64_t number) {
      std::visit(memory{book, number}, what.what);
    });
  } catch (const ballast_error&) {
    try {
      book.forget_events_after(events_->last());
    } catch (const ballast_error&) { // for the same reason; it comes again
    }
    throw;
  }
  probe_->event(what.what); // once, also where the disk was full first
}

} // namespace ballast
