/// The part of coordinator_core that takes what workers report: one handler for
/// each kind of worker_report. A kind without one does not compile.
#include "runtime/coordinator/coordinator_core.hpp"

#include <variant>

namespace ballast {

actions coordinator_core::on_report(const worker_report& report, instant now) {
  struct handler {
    coordinator_core& core;
    instant now;

    actions operator()(const worker_loaded& m) const {
      return core.on_loaded(m, now);
    }
    actions operator()(const worker_ready& m) const {
      return core.on_ready(m, now);
    }
    actions operator()(const final_ack& m) const { return core.on_ack(m, now); }
    actions operator()(const progress_report& m) const {
      return core.on_progress(m, now);
    }
    actions operator()(const evaluation_report& m) const {
      return core.on_evaluated(m);
    }
    actions operator()(const worker_paused& m) const {
      return core.on_paused(m, now);
    }
    actions operator()(const worker_finished& m) const {
      return core.on_finished(m);
    }
    actions operator()(const worker_failed& m) const {
      return core.on_failed(m, now);
    }
    actions operator()(const state_copied& m) const {
      return core.on_copied(m);
    }
    actions operator()(const chunks_fetched& m) const {
      return core.on_fetched(m, now);
    }
  };
  return std::visit(handler{*this, now}, report);
}

} // namespace ballast
