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

} // namespace

canonical::canonical(const train_spec& how, const ledger::row_shape& row,
                     std::vector<model*> models, const arenas& memory,
                     const leaf_memory& leaves, abandoned_step& abandoned)
    : leaves_(how.leaves), micro_batch_(how.micro_batch),
      features_(row.features), models_(std::move(models)), memory_(memory),
      room_(leaves), abandoned_(abandoned), slots_(room_),
      team_(models_.size()) {}

uint64_t canonical::rows_of(uint32_t leaf) const {
  const ledger::step_rows rows =
      ledger::rows_of({leaf, leaf + 1}, work_.samples, leaves_);
  return rows.end - rows.begin;
}

/// Which leaves are whose in this step, and how they are added up.
void canonical::prepare(const step_work& of) {
  work_ = of;
  order_ = ledger::sum_of_ranks(of.leaves, leaves_, of.samples);
  losses_.assign(leaves_, 0);
  first_rows_.assign(leaves_, 0);
  uint64_t before = 0;
  for (ledger::leaf_range range : of.leaves[of.rank])
    for (uint32_t leaf = range.begin; leaf < range.end; ++leaf) {
      first_rows_[leaf] = before;
      before += rows_of(leaf);
    }
}

/// What is there of this step; the losses of the others are computed.
void canonical::take_over(const abandoned_step& last) {
  for (ledger::leaf_range range : work_.leaves[work_.rank])
    for (uint32_t leaf = range.begin; leaf < range.end; ++leaf) {
      losses_[leaf] = last.losses[leaf];
      rows_kept_ += rows_of(leaf);
    }
  for (uint32_t leaf : slots_.waiting()) {
    losses_[leaf] = 0;
    rows_kept_ -= rows_of(leaf);
  }
}

void canonical::begin(const step_work& of) {
  const abandoned_step last = std::exchange(abandoned_, {});
  const bool again = last.is(of.at, of.samples);
  prepare(of);
  lone_ = of.group && of.group->size() == 1 && order_.terms.size() == 1;
  slots_.begin(of.leaves[of.rank], leaves_, of.samples,
               lone_ ? of.gradients : nullptr,
               again ? std::span<const held_sum>(last.sums)
                     : std::span<const held_sum>());
  in_flight_ = true;
  rows_kept_ = 0;
  if (again)
    take_over(last);
}

void canonical::compute_leaves(const std::atomic<bool>* stopped) {
  team_.run([this, stopped](size_t thread) {
    try {
      while (!stopped || !*stopped) {
        const auto at = slots_.take();
        if (!at)
          return;
        compute(*at, *models_[thread]);
        slots_.done(*at);
      }
    } catch (...) {
      slots_.give_up();
      throw;
    }
  });
}

double canonical::contribute(const step_work& of) {
  begin(of);
  compute_leaves(nullptr);
  return sum_of_losses(losses_);
}

/// An attempt at the step that is abandoned when the ranks are there.
void canonical::compute_ahead(const step_work& of) {
  begin(of);
  compute_leaves(&ahead_stopped_);
  drop();
}

void canonical::compute(const leaf_slots::place& at, model& with) {
  const uint64_t first = first_rows_[at.leaf];
  const ledger::step_rows part{first, first + rows_of(at.leaf)};
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
  for (uint32_t leaf = 0; leaf < leaves_; ++leaf)
    sums[leaf] = {by_leaf[leaf], rows_of(leaf) > 0};
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
  if (lone_) { // its gradients are where they belong
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

void canonical::applied(ledger::position /*of*/, double /*samples*/) {
  in_flight_ = false;
  abandoned_ = {};
}

/// The team has ended, so a sum is complete or it is none.
void canonical::drop() noexcept {
  if (std::exchange(in_flight_, false))
    abandoned_ = {work_.at, work_.samples, slots_.held(), losses_};
}

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

/// A leaf that is being computed is finished: it is needed for the step all the
/// same, and would take longer from its beginning.
void canonical::interrupt() noexcept {
  slots_.give_up();
}

void canonical::resume() noexcept {
  slots_.resume();
}

} // namespace ballast::gpu
