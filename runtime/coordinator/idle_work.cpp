#include "runtime/coordinator/idle_work.hpp"

namespace ballast::coordinator {

namespace {

/// A millisecond or two at a fence; to follow draws copies what is known of a
/// share, so not for less.
constexpr uint64_t behind_max = 16'384;

} // namespace

void prepare_next(const coordinator_parts& p) {
  // The next plan is of other owners: it asks where the draws of the present
  // ones are. Behind a fence that is some steps further, which is soon
  // followed.
  const std::optional<ledger::ledger>& book = p.run.steps.book();
  const bool trains = p.members.in<training>() != nullptr;
  if (book && (trains || p.members.in<fenced>()))
    book->prepare_switch(trains ? behind_max : 0);
  if (const opening* s = p.members.in<opening>(); s && s->start)
    s->start->prepare_switch();
}

} // namespace ballast::coordinator
