/// The part of step_executor that computes the gradient of a step's own take.
#include "gpu/step_executor.hpp"
#include "runtime/base/random.hpp"

namespace ballast {

double step_executor::gradient(const prefetcher::ready& ready,
                               float* gradients) {
  const batch_view& rows = ready.view;
  size_t count = with_.memory.count;
  with_.device->clear(gradients, count);
  with_.model->bind({with_.memory.parameters.get(), count}, {gradients, count});
  uint64_t seed =
      mix(mix(with_.what->seed, value(ready.order.at.step)), core_->rank());
  buckets_.begin(gradients, *group_, patience());
  while (true)
    try {
      return accumulate(rows, seed);
    } catch (const out_of_memory& e) {
      drop_pass(e.what());
      with_.device->clear(gradients, count);
    }
}

double step_executor::accumulate(const batch_view& rows, uint64_t seed) {
  auto ready_now = [this](size_t parameter) {
    buckets_.parameter_ready(parameter);
  };
  double loss_sum = 0;
  for (uint32_t begin = 0; begin < rows.rows;) {
    const uint32_t part = micro_.rows(rows.rows - begin);
    bool last = begin + part == rows.rows;
    // Only the last micro-batch makes a gradient final; if it may have to be
    // repeated, not before it has ended.
    pass_rows_ = part;
    leaving_ = last && (with_.device->is_host() || micro_.proven(part));
    loss_sum += with_.model->accumulate(
        rows.slice(begin, part, with_.set->row.features), mix(seed, begin),
        leaving_ ? std::function<void(size_t)>(ready_now) : nullptr);
    micro_.fitted(part);
    begin += part;
  }
  return loss_sum;
}

/// The next attempt uses smaller micro-batches. If they cannot get smaller, or
/// buckets may have left already, the step fails with the reason.
void step_executor::drop_pass(const std::string& why) {
  if (leaving_ || !micro_.did_not_fit(pass_rows_))
    throw ballast_error(errc::device_failed,
                        "a micro-batch of " + std::to_string(pass_rows_) +
                            (pass_rows_ == 1 ? " row" : " rows") +
                            " does not fit into " + with_.device->name() +
                            "; set train.micro_batch to less, or take a "
                            "smaller model: " +
                            why);
  // Drops the pass's pending statistics in the model, too.
  std::vector<float> dropped(with_.model->statistics_count());
  with_.model->take_statistics(dropped);
}

/// An injected fault; a fence interrupts it.
void step_executor::slow_down(uint64_t computed_ns) {
  double factor = with_.state->slow_factor.load(std::memory_order_relaxed);
  if (factor <= 1)
    return;
  auto until =
      std::chrono::steady_clock::now() +
      std::chrono::nanoseconds(int64_t((factor - 1) * double(computed_ns)));
  std::unique_lock lock(mutex_);
  posted_.wait_until(lock, until, [this] { return aborted_; });
}

} // namespace ballast
