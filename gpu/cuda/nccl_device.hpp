/// What all communicators of one GPU share: the thread that owns them, and the
/// one that ends them.
///
/// NCCL wants one thread at a time in the communicators of a device, never sees
/// a dead peer on NVLink by itself, and its kernels spin until an abort flag is
/// raised. So the owner thread issues everything, without ever blocking in CUDA
/// or NCCL: it polls. The watchdog ends communicators; it takes `in_nccl`
/// first, so that nobody is inside a call meanwhile.
///
/// Mark before abort: an aborted kernel ends early, its event then fires, and
/// what was queued behind it runs on garbage. A communicator is marked before
/// the flag is raised, and nothing that completes on a marked one counts. An
/// aborted kernel also hands on what it has to the other ranks, who do not
/// know: a collective that is given up is only marked. The flag is raised when
/// it is dropped, and that happens once every rank has stopped applying.
///
/// An abort that does not return within `abort_deadline` poisons the device:
/// the process must end (collective_errc::poisoned).
#pragma once

#include "collectives/collective.hpp"
#include "gpu/cuda/check.hpp"
#include "gpu/cuda/nccl_library.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ballast {

constexpr std::chrono::seconds abort_deadline{5};

/// The communicator of one generation.
struct nccl_communicator {
  ncclComm_t handle = nullptr; // the owner thread's, until `gone`

  std::atomic<bool> marked{false};
  std::mutex mutex; // guards what follows
  std::optional<collective_error> why;
  bool condemned = false; // the watchdog has it
  bool gone = false;      // aborted or destroyed: no kernel of it runs any more

  /// The first reason stays. True if this call marked it.
  bool mark(const collective_error& reason);
  void throw_if_marked();
};
using nccl_communicator_ptr = std::shared_ptr<nccl_communicator>;

class nccl_device {
public:
  /// Starts both threads. Throws ballast_error{device_failed} where the device
  /// cannot be used.
  nccl_device(int index, const nccl_library& nccl);
  /// Every communicator must be gone.
  ~nccl_device();

  const nccl_library& nccl() const { return nccl_; }
  int index() const { return index_; }

  /// Runs `task` on the owner thread and returns when it is done; rethrows what
  /// it threw. The task watches its own deadline; one that is still not back
  /// `abort_deadline` after `until` throws poisoned here.
  void run(std::function<void()> task, deadline until);

  // -- on the owner thread ----------------------------------------------------

  /// One call of NCCL, with nobody else inside. ncclInProgress is fine.
  void call(nccl_communicator& of, const char* what,
            const std::function<ncclResult_t()>& function);
  /// Polls until `done` holds. Throws where `of` was marked meanwhile, reports
  /// an error of its own, or the deadline passes; the last two mark it.
  void poll(const nccl_communicator_ptr& of, const char* what, deadline until,
            const std::function<bool()>& done);
  /// Until NCCL has taken over what was called: the stream is ours again.
  void poll_issued(const nccl_communicator_ptr& of, const char* what,
                   deadline until);

  // -- any thread
  // --------------------------------------------------------------

  /// Marks, and lets the watchdog abort, once. Returns at once.
  void abort(const nccl_communicator_ptr& what, const collective_error& why);
  /// Waits until it is gone; throws poisoned after `abort_deadline`.
  void wait_gone(nccl_communicator& what);

private:
  struct posted_task {
    std::function<void()> work;
    std::exception_ptr error;
    bool done = false;
  };

  void own();
  void watch();
  [[noreturn]] void fail(const nccl_communicator_ptr& of,
                         const collective_error& why);

  const int index_;
  const nccl_library& nccl_;
  std::mutex in_nccl_; // held around every call into NCCL

  std::mutex mutex_; // guards what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<posted_task>> tasks_;
  std::vector<nccl_communicator_ptr> condemned_;
  bool stop_ = false;

  std::thread owner_;
  std::thread watchdog_;
};

/// What NCCL's code means to a worker.
collective_errc code_of(ncclResult_t result);

} // namespace ballast
