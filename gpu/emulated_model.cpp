#include "gpu/emulated_model.hpp"

#include "gpu/inherited_state.hpp"
#include "gpu/initial_parameters.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/random.hpp"
#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <sys/prctl.h>
#include <utility>

namespace ballast::gpu {
namespace {

// A multiple of the cycle of c_j and of the length of a vector register.
constexpr size_t cycle = 7 * 16;

/// gradients[j] += rows * weights[j] - shift[(first + j) mod cycle].
BALLAST_VECTORIZED
void add_gradient(float* __restrict gradients, const float* __restrict weights,
                  size_t count, float rows, const float* __restrict shift) {
  size_t i = 0;
  for (; i + cycle <= count; i += cycle)
    for (size_t j = 0; j < cycle; ++j)
      gradients[i + j] += rows * weights[i + j] - shift[j];
  for (size_t j = 0; i + j < count; ++j)
    gradients[i + j] += rows * weights[i + j] - shift[j];
}

/// Likewise, of gradients that were 0.
BALLAST_VECTORIZED
void set_gradient(float* __restrict gradients, const float* __restrict weights,
                  size_t count, float rows, const float* __restrict shift) {
  size_t i = 0;
  for (; i + cycle <= count; i += cycle)
    for (size_t j = 0; j < cycle; ++j)
      gradients[i + j] = rows * weights[i + j] - shift[j];
  for (size_t j = 0; i + j < count; ++j)
    gradients[i + j] = rows * weights[i + j] - shift[j];
}

std::vector<parameter_info> pieces(size_t count) {
  if (count == 0)
    return {};
  if (count <= emulated_model::piece_max)
    return {{"weight", {int64_t(count)}, 0, count}};
  std::vector<parameter_info> out;
  for (size_t begin = 0; begin < count; begin += emulated_model::piece_max) {
    size_t length = std::min(emulated_model::piece_max, count - begin);
    char name[32];
    std::snprintf(name, sizeof name, "weight.%04zu", out.size());
    out.push_back({name, {int64_t(length)}, begin, length});
  }
  return out;
}

std::chrono::nanoseconds compute_time(const model_spec& spec, uint32_t rows) {
  // An hour at most: longer values are typing errors, and would overflow.
  const double us =
      double(spec.us_per_step) + double(rows) * double(spec.us_per_sample);
  return std::chrono::nanoseconds(int64_t(std::min(us, 3.6e9) * 1000));
}

} // namespace

double emulated_target(sample_id id) {
  constexpr counter_random random(0x656d756c61746564, 0);
  return 2 * random.unit(value(id)) - 1;
}

emulated_model::emulated_model(const model_spec& spec, init_spec begin)
    : spec_(spec), begin_(std::move(begin)), count_(spec.parameters),
      parameters_(pieces(count_)) {}

void emulated_model::initialize(std::span<float> parameters) {
  // Without a file all are 0, as they come.
  (void)initialize_as_asked(spec_, {parameters_}, parameters);
  if (!begin_.from.empty())
    inherit_parameters(begin_, {parameters_}, parameters);
}

void emulated_model::bind(std::span<float> parameters,
                          std::span<float> gradients) {
  if (parameters.size() != count_ || gradients.size() != count_)
    throw ballast_error(errc::internal, "arenas of another model bound");
  values_ = parameters;
  gradients_ = gradients;
}

double emulated_model::loss_sum(const batch_view& batch) const {
  const double w0 = values_.empty() ? 0.0 : double(values_[0]);
  double sum = 0;
  for (uint32_t i = 0; i < batch.rows; ++i) {
    double off = w0 - emulated_target(sample_id{batch.sample_ids[i]});
    sum += off * off / 2;
  }
  return sum;
}

double emulated_model::accumulate(const batch_view& batch,
                                  uint64_t /*step_seed*/,
                                  const std::function<void(size_t)>& ready) {
  return compute(batch, add_gradient, ready);
}

double emulated_model::overwrite(std::span<float> /*bound*/,
                                 const batch_view& batch,
                                 uint64_t /*step_seed*/,
                                 const std::function<void(size_t)>& ready) {
  return compute(batch, set_gradient, ready);
}

double emulated_model::compute(const batch_view& batch, gradient_function* put,
                               const std::function<void(size_t)>& ready) {
  const clock::time_point start = clock::now();
  const std::chrono::nanoseconds whole = compute_time(spec_, batch.rows);
  if (whole.count() > 0)
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); // default: 50 us

  double target_sum = 0;
  for (uint32_t i = 0; i < batch.rows; ++i)
    target_sum += emulated_target(sample_id{batch.sample_ids[i]});
  const double loss = loss_sum(batch);

  const size_t n = parameters_.size();
  for (size_t done = 0; done < n; ++done) {
    const parameter_info& piece = parameters_[n - 1 - done];
    std::array<float, cycle> shift;
    for (size_t j = 0; j < cycle; ++j)
      shift[j] = float((1 + double((piece.offset + j) % 7) / 8) * target_sum);
    put(gradients_.data() + piece.offset, values_.data() + piece.offset,
        piece.count, float(batch.rows), shift.data());
    // The first piece after a third of the time, the last one at its end.
    const auto part =
        n == 1 ? whole
               : whole / 3 + whole * 2 / 3 * int64_t(done) / int64_t(n - 1);
    if (!sleep_until(start + part))
      return std::numeric_limits<double>::quiet_NaN();
    if (ready)
      ready(n - 1 - done);
  }
  if (!sleep_until(start + whole))
    return std::numeric_limits<double>::quiet_NaN();
  return loss;
}

evaluation_sums emulated_model::evaluate(const batch_view& batch) {
  return {.loss = loss_sum(batch),
          .correct = 0,
          .rows = double(batch.rows),
          .weight = double(batch.rows)};
}

bool emulated_model::sleep_until(clock::time_point until) {
  std::unique_lock lock(mutex_);
  if (clock::now() >= until)
    return !interrupted_;
  return !changed_.wait_until(lock, until, [this] { return interrupted_; });
}

void emulated_model::interrupt() noexcept {
  std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

void emulated_model::resume() noexcept {
  std::lock_guard lock(mutex_);
  interrupted_ = false;
}

} // namespace ballast::gpu
