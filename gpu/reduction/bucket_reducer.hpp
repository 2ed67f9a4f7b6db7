/// All-reduces the buckets of a step during the backward pass: a bucket is sent
/// as soon as every parameter in it is final, on one communication thread, in
/// layout order, so that every rank sends the same buckets in the same order,
/// whatever the order in which its parameters become ready.
///
/// The last bucket, and any other that is not in flight when the backward pass
/// ends, is reduced on the calling thread: handing it over would only cost a
/// wake-up.
///
/// Threads: one step thread calls begin, parameter_ready and finish. Between
/// begin and the return of finish no other code uses the collective or writes
/// the gradients of parameters already reported ready.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/bucket_layout.hpp"
#include "gpu/device.hpp"
#include "gpu/reduction/bucket_sum.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ballast::gpu {

class bucket_reducer {
public:
  /// `device`, which holds the gradients, must outlive this object, and so must
  /// `how`; null: an all-reduce of each bucket as it is.
  explicit bucket_reducer(bucket_layout layout,
                          compute_device& device = cpu_device(),
                          bucket_sum* how = nullptr);
  ~bucket_reducer();

  /// Begins a step: its gradients will be in `gradients`, `group` reduces them,
  /// every operation by `until`.
  void begin(float* gradients, collectives::collective& group,
             collectives::deadline until);
  /// The gradient of parameter i is final, or will be once the device has
  /// executed everything enqueued so far.
  void parameter_ready(size_t parameter);
  /// All gradients are final; returns when every bucket is reduced. Rethrows an
  /// operation's collective_error.
  void finish();
  /// Abandons the step: returns when the communication thread no longer uses
  /// the collective, which the caller must have aborted.
  void drop() noexcept;

  const bucket_layout& layout() const { return layout_; }

private:
  void work();
  void reduce(size_t bucket);

  bucket_layout layout_;
  compute_device& device_;
  bucket_sum* how_;
  std::vector<size_t> parameters_in_; // per bucket
  std::vector<size_t> waiting_for_;   // per bucket, in this step
  float* gradients_ = nullptr;
  collectives::collective* group_ = nullptr;
  collectives::deadline until_{};

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t ready_ = 0; // the thread may send buckets [0, ready_)
  size_t done_ = 0;  // buckets [0, done_) are reduced
  bool busy_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_; // only if there are several buckets
};

} // namespace ballast::gpu
