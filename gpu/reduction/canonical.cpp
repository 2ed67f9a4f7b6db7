#include "gpu/reduction/canonical.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace ballast::gpu {

namespace {

/// Rows of an evaluation that one thread computes at once: fixed, so that the
/// sums are alike for any number of threads.
constexpr uint32_t evaluated_rows = 64;

/// The rows of `leaf` within those of `mine`.
ledger::step_rows within(uint32_t leaf, ledger::leaf_range mine, uint64_t rows,
                         uint32_t leaves) {
  const ledger::step_rows part =
      ledger::rows_of({leaf, leaf + 1}, rows, leaves);
  const uint64_t begin = ledger::rows_of(mine, rows, leaves).begin;
  return {part.begin - begin, part.end - begin};
}

} // namespace

canonical::canonical(const train_spec& how, const ledger::row_shape& row,
                     std::vector<model*> models, const arenas& memory,
                     const leaf_memory& leaves)
    : leaves_(how.leaves), micro_batch_(how.micro_batch),
      features_(row.features), models_(std::move(models)), memory_(memory),
      room_(leaves), slots_(room_), team_(models_.size()) {}

/// Which leaves are whose in this step, and how they are added up.
void canonical::prepare(const step_work& of) {
  work_ = of;
  mine_ = of.leaves[of.rank];
  order_ = ledger::sum_of_ranks(of.leaves, leaves_, of.samples);
  losses_.assign(leaves_, 0);
}

double canonical::contribute(const step_work& of) {
  prepare(of);
  slots_.begin(mine_, leaves_, of.samples,
               of.group->size() == 1 ? of.gradients : nullptr);
  team_.run([this](size_t thread) {
    try {
      while (const auto at = slots_.take()) {
        compute(*at, *models_[thread]);
        slots_.done(*at);
      }
    } catch (...) {
      slots_.give_up();
      throw;
    }
  });
  return sum_of_losses(losses_);
}

void canonical::compute(const leaf_slots::place& at, model& with) {
  const ledger::step_rows part = within(at.leaf, mine_, work_.samples, leaves_);
  std::fill_n(at.gradients, room_.gradients, 0.0F);
  with.bind({memory_.parameters.get(), memory_.count},
            {at.gradients, memory_.count});
  const uint64_t seed =
      mix(mix(work_.seed, value(work_.at.step)), uint64_t{at.leaf});
  const uint64_t most = micro_batch_.value_or(part.end - part.begin);
  double loss = 0;
  for (uint64_t begin = part.begin; begin < part.end; begin += most)
    loss += with.accumulate(
        work_.rows.slice(uint32_t(begin),
                         uint32_t(std::min(most, part.end - begin)), features_),
        mix(seed, begin - part.begin), nullptr);
  if (room_.statistics > 0) {
    std::fill_n(at.statistics, room_.statistics, 0.0F);
    with.take_statistics({at.statistics, room_.statistics});
  }
  losses_[at.leaf] = loss + 0.0; // never -0.0, as other ranks add zero
}

/// Along the tree; a leaf without rows is absent.
double canonical::sum_of_losses(std::span<const double> by_leaf) const {
  struct sum {
    double value = 0;
    bool there = false;
  };
  std::vector<sum> sums(leaves_);
  for (uint32_t leaf = 0; leaf < leaves_; ++leaf) {
    const ledger::step_rows rows =
        ledger::rows_of({leaf, leaf + 1}, work_.samples, leaves_);
    sums[leaf] = {by_leaf[leaf], rows.begin < rows.end};
  }
  for (uint32_t width = leaves_ / 2; width > 0; width /= 2)
    for (uint32_t i = 0; i < width; ++i) {
      const sum left = sums[2 * size_t(i)];
      const sum right = sums[2 * size_t(i) + 1];
      sums[i] = left.there && right.there ? sum{left.value + right.value, true}
                                          : (left.there ? left : right);
    }
  return sums[0].value;
}

void canonical::finish(worker::trailer& sums, std::span<float> statistics) {
  collectives::collective& group = *work_.group;
  if (group.size() == 1) { // its gradients are where they belong
    std::copy_n(room_.statistics_at(0), statistics.size(), statistics.data());
  } else {
    group.sum_in_order(order_, room_.gradients_at(0), room_.gradient_stride,
                       work_.gradients, memory_.count, patience());
    if (!statistics.empty())
      group.sum_in_order(order_, room_.statistics_at(0),
                         room_.statistics_stride, statistics.data(),
                         statistics.size(), patience());
  }
  // Each leaf's loss is one rank's, and zero at all others: exact in any order.
  std::vector<double> small = losses_;
  small.insert(small.end(), sums.data(), sums.data() + worker::trailer::floats);
  group.all_reduce(small.data(), small.size(),
                   collectives::element_type::float64, patience());
  for (size_t i = 0; i < worker::trailer::floats; ++i)
    sums.data()[i] = float(small[leaves_ + i]);
  small.resize(leaves_);
  sums.set_loss_sum(sum_of_losses(small));
}

void canonical::drop() noexcept {}

void canonical::score(const batch_view&, float*, std::span<float>) {
  throw ballast_error(errc::internal,
                      "importance sampling with the canonical reduction");
}

/// Running statistics are those of the worker's own model.
void canonical::share_buffers() {
  const std::vector<model::buffer> own = models_[0]->buffers();
  for (size_t i = 1; i < models_.size(); ++i) {
    const std::vector<model::buffer> other = models_[i]->buffers();
    for (size_t k = 0; k < own.size(); ++k)
      std::copy(own[k].values.begin(), own[k].values.end(),
                other[k].values.begin());
  }
}

evaluation_sums canonical::evaluate(const batch_view& rows, float* gradients) {
  if (room_.statistics > 0)
    share_buffers();
  const uint32_t pieces = (rows.rows + evaluated_rows - 1) / evaluated_rows;
  std::vector<evaluation_sums> found(pieces);
  std::atomic<uint32_t> next{0};
  team_.run([&](size_t thread) {
    model& with = *models_[thread];
    with.bind({memory_.parameters.get(), memory_.count},
              {gradients, memory_.count});
    for (uint32_t i = next++; i < pieces; i = next++) {
      const uint32_t begin = i * evaluated_rows;
      found[i] = with.evaluate(rows.slice(
          begin, std::min(evaluated_rows, rows.rows - begin), features_));
    }
  });
  evaluation_sums out;
  for (const evaluation_sums& one : found) {
    out.loss += one.loss;
    out.correct += one.correct;
    out.rows += one.rows;
  }
  return out;
}

void canonical::interrupt() noexcept {
  for (model* one : models_)
    one->interrupt();
  slots_.give_up();
}

void canonical::resume() noexcept {
  for (model* one : models_)
    one->resume();
}

} // namespace ballast::gpu
