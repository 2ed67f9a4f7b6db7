/// A model with exactly the cost that the job states and a gradient that
/// depends on every row: for measuring the runtime itself.
///
/// n rows sleep us_per_step + n * us_per_sample, once, until an absolute
/// deadline. Loss of a row (w_0 - a(id))^2 / 2; gradient of parameter j over a
/// take = n w_j - c_j sum a(id), c_j = 1 + (j mod 7) / 8: a lost or repeated
/// row changes every weight.
///
/// Thread: the step thread; interrupt() and resume() from any.
#pragma once

#include "gpu/model.hpp"
#include "runtime/base/ids.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace ballast::gpu {

/// a(id): in [-1, 1), a pure function of the id (multiple of 2^-52).
double emulated_target(sample_id id);

class emulated_model final : public model {
public:
  /// Largest piece of the parameter vector that becomes ready at once. A longer
  /// vector is cut into parameters "weight.0000", "weight.0001", ... so that
  /// reducing can overlap as with a real backward pass; else it is "weight".
  static constexpr size_t piece_max = size_t{1} << 18; // 1 MiB

  explicit emulated_model(const model_spec& spec, init_spec begin = {});

  const std::vector<parameter_info>& parameters() const override {
    return parameters_;
  }
  size_t parameter_count() const override { return count_; }
  /// Zeros, or the file that the job names.
  void initialize(std::span<float> parameters) override;
  void bind(std::span<float> parameters, std::span<float> gradients) override;
  /// The first piece (the last of the vector) is ready after a third of the
  /// time, the others evenly over the rest.
  double accumulate(const batch_view& batch, uint64_t step_seed,
                    const std::function<void(size_t)>& ready) override;
  double overwrite(std::span<float> bound, const batch_view& batch,
                   uint64_t step_seed,
                   const std::function<void(size_t)>& ready) override;
  /// Does not sleep. `correct` is 0: there are no classes.
  evaluation_sums evaluate(const batch_view& batch) override;
  void interrupt() noexcept override;
  void resume() noexcept override;

private:
  using clock = std::chrono::steady_clock;
  /// Of a piece: gradients, weights, their number, rows, and what the rows add.
  using gradient_function = void(float*, const float*, size_t, float,
                                 const float*);

  double compute(const batch_view& batch, gradient_function* put,
                 const std::function<void(size_t)>& ready);
  double loss_sum(const batch_view& batch) const;
  /// False if interrupted first.
  bool sleep_until(clock::time_point until);

  model_spec spec_;
  init_spec begin_;
  size_t count_;
  std::vector<parameter_info> parameters_;
  std::span<float> values_;
  std::span<float> gradients_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool interrupted_ = false; // under mutex_
};

} // namespace ballast::gpu
