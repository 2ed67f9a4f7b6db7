/// The part of run_record that tells what happens: a line for people, numbers
/// for the probe, and in the journal what the next coordinator must know of it.
#include "actors/run_record.hpp"

namespace ballast {

namespace {

/// Keeps in the journal what outlives the coordinator that told it.
struct memory {
  journal& in;

  void operator()(const events::plan_effective& e) const {
    in.record_told({e.plan, e.generation, false});
  }
  void operator()(const events::balanced& e) const { (*this)(e.what); }
  void operator()(const events::plan_dropped& e) const {
    in.record_told({e.plan, e.generation, true});
  }
  void operator()(const events::evaluated& e) const {
    evaluation_report what;
    what.epoch = e.epoch;
    what.loss = e.loss;
    what.accuracy = e.accuracy.value_or(0);
    what.rows = e.rows;
    what.wall_ns = uint64_t(e.took.count() * 1e6);
    in.record_evaluation(what);
  }
  void operator()(const events::generation_begun& e) const {
    using begun = events::generation_begun;
    if (const auto* how = std::get_if<begun::recovered>(&e.why))
      in.record_recovery({describe(how->reason), how->whole.count()});
    if (std::holds_alternative<begun::from_checkpoint>(e.why))
      in.record_restart(e.step);
  }
  template <class Other>
  void operator()(const Other&) const {}
};

bool equal(const event_text& a, const event_text& b) {
  return a.kind == b.kind && a.fields == b.fields;
}

} // namespace

/// Killed between the two, it is told once more: better than never.
void run_record::perform(const write_event& what) {
  const event_text text = text_of(what.what);
  // Where the disk is full this comes again.
  if (!line_alone_ || !equal(*line_alone_, text)) {
    log_event(text);
    events_->append(text);
    line_alone_ = text;
  }
  std::visit(memory{open_journal()}, what.what);
  line_alone_.reset();
  probe_->event(what.what); // once
}

} // namespace ballast
