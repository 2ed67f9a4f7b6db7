#include "gpu/cuda/nccl_device.hpp"

#include <algorithm>
#include <utility>

namespace ballast::gpu {

using collectives::collective_errc;
using collectives::collective_error;
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Polls with growing pauses: most operations take far less than a millisecond,
/// and a late peer takes many.
class patient_poll {
public:
  void pause() {
    if (steady_clock::now() - begin_ < 200us)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(steady_clock::now() - begin_ < 20ms ? 20us
                                                                      : 500us);
  }

private:
  steady_clock::time_point begin_ = steady_clock::now();
};

std::string text_of(const nccl_library& nccl, ncclResult_t result,
                    ncclComm_t comm) {
  std::string out = nccl.get_error_string(result);
  const char* last = nccl.get_last_error(comm);
  if (last && *last)
    out += std::string(" (") + last + ")";
  return out;
}

} // namespace

collective_errc code_of(ncclResult_t result) {
  switch (result) {
  case ncclRemoteError:
  case ncclSystemError:
    return collective_errc::peer_lost;
  case ncclInvalidArgument:
  case ncclInvalidUsage:
    return collective_errc::mismatch;
  case ncclUnhandledCudaError: // a device error that outlives the call
    return collective_errc::poisoned;
  default:
    return collective_errc::aborted;
  }
}

bool nccl_communicator::mark(const collective_error& reason) {
  std::lock_guard lock(mutex);
  if (why)
    return false;
  why = reason;
  marked = true;
  return true;
}

void nccl_communicator::throw_if_marked() {
  if (!marked)
    return;
  std::lock_guard lock(mutex);
  throw collective_error(*why);
}

stream_parts::~stream_parts() {
  if (device < 0)
    return;
  cudaSetDevice(device);
  cudaFree(memory);
  cudaFreeHost(pinned);
  if (event)
    cudaEventDestroy(event);
  if (stream)
    cudaStreamDestroy(stream);
}

void stream_parts::open(int on_device, size_t staging_bytes) {
  device = on_device;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
             "cudaStreamCreate");
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
             "cudaEventCreate");
  check_cuda(cudaMallocHost(&pinned, staging_bytes), "cudaMallocHost");
  check_cuda(cudaMalloc(&memory, staging_bytes), "cudaMalloc");
}

nccl_device::nccl_device(int index, const nccl_library& nccl)
    : index_(index), nccl_(nccl) {
  owner_ = std::thread([this] { own(); });
  watchdog_ = std::thread([this] { watch(); });
}

nccl_device::~nccl_device() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  owner_.join();
  watchdog_.join();
}

void nccl_device::run(std::function<void()> task, collectives::deadline until) {
  auto posted = std::make_shared<posted_task>();
  posted->work = std::move(task);
  std::unique_lock lock(mutex_);
  tasks_.push_back(posted);
  changed_.notify_all();
  if (!changed_.wait_until(lock, until + abort_deadline,
                           [&] { return posted->done; }))
    throw collective_error(collective_errc::poisoned,
                           "cuda:" + std::to_string(index_) +
                               " does not come back from NCCL; this process "
                               "must end");
  if (posted->error)
    std::rethrow_exception(posted->error);
}

void nccl_device::own() {
  const cudaError_t usable = cudaSetDevice(index_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty())
      return;
    std::shared_ptr<posted_task> task = tasks_.front();
    tasks_.pop_front();
    lock.unlock();
    try {
      check_cuda(usable, "cudaSetDevice");
      task->work();
    } catch (...) {
      task->error = std::current_exception();
    }
    task->work = nullptr;
    lock.lock();
    task->done = true;
    changed_.notify_all();
  }
}

void nccl_device::watch() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      return !condemned_.empty() || (stop_ && being_freed_ == 0);
    });
    if (condemned_.empty())
      return;
    free_beside(std::exchange(condemned_, {}));
  }
}

/// The aborted ones as one group: one after another could deadlock, because
/// freeing the first waits for the kernels of the second.
void nccl_device::free_beside(communicators given_up) {
  const auto finalized =
      std::stable_partition(given_up.begin(), given_up.end(),
                            [](const auto& one) { return bool(one->marked); });
  std::vector<communicators> groups;
  if (finalized != given_up.begin())
    groups.emplace_back(given_up.begin(), finalized);
  for (auto one = finalized; one != given_up.end(); ++one)
    groups.push_back({*one});
  being_freed_ += groups.size();
  for (communicators& group : groups)
    std::thread([this, group = std::move(group)]() mutable {
      free(group);
      group.clear(); // with the memory of those that nobody else holds
      std::lock_guard lock(mutex_);
      --being_freed_; // ~nccl_device waits for this
      changed_.notify_all();
    }).detach();
}

