#include "runtime/messages/start_message.hpp"

#include <bit>
#include <string>

namespace ballast {

namespace {

void append(std::vector<uint64_t>& out, double number) {
  out.push_back(std::bit_cast<uint64_t>(number));
}

/// Its length, and a word for each byte: it is short, and rare.
void append(std::vector<uint64_t>& out, const std::string& text) {
  out.push_back(text.size());
  out.insert(out.end(), text.begin(), text.end());
}

void append(std::vector<uint64_t>& out, const evaluation_report& one) {
  out.insert(out.end(), {value(one.step), value(one.epoch), one.rows,
                         one.wall_ns, one.values.size()});
  append(out, one.loss);
  append(out, one.accuracy);
  for (const metrics::metric_value& metric : one.values) {
    out.insert(out.end(), {uint64_t(metric.what), metric.numbers.size()});
    for (const double number : metric.numbers)
      append(out, number);
    append(out, metric.undefined);
    append(out, metric.error_max);
  }
}

} // namespace

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
  out.insert(out.end(), {value(judged.judged), value(judged.epoch),
                         judged.since, uint64_t{judged.reached}});
  for (const best_so_far& one : {judged.stop, judged.keep})
    out.insert(out.end(), {value(one.epoch), value(one.step),
                           std::bit_cast<uint64_t>(one.value)});
  out.push_back(in.evaluations.size());
  for (const evaluation_report& one : in.evaluations)
    append(out, one);
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
  double take_number() { return std::bit_cast<double>(take()); }
  std::string take_text() {
    std::string out;
    for (uint64_t left_of_it = take_count(); left_of_it > 0; --left_of_it)
      out.push_back(char(take()));
    return out;
  }
};

evaluation_report take_evaluation(word_reader& in) {
  evaluation_report out;
  out.step = step_number{in.take()};
  out.epoch = epoch_number{in.take()};
  out.rows = in.take();
  out.wall_ns = in.take();
  uint64_t count = in.take_count();
  out.loss = in.take_number();
  out.accuracy = in.take_number();
  metrics::metric_values values;
  for (; count > 0; --count) {
    metrics::metric_value& one = values.emplace_back();
    one.what = metrics::metric(in.take());
    for (uint64_t numbers = in.take_count(); numbers > 0; --numbers)
      one.numbers.push_back(in.take_number());
    one.undefined = in.take_text();
    one.error_max = in.take_number();
  }
  out.values = std::move(values);
  return out;
}

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
  out.judged.judged = step_number{in.take()};
  out.judged.epoch = epoch_number{in.take()};
  out.judged.since = in.take();
  out.judged.reached = in.take() != 0;
  for (best_so_far* one : {&out.judged.stop, &out.judged.keep}) {
    one->epoch = epoch_number{in.take()};
    one->step = step_number{in.take()};
    one->value = in.take_number();
  }
  for (uint64_t found = in.take_count(); found > 0; --found)
    out.evaluations.push_back(take_evaluation(in));
  if (in.missing || !in.left.empty())
    return std::nullopt;
  return out;
}

} // namespace ballast
