/// Gathers the next batch on a thread of its own while the step thread
/// computes. One order at a time, two batches in turn.
#pragma once

#include "data/batch.hpp"
#include "data/chunk_store.hpp"
#include "runtime/worker_core.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace ballast {

class prefetcher {
public:
  /// `store` must outlive this object.
  prefetcher(const chunk_store& store, row_shape row);
  ~prefetcher();

  /// Starts gathering; precondition: the last order was taken.
  void submit(step_order order);
  struct ready {
    step_order order;
    const batch* rows = nullptr; // valid until the next but one submit
  };
  /// Waits for the submitted order; nothing if none was. Rethrows what
  /// gathering threw.
  std::optional<ready> take();

private:
  void work();

  const chunk_store& store_;
  row_shape row_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<step_order> order_; // submitted and not yet taken
  bool gathered_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  batch batches_[2];
  size_t turn_ = 0;
  std::thread thread_;
};

} // namespace ballast