void nccl_device::free(const communicators& group) {
  cudaSetDevice(index_);
  // A thread may still be inside a call; no other will enter one.
  std::unique_lock(in_nccl_).unlock();
  if (!group.front()->marked) {
    nccl_.comm_destroy(std::exchange(group.front()->handle, nullptr));
  } else {
    nccl_.group_start();
    for (const nccl_communicator_ptr& one : group)
      if (one->handle)
        nccl_.comm_abort(std::exchange(one->handle, nullptr));
    nccl_.group_end();
  }
  for (const nccl_communicator_ptr& one : group) {
    std::lock_guard guard(one->mutex);
    one->gone = true;
  }
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void nccl_device::abort(const nccl_communicator_ptr& what,
                        const collective_error& why) {
  what->mark(why);
  destroy(what);
}

void nccl_device::destroy(const nccl_communicator_ptr& what) {
  {
    std::lock_guard guard(what->mutex);
    if (std::exchange(what->condemned, true))
      return;
  }
  std::lock_guard lock(mutex_);
  condemned_.push_back(what);
  changed_.notify_all();
}

void nccl_device::wait_gone(nccl_communicator& what) {
  std::unique_lock lock(mutex_);
  const bool gone =
      changed_.wait_until(lock, steady_clock::now() + abort_deadline, [&] {
        std::lock_guard guard(what.mutex);
        return what.gone;
      });
  if (!gone)
    throw collective_error(collective_errc::poisoned,
                           "an abort on cuda:" + std::to_string(index_) +
                               " does not end; this process must end");
}

void nccl_device::wait_quiet(nccl_communicator& what) {
  if (what.parts.device < 0)
    return;
  check_cuda(cudaSetDevice(what.parts.device), "cudaSetDevice");
  check_cuda(cudaEventRecord(what.parts.event, what.parts.stream), "an abort");
  const auto until = steady_clock::now() + abort_deadline;
  patient_poll between;
  while (cudaEventQuery(what.parts.event) == cudaErrorNotReady) {
    if (steady_clock::now() >= until)
      throw collective_error(
          collective_errc::poisoned,
          "a kernel of NCCL on cuda:" + std::to_string(index_) +
              " does not end; this process must end");
    between.pause();
  }
}

void nccl_device::wait_for_room(collectives::deadline until) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, until, [this] {
        return condemned_.size() + being_freed_ < freed_at_once_max;
      }))
    throw collective_error(collective_errc::timeout,
                           "NCCL is still freeing " +
                               std::to_string(freed_at_once_max) +
                               " communicators of earlier generations");
}

void nccl_device::fail(const nccl_communicator_ptr& of,
                       const collective_error& why) {
  of->mark(why);
  of->throw_if_marked(); // another reason may have come first
  throw collective_error(why);
}

void nccl_device::call(nccl_communicator& of, const char* what,
                       const std::function<ncclResult_t()>& function) {
  std::lock_guard nobody_else(in_nccl_);
  of.throw_if_marked(); // its handle may be gone
  const ncclResult_t result = function();
  if (result != ncclSuccess && result != ncclInProgress)
    throw collective_error(code_of(result),
                           std::string(what) + ": " +
                               text_of(nccl_, result, of.handle));
}

void nccl_device::poll(const nccl_communicator_ptr& of, const char* what,
                       collectives::deadline until,
                       const std::function<bool()>& done) {
  patient_poll between;
  while (true) {
    const bool seen = done();
    // In this order: work that completed because of an abort was marked before.
    of->throw_if_marked();
    if (seen)
      return;
    ncclResult_t state = ncclSuccess;
    try {
      call(*of, what,
           [&] { return nccl_.comm_get_async_error(of->handle, &state); });
      if (state != ncclSuccess && state != ncclInProgress)
        throw collective_error(code_of(state),
                               std::string(what) + ": " +
                                   text_of(nccl_, state, of->handle));
    } catch (const collective_error& e) {
      fail(of, e);
    }
    if (steady_clock::now() >= until)
      fail(of, {collective_errc::timeout,
                std::string(what) + ": the deadline passed"});
    between.pause();
  }
}

void nccl_device::poll_issued(const nccl_communicator_ptr& of, const char* what,
                              collectives::deadline until) {
  poll(of, what, until, [&] {
    ncclResult_t state = ncclInProgress;
    std::lock_guard nobody_else(in_nccl_);
    if (of->marked)
      return true; // poll throws
    nccl_.comm_get_async_error(of->handle, &state);
    return state == ncclSuccess;
  });
}

} // namespace ballast::gpu
