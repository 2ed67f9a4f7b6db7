#include "gpu/reduction/canonical.hpp"

#include "data/base/content_hash.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

namespace ballast::gpu {

namespace {

/// Rows of an evaluation that one thread computes at once: fixed, so that the
/// sums are alike for any number of threads.
constexpr uint32_t evaluated_rows = 64;

/// A digest as numbers of which a float64 holds each: summed over ranks, of
/// which one has it and the others zero, they are what they were.
constexpr size_t digest_numbers = 2;
void put_digest(uint64_t digest, double* at) {
  at[0] = double(digest >> 32);
  at[1] = double(digest & UINT32_MAX);
}
uint64_t digest_at(const double* at) {
  return uint64_t(at[0]) << 32 | uint64_t(at[1]);
}

bool take_one(std::atomic<uint64_t>& left) {
  uint64_t before = left.load(std::memory_order_relaxed);
  while (before > 0 && !left.compare_exchange_weak(before, before - 1))
    continue;
  return before > 0;
}

void flip_a_bit(std::span<float> values, uint64_t key) {
  if (values.empty())
    return;
  float& one = values[mix(key, values.size()) % values.size()];
  one = std::bit_cast<float>(std::bit_cast<uint32_t>(one) ^ 1U << 20);
}

} // namespace

canonical::canonical(const train_spec& how, const ledger::row_shape& row,
                     std::vector<model*> models, const arenas& memory,
                     const leaf_memory& leaves, abandoned_step& abandoned,
                     std::atomic<uint64_t>& flips)
    : leaves_(how.leaves), micro_batch_(how.micro_batch),
      features_(row.features), models_(std::move(models)), memory_(memory),
      room_(leaves), abandoned_(abandoned), slots_(room_),
      team_(models_.size()), flips_(flips) {}

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
  digests_.assign(of.checks.size() * 2 * digest_numbers, 0);
  checked_ = false;
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
  // A leaf that is checked has to be there by itself.
  const bool again = of.checks.empty() && last.is(of.at, of.samples);
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
        // One that is checked, or gets a wrong bit, is needed by itself.
        const auto at = slots_.take(work_.checks.empty() && flips_ == 0);
        if (!at)
          break;
        compute(*at, *models_[thread]);
        slots_.done(*at);
      }
      if (!slots_.given_up())
        check(*models_[thread]);
    } catch (...) {
      slots_.give_up();
      throw;
    }
  });
}

/// The leaf of another worker that is this one's to compute again; by the first
/// thread that has nothing else to do.
void canonical::check(model& with) {
  for (size_t i = 0; i < work_.checks.size(); ++i)
    if (work_.checks[i].checker == work_.rank && !checked_.exchange(true))
      put_digest(compute_again(work_.checks[i].leaf, work_.checked, with),
                 &digests_[(2 * i + 1) * digest_numbers]);
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
  const double loss =
      gradient_of(at.leaf,
                  work_.rows.slice(uint32_t(first_rows_[at.leaf]),
                                   uint32_t(rows_of(at.leaf)), features_),
                  at.gradients, at.statistics, with, &at);
  losses_[at.leaf] = loss;
  for (size_t i = 0; i < work_.checks.size(); ++i)
    if (work_.checks[i].leaf == at.leaf)
      put_digest(digest_of(loss, at.gradients, at.statistics),
                 &digests_[2 * i * digest_numbers]);
}

/// Of the rows of one leaf. The sum of their losses.
double canonical::gradient_of(uint32_t leaf, const batch_view& rows,
                              float* gradients, float* statistics, model& with,
                              const leaf_slots::place* at) {
  const std::span<float> bound{gradients, memory_.count};
  with.bind({memory_.parameters.get(), memory_.count}, bound);
  const uint64_t seed =
      mix(mix(work_.seed, value(work_.at.step)), uint64_t{leaf});
  const uint64_t most = micro_batch_.value_or(rows.rows);
  const bool adds_up = at && !at->beside.empty();
  size_t added = 0;
  const auto add_up = [&](size_t i) {
    const parameter_info& one = with.parameters()[i];
    slots_.add_up(*at, one.offset, one.count);
    added += one.count;
  };
  double loss = 0;
  for (uint64_t begin = 0; begin < rows.rows; begin += most) {
    const uint64_t end = std::min(begin + most, uint64_t{rows.rows});
    const batch_view some =
        rows.slice(uint32_t(begin), uint32_t(end - begin), features_);
    std::function<void(size_t)> ready;
    if (adds_up && end == rows.rows)
      ready = add_up;
    loss += begin == 0 ? with.overwrite(bound, some, mix(seed, begin), ready)
                       : with.accumulate(some, mix(seed, begin), ready);
  }
  if (adds_up && added != with.parameter_count())
    throw ballast_error(errc::internal,
                        "the model has told of " + std::to_string(added) +
                            " of " + std::to_string(with.parameter_count()) +
                            " gradients");
  if (room_.statistics > 0) {
    std::fill_n(statistics, room_.statistics, 0.0F);
    with.take_statistics({statistics, room_.statistics});
  }
  if (!adds_up && take_one(flips_))
    flip_a_bit({gradients, room_.gradients}, leaf);
  return loss + 0.0; // never -0.0, as other ranks add zero
}

