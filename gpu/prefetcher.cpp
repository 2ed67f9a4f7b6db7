#include "gpu/prefetcher.hpp"

#include "collectives/collective_error.hpp"
#include "gpu/step_helpers.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/thread_name.hpp"

#include <utility>

namespace ballast::gpu {

prefetcher::prefetcher(data::row_source& rows, uint32_t features,
                       compute_device& device,
                       const data::image_augment* images, size_t threads)
    : rows_(rows), features_(features), device_(device) {
  if (images != nullptr)
    images_.emplace(*images, threads);
  if (images_)
    for (data::batch* one :
         {&batches_[0], &batches_[1], &checked_[0], &checked_[1], &fetched_})
      one->images = &*images_;
  thread_ = std::thread([this] { work(); });
}

prefetcher::~prefetcher() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    unwanted_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void prefetcher::submit(worker::step_order order) {
  {
    std::lock_guard lock(mutex_);
    BALLAST_CHECK(!order_, "an order is already under way");
    order_ = std::move(order);
    gathered_ = false;
    turn_ ^= 1;
  }
  changed_.notify_all();
}

std::optional<prefetcher::ready> prefetcher::take() {
  std::unique_lock lock(mutex_);
  if (!order_)
    return std::nullopt;
  changed_.wait(lock, [this] { return gathered_ || unwanted_; });
  if (unwanted_)
    throw collectives::collective_error(
        collectives::collective_errc::aborted,
        "aborted while the rows of a step were awaited");
  if (error_)
    std::rethrow_exception(error_);
  ready out{std::move(*order_), &batches_[turn_], views_[turn_],
            view(checked_[turn_])};
  order_.reset();
  return out;
}

batch_view prefetcher::fetch(epoch_number epoch,
                             std::span<const ledger::row_ref> rows) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !order_ || gathered_ || unwanted_; });
  }
  // The other thread waits for an order, which this one would give.
  fetched_.epoch = epoch;
  rows_.gather(
      data::data_part::train, rows, [this] { return unwanted_.load(); },
      fetched_);
  return view(fetched_);
}

void prefetcher::abort() {
  {
    std::lock_guard lock(mutex_);
    unwanted_ = true;
  }
  changed_.notify_all();
}

void prefetcher::work() {
  name_this_thread("bl-prefetch");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || (order_ && !gathered_); });
    if (stop_)
      return;
    const size_t slot = turn_;
    data::batch& target = batches_[slot];
    // The order is not modified while gathered_ is false.
    lock.unlock();
    std::exception_ptr error;
    try {
      if (order_->upcoming)
        rows_.expect(*order_->upcoming);
      target.epoch = order_->at.epoch;
      rows_.gather(
          data::data_part::train, order_->rows,
          [this] { return unwanted_.load(); }, target);
      views_[slot] = device_.bring(slot, view(target), features_);
      checked_[slot].rows = 0;
      if (!order_->checked_rows.empty()) {
        checked_[slot].epoch = order_->at.epoch;
        rows_.gather(
            data::data_part::train, order_->checked_rows,
            [this] { return unwanted_.load(); }, checked_[slot]);
      }
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    gathered_ = true;
    changed_.notify_all();
  }
}

} // namespace ballast::gpu
