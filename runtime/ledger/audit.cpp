#include "runtime/ledger/audit.hpp"

#include "runtime/base/random.hpp"
#include "runtime/ledger/epoch_uses.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace ballast::ledger {
namespace {

constexpr size_t doubtful_lines_max = 5;

/// Strong enough that sets with equal sums of it are equal.
uint64_t hash_of(uint64_t id) {
  return mix(0x617564697400ULL, id);
}

/// Without uses of their own, those that the ledger draws.
std::vector<uint32_t> rows_of_chunks(const audit_input& input) {
  if (!input.run.config.uses)
    return input.run.config.chunk_rows;
  return counted_rows(*input.set, nullptr);
}

uint64_t rows_of(const audit_input& input) {
  const std::vector<uint32_t> rows = rows_of_chunks(input);
  return std::accumulate(rows.begin(), rows.end(), uint64_t{0});
}

std::string in_step(step_number step) {
  return "step " + to_string(step);
}

} // namespace

sample_counts audit_report::counts() const {
  if (!traced)
    return ledger;
  return {ledger.expected, std::min(ledger.once, traces.once),
          std::max(ledger.lost, traces.lost),
          std::max(ledger.repeated, traces.repeated)};
}

audit::audit(audit_input input)
    : input_(std::move(input)), rows_(rows_of(input_)), replay_(input_.run),
      epoch_uses_(new_counter()) {
  report_.traced = input_.traced;
  report_.of_uses = input_.run.config.uses != nullptr;
  uint64_t offset = 0;
  for (uint32_t rows : rows_of_chunks(input_)) {
    chunk_offset_.push_back(offset);
    offset += rows;
  }
  check_manifest();
  if (replay_.error())
    problem("ledger: " + *replay_.error());
  else
    steps_per_epoch_ = replay_.book().steps_per_epoch();
}

/// Every sample_id is in exactly one row; otherwise "once" would mean nothing.
void audit::check_manifest() {
  const manifest& set = *input_.set;
  if (set.train_rows != rows_)
    problem("manifest: " + std::to_string(set.train_rows) +
            " training rows, but the chunks have " + std::to_string(rows_));
  if (set.train.size() != input_.run.config.chunk_rows.size())
    problem("manifest: " + std::to_string(set.train.size()) +
            " chunks, expected " +
            std::to_string(input_.run.config.chunk_rows.size()));
  std::vector<bool> seen(rows_);
  uint64_t distinct = 0, named = 0;
  for (const chunk_info& chunk : set.train)
    for (const id_run& run : chunk.samples)
      for (uint64_t i = 0; i < run.count && named < rows_; ++i, ++named) {
        uint64_t id = run.first + i;
        if (id < rows_ && !seen[id]) {
          seen[id] = true;
          ++distinct;
        }
        if (input_.traced)
          ids_.push_back(id);
      }
  if (distinct != rows_)
    problem("manifest: " + std::to_string(rows_) + " rows hold only " +
            std::to_string(distinct) + " of the sample ids 0 to " +
            std::to_string(rows_ - 1));
  if (input_.traced)
    ids_.resize(rows_, UINT64_MAX);
}

void audit::problem(const std::string& what) {
  ++report_.problems;
  if (report_.first_problems.size() < problems_named_max)
    report_.first_problems.push_back(what);
}

// -- steps --------------------------------------------------------------------

bool audit::past_the_end(step_number step) const {
  return (value(step) - 1) / steps_per_epoch_ >= input_.epochs;
}

void audit::step(const step_line& line) {
  ++report_.steps_committed;
  if (line.at.step != next(last_line_)) {
    problem("steps.jsonl: after step " + to_string(last_line_) +
            " comes step " + to_string(line.at.step));
    if (line.at.step <= last_line_ || past_the_end(line.at.step))
      return; // nothing to compare it with
  }
  while (next(last_line_) < line.at.step && !replay_.error()) {
    walk(false);
    last_line_ = next(last_line_);
  }
  last_line_ = line.at.step;
  if (past_the_end(line.at.step))
    return problem("steps.jsonl: step " + to_string(line.at.step) +
                   " is past the " + std::to_string(input_.epochs) +
                   " epochs of the job");
  if (replay_.error())
    return; // reported already; the rest cannot be judged
  compare(line);
  walk(true);
}

