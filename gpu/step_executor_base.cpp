/// The part of step_executor that brings every rank to the base of its
/// generation: a newcomer receives the whole state, a rank one step behind
/// receives the reduced gradients of that step.
#include "gpu/state_parts.hpp"
#include "gpu/step_executor.hpp"
#include "gpu/step_helpers.hpp"
#include "runtime/messages/start_message.hpp"

#include <algorithm>
#include <utility>

namespace ballast::gpu {

using collectives::bytes_here;
using collectives::collective_errc;
using collectives::collective_error;

namespace {

/// Reports are at most 100 ms old: older records are known already.
constexpr size_t newcomer_records_max = 4096;
constexpr size_t newcomer_evaluations_max = 64;

/// The state passes in pieces: where it lies on a device, each needs as much
/// memory of the host. Equal on all ranks.
constexpr size_t piece_floats = size_t{32} << 20;

/// By rank: these lack something, the others have it or not.
std::vector<bytes_here> lacking(const std::vector<uint32_t>& ranks, int size,
                                bytes_here others) {
  std::vector<bytes_here> out(size_t(size), others);
  for (uint32_t rank : ranks)
    out.at(rank) = bytes_here::none;
  return out;
}

/// Ranks without the common state get it from the others. Returns its bytes.
uint64_t share_state(collectives::collective& group,
                     const step_executor::parts& with,
                     const generation_start& start) {
  const std::vector<bytes_here> have =
      lacking(start.stale, group.size(), bytes_here::all);
  uint64_t bytes = 0;
  for (const state_part& part :
       state_parts(*with.model, *with.optimizer, with.memory, *with.device)) {
    bytes += part.values.size_bytes();
    for (size_t at = 0; at < part.values.size(); at += piece_floats)
      group.fill_lacking(part.values.data() + at,
                         std::min(piece_floats, part.values.size() - at) *
                             sizeof(float),
                         have, patience());
  }
  return bytes;
}

} // namespace

void step_executor::bring_to_base(const generation_start& start) {
  copied_.reset();
  if (listener_.before_change)
    listener_.before_change();
  if (start.judged)
    with_.state->judged = *start.judged;
  auto among = [this](const std::vector<uint32_t>& ranks) {
    return std::find(ranks.begin(), ranks.end(), uint32_t(group_->rank())) !=
           ranks.end();
  };
  if (!start.late.empty())
    receive_last_step(start, among(start.late));
  if (!start.stale.empty()) {
    if (among(start.stale)) {
      ahead_.end();
      std::lock_guard gate(gate_);
      with_.state->held = {};
      with_.state->abandoned = {};
    }
    receive_position(start);
    const uint64_t begin_ns = monotonic_ns();
    const bool stale = among(start.stale);
    const uint64_t bytes = share_state(*group_, with_, start);
    if (stale)
      listener_.report(
          state_arrived{with_.self, {}, bytes, monotonic_ns() - begin_ns});
  }
  const step_number base{value(core_->stands_at().step) - 1};
  judged_.keep(base, {});
  {
    std::lock_guard gate(gate_);
    if (frozen_)
      throw collective_error(collective_errc::aborted, "frozen at the base");
    with_.state->held.holds = true;
    with_.state->held.step = base;
  }
  worker_ready message;
  message.worker = with_.self;
  message.base = base;
  listener_.report(message);
}

/// A rank one step behind receives the reduced gradients of that step and
/// applies them.
void step_executor::receive_last_step(const generation_start& start,
                                      bool late) {
  // Who came later than that step has the state, and not this.
  std::vector<bytes_here> have =
      lacking(start.late, group_->size(), bytes_here::unused);
  have.at(start.source) = bytes_here::all;
  const worker::trailer sums = method_->repair(*group_, have);
  training_state& state = *with_.state;
  std::vector<uint64_t> words;
  {
    std::lock_guard lock(mutex_);
    start_message told{core_->stands_at(), {}, {}};
    told.records = {state.history.last().value_or(ledger::step_record{})};
    words = to_words(told);
  }
  group_->broadcast(words.data(), words.size() * sizeof(uint64_t),
                    int(start.source), patience());
  if (!late)
    return;
  std::optional<start_message> told = start_from_words(words);
  std::lock_guard gate(gate_);
  if (frozen_)
    throw collective_error(collective_errc::aborted, "frozen before the apply");
  ledger::position next = core_->stands_at();
  ledger::position at{next.epoch, step_number{value(next.step) - 1}};
  method_->apply(at, sums, core_->steps_total());
  std::lock_guard lock(mutex_);
  if (told && told->records.back().step == at.step)
    state.history.add(told->records.back());
}

/// The source's position as words: a newcomer constructs its core from it.
void step_executor::receive_position(const generation_start& start) {
  std::vector<uint64_t> words;
  if (uint32_t(group_->rank()) == start.source) {
    start_message told{core_->stands_at(), core_->cursors(), {}};
    told.judged = with_.state->judged;
    std::lock_guard lock(mutex_);
    told.records = with_.state->history.newest(newcomer_records_max);
    const auto& found = with_.state->evaluations;
    told.evaluations.assign(
        found.end() -
            ptrdiff_t(std::min(found.size(), newcomer_evaluations_max)),
        found.end());
    words = to_words(told);
  }
  uint64_t count = words.size();
  group_->broadcast(&count, sizeof count, int(start.source), patience());
  words.resize(count);
  group_->broadcast(words.data(), count * sizeof(uint64_t), int(start.source),
                    patience());
  if (core_)
    return;
  std::optional<start_message> told = start_from_words(words);
  if (!told)
    throw ballast_error(errc::digest_mismatch,
                        "the start of a generation was sent cut short");
  if (auto wrong = start_error(config_.ledger, first_, told->at, told->cursors))
    throw ballast_error(errc::digest_mismatch,
                        "the state that was sent does not fit: " + *wrong);
  core_.emplace(config_, first_, told->at, told->cursors);
  with_.state->judged = told->judged;
  std::lock_guard lock(mutex_);
  with_.state->history.assign(told->records);
  with_.state->evaluations.assign(told->evaluations.begin(),
                                  told->evaluations.end());
  progress_.steps = told->records;
  progress_.timings.resize(told->records.size());
}

/// The plan in force names a later generation: its collective is open here.
void step_executor::switch_over() {
  std::optional<next_generation> next;
  {
    std::lock_guard lock(mutex_);
    next = std::exchange(next_, std::nullopt);
    if (!next || next->what.generation != core_->current().generation)
      throw ballast_error(errc::internal, "a switch without its collective");
    progress_.bytes_sent +=
        group_->bytes_sent() - std::exchange(bytes_told_, 0);
    last_group_ = std::exchange(group_, std::move(next->group));
    if (aborted_)
      throw collective_error(collective_errc::aborted, "aborted at a switch");
  }
  listener_.switched();
  watch_peers();
  bring_to_base(next->start);
}

} // namespace ballast::gpu
