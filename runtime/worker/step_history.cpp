#include "runtime/worker/step_history.hpp"

#include <algorithm>

namespace ballast::worker {

namespace {

/// A run is dropped as a whole, so it must not grow without end.
constexpr size_t run_steps_max = 4096;

} // namespace

bool step_history::run::goes_on_with(const ledger::step_record& record) const {
  return record.step == next(last()) && record.epoch == epoch &&
         record.plan == plan && record.samples == samples &&
         record.t_ns >= last_ns && record.t_ns - last_ns <= UINT32_MAX &&
         steps.size() < run_steps_max;
}

void step_history::add(const ledger::step_record& record) {
  drop_from(record.step);
  if (runs_.empty() || !runs_.back().goes_on_with(record)) {
    if (!runs_.empty())
      runs_.back().steps.shrink_to_fit();
    runs_.push_back({record.step,
                     record.epoch,
                     record.plan,
                     record.samples,
                     record.t_ns,
                     record.t_ns,
                     {}});
  }
  run& now = runs_.back();
  // The mean in double has room for the quotient of a float: multiplied and
  // rounded it is that float again.
  now.steps.push_back({float(record.loss * double(record.samples)),
                       uint32_t(record.t_ns - now.last_ns)});
  now.last_ns = record.t_ns;
  ++size_;
}

void step_history::assign(const std::vector<ledger::step_record>& records) {
  runs_.clear();
  size_ = 0;
  for (const ledger::step_record& one : records)
    add(one);
}

/// What is behind the base of a generation is done again.
void step_history::drop_from(step_number first) {
  while (!runs_.empty() && runs_.back().last() >= first) {
    run& last = runs_.back();
    size_t stay = first > last.first ? value(first) - value(last.first) : 0;
    for (size_t i = stay; i < last.steps.size(); ++i)
      last.last_ns -= last.steps[i].gap_ns;
    size_ -= last.steps.size() - stay;
    last.steps.resize(stay);
    if (last.steps.empty())
      runs_.pop_back();
  }
}

void step_history::recorded(step_number last) {
  while (!runs_.empty() && runs_.front().last() <= last &&
         size_ - runs_.front().steps.size() >= kept) {
    size_ -= runs_.front().steps.size();
    runs_.pop_front();
  }
}

std::optional<ledger::step_record> step_history::last() const {
  std::vector<ledger::step_record> out = newest(1);
  if (out.empty())
    return std::nullopt;
  return out.back();
}

bool step_history::goes_beyond(step_number known) const {
  return !runs_.empty() && runs_.back().last() > known;
}

void step_history::append(const run& from, step_number known, size_t most,
                          std::vector<ledger::step_record>& out) {
  uint64_t t_ns = from.first_ns;
  for (size_t i = 0; i < from.steps.size() && out.size() < most; ++i) {
    t_ns += from.steps[i].gap_ns;
    step_number step{value(from.first) + i};
    if (step > known)
      out.push_back({step, from.epoch, from.plan, from.samples,
                     double(from.steps[i].loss_sum) / double(from.samples),
                     t_ns});
  }
}

std::vector<ledger::step_record> step_history::after(step_number known,
                                                     size_t most) const {
  std::vector<ledger::step_record> out;
  auto first =
      std::partition_point(runs_.begin(), runs_.end(),
                           [&](const run& one) { return one.last() <= known; });
  for (; first != runs_.end() && out.size() < most; ++first)
    append(*first, known, most, out);
  return out;
}

std::vector<ledger::step_record> step_history::newest(size_t most) const {
  std::vector<ledger::step_record> out;
  size_t counted = 0;
  auto first = runs_.end();
  while (first != runs_.begin() && counted < most)
    counted += (--first)->steps.size();
  for (; first != runs_.end(); ++first)
    append(*first, step_number{}, SIZE_MAX, out);
  if (out.size() > most)
    out.erase(out.begin(), out.end() - ptrdiff_t(most));
  return out;
}

size_t step_history::bytes() const {
  size_t out = runs_.size() * sizeof(run);
  for (const run& one : runs_)
    out += one.steps.capacity() * sizeof(moment);
  return out;
}

} // namespace ballast::worker
