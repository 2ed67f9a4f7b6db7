#include "runtime/coordinator/requests.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

bool requests::owes_copy(step_number newest) const {
  return standing_.copy && newest < std::max(step_number{1}, *standing_.copy);
}

bool requests::pause(outbox& out) {
  if (std::exchange(standing_.paused, true))
    return false;
  journal(out);
  return true;
}

void requests::resume(outbox& out) {
  standing_.paused = false;
  journal(out);
}

void requests::stop(outbox& out, bool by_signal) {
  const bool signalled = standing_.stop && standing_.stop->by_signal;
  standing_.stop = {signalled || by_signal};
  journal(out);
}

void requests::copy(outbox& out, step_number of) {
  standing_.copy = of;
  journal(out);
}

void requests::leave(outbox& out, worker_id who) {
  if (standing_.leaving.insert(who).second)
    journal(out);
}

void requests::scale(outbox& out, const job& of, uint32_t workers) {
  standing_.workers = {of.elastic.workers, workers};
  journal(out);
}

void requests::balance(outbox& out, const job& of, const balance_spec& how) {
  standing_.balance = {of.balance, how};
  journal(out);
}

} // namespace ballast::coordinator
