#include "runtime/coordinator/time_account.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::coordinator {

namespace {

using namespace std::chrono_literals;

constexpr instant settle_every = 1s;
constexpr std::chrono::duration<double> half_life = 10s;

/// Of a phase in which no step is made.
std::optional<time_cause> cause_of(run_phase phase) {
  switch (phase) {
  case run_phase::training:
    return std::nullopt;
  case run_phase::recovering:
    return time_cause::recovery;
  case run_phase::paused:
    return time_cause::paused;
  case run_phase::waiting:
    return time_cause::waiting;
  case run_phase::preparing:
  case run_phase::loading:
    return time_cause::start;
  default:
    return time_cause::other;
  }
}

instant ns(uint64_t time) {
  return instant(int64_t(time));
}

double part(instant some, instant of) {
  return of > instant{} ? double(some.count()) / double(of.count()) : 0;
}

} // namespace

instant spent_time::total() const {
  return std::accumulate(by.begin(), by.end(), instant{});
}

spent_time& spent_time::operator+=(const spent_time& more) {
  for (size_t i = 0; i < time_causes; ++i)
    by[i] += more.by[i];
  return *this;
}

void time_account::add(entry& to, time_cause why, instant time) {
  to.spent[why] += time;
  to.recent[why] += time;
}

void time_account::worked(worker_id who, const progress_report& done) {
  entry& to = workers_[who];
  to.window[time_cause::compute] += ns(done.compute_ns + done.apply_ns);
  to.window[time_cause::data] += ns(done.data_ns);
  to.reduce += ns(done.reduce_ns);
}

void time_account::evaluated(worker_id who, step_number after,
                             uint64_t time_ns) {
  entry& to = workers_[who];
  if (after <= to.evaluated)
    return; // told again
  to.evaluated = after;
  to.window[time_cause::evaluation] += ns(time_ns);
}

void time_account::pass(instant now, run_phase phase,
                        std::span<const worker_id> members,
                        std::span<const worker_id> others) {
  const instant passed = last_ < instant{} ? instant{} : now - last_;
  last_ = now;
  if (passed <= instant{})
    return;
  const std::optional<time_cause> why = cause_of(phase);
  if (why && since_settled_ > instant{})
    settle();
  for (worker_id who : members)
    if (why)
      add(workers_[who], *why, passed);
    else
      workers_[who].wall += passed;
  for (worker_id who : others)
    add(workers_[who], why.value_or(time_cause::start), passed);
  fade(passed);
  if (why)
    return;
  since_settled_ += passed;
  if (since_settled_ >= settle_every)
    settle();
}

/// Of steps that all members made: so the least reduction is of the one that
/// came last, each time or most times.
void time_account::settle() {
  since_settled_ = {};
  std::optional<instant> least;
  for (const auto& [who, one] : workers_)
    if (one.wall > instant{} && one.reduce > instant{})
      least = std::min(least.value_or(one.reduce), one.reduce);
  for (auto& [who, one] : workers_) {
    const instant shared = std::min(one.reduce, least.value_or(instant{}));
    one.window[time_cause::communication] = shared;
    one.window[time_cause::straggler] = one.reduce - shared;
    one.owed += one.wall - one.window.total();
    for (size_t i = 0; i < time_causes; ++i)
      add(one, time_cause(i), one.window.by[i]);
    if (one.owed > instant{}) {
      add(one, time_cause::other, one.owed);
      one.owed = {};
    }
    one.window = {};
    one.reduce = one.wall = {};
  }
}

void time_account::fade(instant passed) {
  const double left =
      std::exp2(-std::chrono::duration<double>(passed) / half_life);
  for (auto& [who, one] : workers_)
    for (instant& time : one.recent.by)
      time = instant(int64_t(double(time.count()) * left));
}

time_account time_account::settled() const {
  time_account out = *this;
  out.settle();
  return out;
}

std::optional<spent_time> time_account::of(worker_id who) const {
  const auto found = workers_.find(who);
  return found == workers_.end() ? std::nullopt
                                 : std::optional(found->second.spent);
}

spent_time time_account::of_all() const {
  spent_time out;
  for (const auto& [who, one] : workers_)
    out += one.spent;
  return out;
}

std::optional<time_account::finding> time_account::bound() const {
  spent_time all;
  for (const auto& [who, one] : workers_)
    all += one.recent;
  if (all[time_cause::compute] <= instant{})
    return std::nullopt;
  finding out;
  for (size_t i = 1; i < time_causes; ++i)
    if (const auto why = time_cause(i);
        out.why == time_cause::compute || all[why] > all[out.why])
      out.why = why;
  out.part = part(all[out.why], all.total());
  const bool by_waiting = out.why == time_cause::straggler;
  if (!by_waiting && out.why != time_cause::data)
    return out;
  // Who waits for nobody is waited for.
  double best = 0;
  for (const auto& [who, one] : workers_) {
    if (one.recent.total() <= instant{})
      continue;
    const double its = part(one.recent[out.why], one.recent.total());
    if (out.who && (by_waiting ? its >= best : its <= best))
      continue;
    out.who = who;
    best = its;
  }
  out.part_of_who = best;
  return out;
}

} // namespace ballast::coordinator