/// Of another worker's leaf, in memory of its own: nothing that the step uses
/// changes.
uint64_t canonical::compute_again(uint32_t leaf, const batch_view& rows,
                                  model& with) {
  again_.resize(room_.gradients + room_.statistics);
  float* const statistics = again_.data() + room_.gradients;
  const double loss =
      gradient_of(leaf, rows, again_.data(), statistics, with, nullptr);
  return digest_of(loss, again_.data(), statistics);
}

uint64_t canonical::digest_of(double loss, const float* gradients,
                              const float* statistics) const {
  data::content_hash hash;
  hash.update(&loss, sizeof loss);
  hash.update(gradients, room_.gradients * sizeof(float));
  if (room_.statistics > 0)
    hash.update(statistics, room_.statistics * sizeof(float));
  return hash.digest();
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
  small.insert(small.end(), digests_.begin(), digests_.end());
  small.insert(small.end(), sums.data(), sums.data() + worker::trailer::floats);
  group.all_reduce(small.data(), small.size(),
                   collectives::element_type::float64, patience());
  const std::span<const double> others = std::span(small).subspan(leaves_);
  for (size_t i = 0; i < worker::trailer::floats; ++i)
    sums.data()[i] = float(others[digests_.size() + i]);
  compare(others.first(digests_.size()));
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

/// `digests`: as digests_, of all ranks.
void canonical::compare(std::span<const double> digests) {
  std::vector<contradicted_leaf> found;
  for (size_t i = 0; i < work_.checks.size(); ++i) {
    const ledger::spot_check& one = work_.checks[i];
    const double* at = &digests[2 * i * digest_numbers];
    const uint64_t owner = digest_at(at);
    const uint64_t checker = digest_at(at + digest_numbers);
    if (owner != checker)
      found.push_back({.leaf = one.leaf,
                       .owner = one.owner,
                       .checker = one.checker,
                       .third = one.third,
                       .of_owner = owner,
                       .of_checker = checker});
  }
  if (found.empty())
    return;
  in_flight_ = false; // none of its leaves is to be kept
  // Each has its digests of owner, checker and third.
  std::vector<double> again(found.size() * 3 * digest_numbers, 0);
  for (size_t i = 0; i < found.size(); ++i) {
    const contradicted_leaf& one = found[i];
    const int64_t by[] = {one.owner, one.checker, one.third};
    for (size_t k = 0; k < std::size(by); ++k)
      if (by[k] == int64_t{work_.rank})
        put_digest(
            compute_again(one.leaf, work_.leaf_rows(one.leaf), *models_[0]),
            &again[(3 * i + k) * digest_numbers]);
  }
  work_.group->all_reduce(again.data(), again.size(),
                          collectives::element_type::float64, patience());
  for (size_t i = 0; i < found.size(); ++i) {
    const double* at = &again[3 * i * digest_numbers];
    found[i].owner_again = digest_at(at);
    found[i].checker_again = digest_at(at + digest_numbers);
    found[i].of_third = digest_at(at + 2 * digest_numbers);
  }
  throw contradiction(std::move(found));
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
  std::vector<metrics::ordered_part> parts(pieces);
  if (rows.tally &&
      (tallies_.empty() || tallies_[0].shared() != rows.tally->shared()))
    tallies_.assign(models_.size(), metrics::tally(rows.tally->shared()));
  std::atomic<uint32_t> next{0};
  team_.run([&](size_t thread) {
    model& with = *models_[thread];
    with.bind({memory_.parameters.get(), memory_.count},
              {gradients, memory_.count});
    for (uint32_t i = next++; i < pieces; i = next++) {
      const uint32_t begin = i * evaluated_rows;
      batch_view piece = rows.slice(
          begin, std::min(evaluated_rows, rows.rows - begin), features_);
      if (rows.tally)
        piece.tally = &tallies_[thread];
      found[i] = with.evaluate(piece);
      if (rows.tally)
        parts[i] = tallies_[thread].take_part();
    }
  });
  if (rows.tally)
    gather(*rows.tally, parts);
  evaluation_sums out;
  for (const evaluation_sums& one : found)
    out += one;
  return out;
}

/// Counts in any order, all else in that of the rows.
void canonical::gather(metrics::tally& to,
                       const std::vector<metrics::ordered_part>& parts) {
  for (const metrics::ordered_part& one : parts)
    to.append(one);
  for (metrics::tally& one : tallies_) {
    to.add_counts(one.counts());
    one.clear_counts();
  }
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
