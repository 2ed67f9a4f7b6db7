#include "runtime/messages/start_message.hpp"

#include <bit>

namespace ballast {

std::vector<uint64_t> to_words(const start_message& in) {
  std::vector<uint64_t> out{value(in.at.epoch), value(in.at.step),
                            in.cursors.size()};
  for (const ledger::worker_cursor& one : in.cursors) {
    out.push_back(value(one.worker));
    out.push_back(one.draws);
    out.push_back(one.digest);
    out.push_back(one.cursors.size());
    out.insert(out.end(), one.cursors.begin(), one.cursors.end());
  }
  out.push_back(in.records.size());
  for (const ledger::step_record& one : in.records)
    out.insert(out.end(),
               {value(one.step), value(one.epoch), value(one.plan), one.samples,
                std::bit_cast<uint64_t>(one.loss), one.t_ns});
  const judgement& judged = in.judged;
  out.insert(out.end(),
             {value(judged.judged), judged.since, uint64_t{judged.reached}});
  for (const best_so_far& one : {judged.stop, judged.keep})
    out.insert(out.end(), {value(one.epoch), value(one.step),
                           std::bit_cast<uint64_t>(one.value)});
  return out;
}

namespace {

/// Takes words off the front; zeros once there are none, which `missing` tells.
struct word_reader {
  std::span<const uint64_t> left;
  bool missing = false;

  uint64_t take() {
    if (left.empty()) {
      missing = true;
      return 0;
    }
    uint64_t out = left.front();
    left = left.subspan(1);
    return out;
  }
  /// A number of things to come, each of at least one word.
  uint64_t take_count() {
    uint64_t out = take();
    missing = missing || out > left.size();
    return missing ? 0 : out;
  }
};

} // namespace

std::optional<start_message> start_from_words(std::span<const uint64_t> words) {
  word_reader in{words};
  start_message out;
  out.at.epoch = epoch_number{in.take()};
  out.at.step = step_number{in.take()};
  for (uint64_t ranks = in.take_count(); ranks > 0; --ranks) {
    ledger::worker_cursor one;
    one.worker = static_cast<worker_id>(in.take());
    one.draws = in.take();
    one.digest = in.take();
    for (uint64_t count = in.take_count(); count > 0; --count)
      one.cursors.push_back(uint32_t(in.take()));
    out.cursors.push_back(std::move(one));
  }
  for (uint64_t records = in.take_count(); records > 0; --records) {
    ledger::step_record one;
    one.step = step_number{in.take()};
    one.epoch = epoch_number{in.take()};
    one.plan = plan_number{in.take()};
    one.samples = in.take();
    one.loss = std::bit_cast<double>(in.take());
    one.t_ns = in.take();
    out.records.push_back(one);
  }
  out.judged.judged = epoch_number{in.take()};
  out.judged.since = in.take();
  out.judged.reached = in.take() != 0;
  for (best_so_far* one : {&out.judged.stop, &out.judged.keep}) {
    one->epoch = epoch_number{in.take()};
    one->step = step_number{in.take()};
    one->value = std::bit_cast<double>(in.take());
  }
  if (in.missing || !in.left.empty())
    return std::nullopt;
  return out;
}

} // namespace ballast
