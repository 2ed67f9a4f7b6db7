#include "gpu/reduction/gradient_pass.hpp"

#include "runtime/base/random.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace ballast::gpu {

gradient_pass::gradient_pass(const train_spec& how,
                             const ledger::row_shape& row, model& of,
                             compute_device& device, const arenas& memory,
                             bucket_layout layout, bucket_sum* sum)
    : features_(row.features), model_(of), device_(device), memory_(memory),
      buckets_(std::move(layout), device, sum), micro_(how.micro_batch) {}

double gradient_pass::run(const batch_view& rows, uint64_t seed,
                          float* gradients, collectives::collective& group,
                          collectives::deadline until) {
  size_t count = memory_.count;
  device_.clear(gradients, count);
  model_.bind({memory_.parameters.get(), count}, {gradients, count});
  buckets_.begin(gradients, group, until);
  sent_ = group.size() > 1;
  while (true)
    try {
      return accumulate(rows, seed);
    } catch (const out_of_memory& e) {
      shrink(e.what());
      device_.clear(gradients, count);
    }
}

double gradient_pass::accumulate(const batch_view& rows, uint64_t seed) {
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
    leaving_ = last && sent_ && (device_.is_host() || micro_.proven(part));
    loss_sum += model_.accumulate(
        rows.slice(begin, part, features_), mix(seed, begin),
        leaving_ ? std::function<void(size_t)>(ready_now) : nullptr);
    micro_.fitted(part);
    begin += part;
  }
  return loss_sum;
}

void gradient_pass::score(batch_view rows, float* gradients,
                          std::span<float> scores) {
  model_.bind({memory_.parameters.get(), memory_.count},
              {gradients, memory_.count});
  rows.scores = scores.data();
  leaving_ = false;
  for (uint32_t begin = 0; begin < rows.rows;) {
    pass_rows_ = micro_.rows(rows.rows - begin);
    try {
      (void)model_.evaluate(rows.slice(begin, pass_rows_, uint32_t(features_)));
      begin += pass_rows_;
    } catch (const out_of_memory& e) {
      shrink(e.what());
    }
  }
}

/// The next attempt uses smaller micro-batches. If they cannot get smaller, or
/// buckets may have left already, the step fails with the reason.
void gradient_pass::shrink(const std::string& why) {
  if (leaving_ || !micro_.did_not_fit(pass_rows_))
    throw ballast_error(errc::device_failed,
                        "a micro-batch of " + std::to_string(pass_rows_) +
                            (pass_rows_ == 1 ? " row" : " rows") +
                            " does not fit into " + device_.name() +
                            "; set train.micro_batch to less, or take a "
                            "smaller model: " +
                            why);
  shrunk_ = micro_.rows(pass_rows_);
  // Drops the pass's pending statistics in the model, too.
  std::vector<float> dropped(model_.statistics_count());
  model_.take_statistics(dropped);
}

} // namespace ballast::gpu
