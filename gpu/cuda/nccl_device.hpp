/// Shared by all communicators of one GPU: the thread that owns them, and the
/// watchdog that aborts them.
///
/// NCCL allows one thread at a time in the communicators of a device, does not
/// detect a dead peer on NVLink, and its kernels spin until an abort flag is
/// raised. So the owner thread issues everything, and polls instead of blocking
/// in CUDA or NCCL. The watchdog aborts communicators, after it has met every
/// thread that is inside a call: a marked one is not entered again.
///
/// Freeing one takes NCCL up to a second, because its service threads look for
/// their end only twice a second. It is done beside everything else, by a
/// thread for each: the next generation opens meanwhile, and communicators that
/// wait for each other's kernels all have their flags raised.
///
/// Mark before abort: an aborted kernel ends early, its event then fires, and
/// work queued behind it runs on garbage. A communicator is marked before the
/// flag is raised, and nothing that completes on a marked one counts. An
/// aborted kernel also passes incomplete data to other ranks, which cannot
/// detect it: a collective that is given up is therefore only marked. The flag
/// is raised when it is dropped, and that happens once every rank has stopped
/// applying.
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

namespace ballast::gpu {

constexpr std::chrono::seconds abort_deadline{5};

/// Communicators, or groups of them, that are being freed at a time, before the
/// next one opens: each holds memory of the device.
constexpr size_t freed_at_once_max = 8;

/// Stream, event and staging memory of one collective; used by the owner
/// thread.
struct stream_parts {
  int device = -1; // none yet
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  void* pinned = nullptr;
  void* memory = nullptr;

  stream_parts() = default;
  stream_parts(const stream_parts&) = delete;
  stream_parts& operator=(const stream_parts&) = delete;
  /// On any thread; nothing of the stream may run any more.
  ~stream_parts();
  void open(int on_device, size_t staging_bytes);
};

/// The communicator of one generation, and what it works with: freed after it.
struct nccl_communicator {
  stream_parts parts;
  ncclComm_t handle = nullptr; // used by the owner thread, until `gone`

  std::atomic<bool> marked{false};
  std::mutex mutex; // guards the following members
  std::optional<collectives::collective_error> why;
  bool condemned = false; // queued for the watchdog
  bool gone = false;      // freed: no kernel of it runs any more

  /// The first reason is kept. True if this call marked it.
  bool mark(const collectives::collective_error& reason);
  void throw_if_marked();
};
using nccl_communicator_ptr = std::shared_ptr<nccl_communicator>;

class nccl_device {
public:
  /// Starts both threads.
  nccl_device(int index, const nccl_library& nccl);
  /// Waits until every communicator that was given up is freed.
  ~nccl_device();

  const nccl_library& nccl() const { return nccl_; }
  int index() const { return index_; }

  /// Runs `task` on the owner thread and returns when it is done; rethrows its
  /// exception. The task observes its own deadline; if it is still not done
  /// `abort_deadline` after `until`, this throws poisoned.
  void run(std::function<void()> task, collectives::deadline until);

  // -- on the owner thread ----------------------------------------------------

  /// One call of NCCL, with no other thread inside. ncclInProgress is accepted.
  void call(nccl_communicator& of, const char* what,
            const std::function<ncclResult_t()>& function);
  /// Polls until `done` holds. Throws if `of` is marked meanwhile, reports an
  /// error of its own, or the deadline passes; the last two mark it.
  void poll(const nccl_communicator_ptr& of, const char* what,
            collectives::deadline until, const std::function<bool()>& done);
  /// Polls until NCCL has enqueued the call: the stream is free again.
  void poll_issued(const nccl_communicator_ptr& of, const char* what,
                   collectives::deadline until);

  // -- any thread
  // --------------------------------------------------------------

  /// Marks it, and queues it for one abort by the watchdog. Returns at once.
  void abort(const nccl_communicator_ptr& what,
             const collectives::collective_error& why);
  /// Queues one that was finalized to be destroyed. Returns at once.
  void destroy(const nccl_communicator_ptr& what);
  /// Waits until it is gone; throws poisoned after `abort_deadline`.
  void wait_gone(nccl_communicator& what);
  /// Waits until no kernel of it runs any more, which is long before it is
  /// gone. Every call of it must have been enqueued. Throws likewise.
  void wait_quiet(nccl_communicator& what);
  /// Waits until another one may be opened; throws timeout.
  void wait_for_room(collectives::deadline until);

private:
  using communicators = std::vector<nccl_communicator_ptr>;

  struct posted_task {
    std::function<void()> work;
    std::exception_ptr error;
    bool done = false;
  };

  void own();
  void watch();
  void free_beside(communicators given_up); // with mutex_
  void free(const communicators& group);
  [[noreturn]] void fail(const nccl_communicator_ptr& of,
                         const collectives::collective_error& why);

  const int index_;
  const nccl_library& nccl_;
  std::mutex in_nccl_; // held around every call into NCCL

  std::mutex mutex_; // guards the following members
  std::condition_variable changed_;
  std::deque<std::shared_ptr<posted_task>> tasks_;
  communicators condemned_;
  size_t being_freed_ = 0; // threads that free, each one or a group
  bool stop_ = false;

  std::thread owner_;
  std::thread watchdog_;
};

/// Maps NCCL's result to a collective_errc.
collectives::collective_errc code_of(ncclResult_t result);

} // namespace ballast::gpu
