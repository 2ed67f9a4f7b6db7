#include "runtime/start_message.hpp"

#include <bit>

namespace ballast {

std::vector<uint64_t> to_words(const start_message& in) {
  std::vector<uint64_t> out{value(in.at.epoch), value(in.at.step),
                            in.cursors.size()};
  for (const worker_cursor& one : in.cursors) {
    out.push_back(value(one.worker));
    out.push_back(one.draws);
    out.push_back(one.digest);
    out.push_back(one.cursors.size());
    out.insert(out.end(), one.cursors.begin(), one.cursors.end());
  }
  out.push_back(in.records.size());
  for (const step_record& one : in.records)
    out.insert(out.end(),
               {value(one.step), value(one.epoch), value(one.plan), one.samples,
                std::bit_cast<uint64_t>(one.loss), one.t_ns});
  return out;
}

start_message start_from_words(std::span<const uint64_t> words) {
  size_t next = 0;
  auto take = [&] {
    if (next == words.size())
      throw ballast_error(errc::digest_mismatch,
                          "the start of a generation was sent cut short");
    return words[next++];
  };
  start_message out;
  out.at.epoch = epoch_number{take()};
  out.at.step = step_number{take()};
  for (uint64_t ranks = take(); ranks > 0; --ranks) {
    worker_cursor one;
    one.worker = static_cast<worker_id>(take());
    one.draws = take();
    one.digest = take();
    for (uint64_t count = take(); count > 0; --count)
      one.cursors.push_back(uint32_t(take()));
    out.cursors.push_back(std::move(one));
  }
  for (uint64_t records = take(); records > 0; --records) {
    step_record one;
    one.step = step_number{take()};
    one.epoch = epoch_number{take()};
    one.plan = plan_number{take()};
    one.samples = take();
    one.loss = std::bit_cast<double>(take());
    one.t_ns = take();
    out.records.push_back(one);
  }
  return out;
}

} // namespace ballast