void audit::compare(const step_line& line) {
  const ledger& book = replay_.book();
  auto same = [&](const char* what, uint64_t found, uint64_t expected) {
    if (found != expected)
      problem("steps.jsonl: " + in_step(line.at.step) + " has " + what + " " +
              std::to_string(found) + ", by the ledger it is " +
              std::to_string(expected));
  };
  const std::vector<uint64_t>& takes = book.takes();
  same("epoch", value(line.at.epoch), value(book.next().epoch));
  same("generation", value(line.generation), value(book.current().generation));
  same("plan", value(line.plan), value(book.current().number));
  same("world", line.world, book.current().shares.size());
  same("samples", line.samples,
       std::accumulate(takes.begin(), takes.end(), uint64_t{0}));
}

/// Follows the ledger over its next step. A step without a line consumes
/// nothing.
void audit::walk(bool committed) {
  const ledger& book = replay_.book();
  const bool epoch_ends = book.last_of_epoch();
  const epoch_number epoch = book.next().epoch;
  if (input_.traced) {
    const plan& now = book.current();
    if (plans_.empty() || plans_.back().number != now.number) {
      plans_.push_back({now.number, now.generation, {}});
      for (size_t rank = 0; rank < now.shares.size(); ++rank)
        plans_.back().ranks[now.shares[rank].worker] = rank;
    }
    walked_.push_back(
        {plans_.size() - 1, book.next().epoch, uses_.size(), committed});
  }
  replay_.walk(drawn_);
  for (const std::vector<row_ref>& rows : drawn_) {
    use own;
    for (const row_ref& row : rows) {
      uint64_t which = chunk_offset_[value(row.chunk)] + row.row;
      if (committed)
        epoch_uses_.add(which);
      if (input_.traced)
        own.hash += hash_of(ids_[which]);
    }
    own.count = uint32_t(rows.size());
    if (input_.traced)
      uses_.push_back(own);
  }
  if (epoch_ends) {
    ++report_.epochs_finished;
    end_epoch(epoch, true);
  }
  open_epoch_ = epoch_ends ? next(epoch) : epoch;
  if (replay_.error())
    problem("ledger: " + *replay_.error());
}

use_counter audit::new_counter() const {
  return {rows_, input_.run.config.uses == nullptr};
}

/// By row over all chunks, or by sample id; empty: one of each.
std::vector<uint32_t> audit::expected_uses(epoch_number epoch,
                                           bool by_id) const {
  const auto& uses = input_.run.config.uses;
  if (!uses)
    return {};
  std::vector<uint32_t> out(rows_);
  for (size_t c = 0; c < chunk_offset_.size(); ++c)
    for (uint32_t row : uses->order(epoch, chunk_id(uint32_t(c)))) {
      const uint64_t which = chunk_offset_[c] + row;
      const uint64_t at = by_id ? ids_[which] : which;
      if (at < rows_) // else the manifest is wrong, which was said
        ++out[at];
    }
  return out;
}

void audit::end_epoch(epoch_number epoch, bool over) {
  report_.ledger += epoch_uses_.compared(expected_uses(epoch, false), over);
  epoch_uses_.clear();
}

// -- traces -------------------------------------------------------------------

