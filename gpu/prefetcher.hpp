/// Gathers the next batch on a thread of its own, from wherever its rows are,
/// changes images as the job says, and copies it to the device, while the step
/// thread computes. One order at a
/// time, two batches in turn.
#pragma once

#include "data/loader/augmented_rows.hpp"
#include "data/loader/batch.hpp"
#include "data/loader/row_source.hpp"
#include "gpu/device.hpp"
#include "runtime/worker/worker_core.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

namespace ballast::gpu {

class prefetcher {
public:
  /// Uses slots 0 and 1 of the device, which, like `rows` and `images`, must
  /// outlive this object. `features`: of a row as the model sees it. `images`:
  /// what becomes of rows, on that many threads; null: as they are stored.
  prefetcher(data::row_source& rows, uint32_t features,
             compute_device& device = cpu_device(),
             const data::image_augment* images = nullptr, size_t threads = 1);
  ~prefetcher();

  /// Starts gathering; precondition: the last order was taken.
  void submit(worker::step_order order);
  struct ready {
    worker::step_order order;
    const data::batch* rows = nullptr; // valid until the next but one submit
    batch_view view = {};              // of all rows; likewise
    batch_view checked = {};           // of the order's checked_rows; likewise
  };
  /// Waits for the submitted order; nothing if there is none. Rethrows
  /// exceptions of the gathering thread; after abort() it throws
  /// collective_error{aborted}.
  std::optional<ready> take();
  /// Gathers rows at once, on the caller's thread, after those of the submitted
  /// order; on the host. Valid until the next call. Throws as take() does.
  batch_view fetch(epoch_number epoch, std::span<const ledger::row_ref> rows);
  /// Rows that are still on their way are wanted no more. Any thread.
  void abort();

private:
  void work();

  data::row_source& rows_;
  const uint32_t features_;
  compute_device& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<worker::step_order> order_; // submitted and not yet taken
  bool gathered_ = false;
  bool stop_ = false;
  std::atomic<bool> unwanted_{false}; // aborted, or about to end
  std::exception_ptr error_;
  std::optional<data::augmented_rows> images_;
  data::batch batches_[2];
  batch_view views_[2];
  data::batch checked_[2]; // rows of the leaves that are computed twice
  data::batch fetched_;
  size_t turn_ = 0;
  std::thread thread_;
};

} // namespace ballast::gpu