void audit::trace(const trace_line& line) {
  std::string where(line.where);
  if (value(line.at.step) == 0 || value(line.at.step) > walked_.size()) {
    ++report_.attempt_lines; // in flight when the run ended
    return;
  }
  const walked_step& step = walked_[value(line.at.step) - 1];
  const known_plan& by = plans_[step.plan];
  if (!step.committed || line.generation != by.generation ||
      line.plan != by.number) {
    ++report_.attempt_lines;
    return;
  }
  ++report_.trace_lines;
  if (line.at.epoch != step.epoch)
    problem(where + ": " + in_step(line.at.step) + " is of epoch " +
            to_string(step.epoch) + ", not " + to_string(line.at.epoch));
  auto& uses =
      traced_uses_.try_emplace(step.epoch, new_counter()).first->second;
  uint64_t hash = 0;
  for (uint64_t id : line.ids) {
    hash += hash_of(id);
    if (id < rows_)
      uses.add(id);
  }
  auto rank = by.ranks.find(line.worker);
  if (rank == by.ranks.end())
    return problem(where + ": worker " + to_string(line.worker) +
                   " had no part in " + in_step(line.at.step));
  use& expected = uses_[step.first_use + rank->second];
  if (expected.seen)
    return problem(where + ": " + in_step(line.at.step) + " a second time");
  expected.seen = true;
  if (expected.hash == hash && expected.count == line.ids.size())
    return;
  if (doubtful_.size() >= doubtful_lines_max) {
    ++doubtful_more_;
    return;
  }
  doubtful_.push_back(
      {line.at.step, rank->second, where, {line.ids.begin(), line.ids.end()}});
  std::sort(doubtful_.back().ids.begin(), doubtful_.back().ids.end());
}

/// Names the samples in which the first differing lines differ. Walks the run a
/// second time, because the first walk kept only a hash of each set.
void audit::name_differences() {
  std::sort(doubtful_.begin(), doubtful_.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  replay again(input_.run);
  std::vector<std::vector<row_ref>> rows;
  for (const doubtful_line& line : doubtful_) {
    while (!again.error() && again.book().next().step <= line.step)
      again.walk(rows);
    std::vector<uint64_t> expected, more, less;
    for (const row_ref& row : rows.at(line.rank))
      expected.push_back(ids_[chunk_offset_[value(row.chunk)] + row.row]);
    std::sort(expected.begin(), expected.end());
    std::set_difference(line.ids.begin(), line.ids.end(), expected.begin(),
                        expected.end(), std::back_inserter(more));
    std::set_difference(expected.begin(), expected.end(), line.ids.begin(),
                        line.ids.end(), std::back_inserter(less));
    std::string text = line.where + ": " + in_step(line.step) + " has " +
                       std::to_string(line.ids.size()) +
                       " samples, by the "
                       "ledger " +
                       std::to_string(expected.size());
    if (!more.empty())
      text += "; " + std::to_string(more.size()) +
              " others, the first is sample " + std::to_string(more[0]);
    if (!less.empty())
      text += "; " + std::to_string(less.size()) +
              " missing, the first is sample " + std::to_string(less[0]);
    problem(text);
  }
}

void audit::finish_traces() {
  name_differences();
  if (doubtful_more_ > 0) {
    problem("traces: " + std::to_string(doubtful_more_) +
            " more lines with other samples than by the ledger");
    report_.problems += doubtful_more_ - 1;
  }
  for (size_t i = 0; i < walked_.size(); ++i) {
    const walked_step& step = walked_[i];
    for (const auto& [worker, rank] : plans_[step.plan].ranks) {
      const use& one = uses_[step.first_use + rank];
      if (step.committed && one.count > 0 && !one.seen)
        problem("traces: none of worker " + to_string(worker) + " for " +
                in_step(step_number(i + 1)));
    }
  }
  for (uint64_t epoch = 1; epoch <= report_.epochs_finished; ++epoch)
    traced_uses_.try_emplace(epoch_number{epoch}, new_counter());
  for (const auto& [epoch, uses] : traced_uses_)
    report_.traces += uses.compared(expected_uses(epoch, true),
                                    value(epoch) <= report_.epochs_finished);
  report_.traces.expected = report_.ledger.expected;
}

audit_report audit::report() {
  // The unfinished epoch.
  end_epoch(open_epoch_, false);
  if (input_.traced)
    finish_traces();
  sample_counts all = report_.counts();
  if (all.lost > 0 || all.repeated > 0)
    problem(std::to_string(all.lost) + " samples lost, " +
            std::to_string(all.repeated) + " repeated");
  return report_;
}

} // namespace ballast::ledger
