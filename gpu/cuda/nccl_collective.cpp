#include "gpu/cuda/nccl_collective.hpp"

#include "collectives/peer_blob.hpp"
#include "gpu/cuda/nccl_device.hpp"
#include "gpu/nccl_introduction.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ballast::gpu {

using collectives::collective_errc;
using collectives::collective_error;
namespace {

/// Host buffers travel in pieces of this size.
constexpr size_t staging_bytes = size_t{4} << 20;

ncclDataType_t nccl_type(collectives::element_type type) {
  switch (type) {
  case collectives::element_type::float64:
    return ncclFloat64;
  case collectives::element_type::bfloat16:
    return ncclBfloat16;
  case collectives::element_type::float32:
    break;
  }
  return ncclFloat32;
}

bool on_device(const void* data) {
  cudaPointerAttributes found{};
  check_cuda(cudaPointerGetAttributes(&found, data),
             "cudaPointerGetAttributes");
  return found.type == cudaMemoryTypeDevice ||
         found.type == cudaMemoryTypeManaged;
}

class nccl_collective final : public collectives::collective {
public:
  nccl_collective(std::shared_ptr<nccl_device> device,
                  nccl_communicator_ptr communicator,
                  const collectives::collective_options& options)
      : device_(std::move(device)), communicator_(std::move(communicator)),
        rank_(options.rank), size_(options.size) {}

  /// Blocks until no kernel of this collective runs any more: the caller's
  /// buffers are its own again. If that cannot be reached, the process must
  /// end.
  ~nccl_collective() override {
    try {
      if (state_ != collectives::collective_state::closed) {
        device_->abort(communicator_, {collective_errc::aborted,
                                       "the collective was dropped"});
        // NCCL may still enqueue a call that was given up.
        if (issuing_)
          device_->wait_gone(*communicator_);
        else
          device_->wait_quiet(*communicator_);
      }
    } catch (...) {
      std::abort();
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  collectives::collective_state state() const override { return state_; }

  void open(collectives::deadline until) {
    on_owner(until, [this] {
      communicator_->parts.open(device_->index(), staging_bytes);
    });
  }

  void all_reduce(void* data, size_t count, collectives::element_type type,
                  collectives::deadline until) override {
    const nccl_library& nccl = device_->nccl();
    in_pieces(data, count, size_of(type), "all_reduce", until,
              [&, type](void* at, size_t elements) {
                return nccl.all_reduce(at, at, elements, nccl_type(type),
                                       ncclSum, communicator_->handle,
                                       parts().stream);
              });
    // A ring's share; NVLink's in-network reductions send less.
    bytes_sent_ +=
        2 * count * size_of(type) * uint64_t(size_ - 1) / uint64_t(size_);
  }

  // Training does not use these two: our slices may differ by an element, which
  // NCCL's operations do not allow.
  void reduce_scatter(void* data, size_t count, collectives::element_type type,
                      collectives::deadline until) override {
    const nccl_library& nccl = device_->nccl();
    for (int root = 0; root < size_; ++root) {
      const collectives::slice part = collectives::slice_of(count, root, size_);
      in_pieces(static_cast<char*>(data) + part.begin * size_of(type),
                part.end - part.begin, size_of(type), "reduce_scatter", until,
                [&, type, root](void* at, size_t elements) {
                  return nccl.reduce(at, at, elements, nccl_type(type), ncclSum,
                                     root, communicator_->handle,
                                     parts().stream);
                });
    }
    bytes_sent_ +=
        count * size_of(type) * uint64_t(size_ - 1) / uint64_t(size_);
  }
  void all_gather(void* data, size_t count, collectives::element_type type,
                  collectives::deadline until) override {
    for (int root = 0; root < size_; ++root) {
      const collectives::slice part = collectives::slice_of(count, root, size_);
      broadcast(static_cast<char*>(data) + part.begin * size_of(type),
                (part.end - part.begin) * size_of(type), root, until);
    }
  }

  void send(const void* data, size_t bytes, int to,
            collectives::deadline until) override {
    check_rank(to);
    const nccl_library& nccl = device_->nccl();
    in_pieces(const_cast<void*>(data), bytes, 1, "send", until,
              [&, to](void* at, size_t elements) {
                return nccl.send(at, elements, ncclUint8, to,
                                 communicator_->handle, parts().stream);
              });
    bytes_sent_ += bytes;
  }
  void receive(void* data, size_t bytes, int from,
               collectives::deadline until) override {
    check_rank(from);
    const nccl_library& nccl = device_->nccl();
    in_pieces(data, bytes, 1, "receive", until,
              [&, from](void* at, size_t elements) {
                return nccl.recv(at, elements, ncclUint8, from,
                                 communicator_->handle, parts().stream);
              });
  }

  void broadcast(void* data, size_t bytes, int root,
                 collectives::deadline until) override {
    check_rank(root);
    const nccl_library& nccl = device_->nccl();
    in_pieces(data, bytes, 1, "broadcast", until,
              [&, root](void* at, size_t elements) {
                return nccl.broadcast(at, at, elements, ncclUint8, root,
                                      communicator_->handle, parts().stream);
              });
    bytes_sent_ += rank_ == root ? bytes : 0;
  }

  void barrier(collectives::deadline until) override {
    float nothing = 0;
    all_reduce(&nothing, 1, collectives::element_type::float32, until);
  }

  void abort(const std::string& reason) noexcept override {
    if (state_ == collectives::collective_state::closed)
      return;
    try {
      communicator_->mark({collective_errc::aborted, reason});
    } catch (...) { // no memory for the text: the deadline ends the operation
    }
    state_ = collectives::collective_state::dead;
  }

  void close(collectives::deadline until) override {
    state_ = collectives::collective_state::draining;
    barrier(until);
    on_owner(until, [this, until] {
      const nccl_library& nccl = device_->nccl();
      device_->call(*communicator_, "close",
                    [&] { return nccl.comm_finalize(communicator_->handle); });
      device_->poll_issued(communicator_, "close", until);
    });
    device_->destroy(communicator_);
    state_ = collectives::collective_state::closed;
  }

  uint64_t bytes_sent() const override { return bytes_sent_; }

private:
  void check_rank(int rank) const {
    if (rank < 0 || rank >= size_)
      throw collective_error(collective_errc::mismatch,
                             "no rank " + std::to_string(rank) +
                                 " in a collective of " +
                                 std::to_string(size_));
  }

  template <class Task>
  void on_owner(collectives::deadline until, Task&& task) {
    if (state_ == collectives::collective_state::closed)
      throw collective_error(collective_errc::aborted,
                             "the collective is closed");
    try {
      device_->run(std::forward<Task>(task), until);
    } catch (const collective_error& e) {
      abort(e.what());
      throw;
    } catch (const std::exception& e) { // of the device
      abort(e.what());
      throw collective_error(collective_errc::poisoned, e.what());
    }
  }

  template <class Issue>
  void in_pieces(void* data, size_t count, size_t element_bytes,
                 const char* what, collectives::deadline until, Issue issue) {
    if (count == 0)
      return on_owner(until, [this] { communicator_->throw_if_marked(); });
    on_owner(until, [&, data, count] {
      if (on_device(data))
        return reduce_here(data, count, what, until, issue);
      const size_t piece = staging_bytes / element_bytes;
      for (size_t begin = 0; begin < count; begin += piece) {
        const size_t elements = std::min(piece, count - begin);
        char* at = static_cast<char*>(data) + begin * element_bytes;
        staged(at, elements, elements * element_bytes, what, until, issue);
      }
    });
  }

  template <class Issue>
  void reduce_here(void* data, size_t elements, const char* what,
                   collectives::deadline until, Issue& issue) {
    enqueue(what, until, [&] { return issue(data, elements); });
    wait(what, until);
  }

  void enqueue(const char* what, collectives::deadline until,
               const std::function<ncclResult_t()>& function) {
    issuing_ = true;
    device_->call(*communicator_, what, function);
    device_->poll_issued(communicator_, what, until);
    issuing_ = false;
  }

  template <class Issue>
  void staged(char* host, size_t elements, size_t bytes, const char* what,
              collectives::deadline until, Issue& issue) {
    std::memcpy(parts().pinned, host, bytes);
    check_cuda(cudaMemcpyAsync(parts().memory, parts().pinned, bytes,
                               cudaMemcpyHostToDevice, parts().stream),
               what);
    enqueue(what, until, [&] { return issue(parts().memory, elements); });
    check_cuda(cudaMemcpyAsync(parts().pinned, parts().memory, bytes,
                               cudaMemcpyDeviceToHost, parts().stream),
               what);
    wait(what, until);
    std::memcpy(host, parts().pinned, bytes);
  }

  stream_parts& parts() { return communicator_->parts; }

  /// Polls: CUDA never waits for a stream that carries NCCL's work.
  void wait(const char* what, collectives::deadline until) {
    check_cuda(cudaEventRecord(parts().event, parts().stream), what);
    device_->poll(communicator_, what, until, [&] {
      const cudaError_t state = cudaEventQuery(parts().event);
      if (state == cudaErrorNotReady)
        return false;
      check_cuda(state, what);
      return true;
    });
  }

  std::shared_ptr<nccl_device> device_;
  nccl_communicator_ptr communicator_;
  const int rank_;
  const int size_;
  /// A call may not have been enqueued yet. Used by the owner thread, and after
  /// it.
  bool issuing_ = false;
  std::atomic<collectives::collective_state> state_{
      collectives::collective_state::ready};
  std::atomic<uint64_t> bytes_sent_{0};
};

std::string bus_of(int device) {
  char bus[32] = {};
  check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device),
             "cudaDeviceGetPCIBusId");
  return bus;
}

class nccl_opening final : public collectives::collective_opening {
public:
  nccl_opening(std::shared_ptr<nccl_device> device,
               const collectives::collective_options& options)
      : device_(std::move(device)), options_(options) {
    nccl_introduction mine{device_->nccl().running_version,
                           gpu_identity(bus_of(device_->index())),
                           {}};
    if (options.rank == 0) {
      // Holds a thread and a socket of this process until all ranks have
      // connected.
      ncclUniqueId id;
      if (device_->nccl().get_unique_id(&id) != ncclSuccess)
        throw collective_error(collective_errc::unsupported,
                               "NCCL finds no network interface to meet at");
      mine.id.assign(id.internal, sizeof id.internal);
    }
    address_ = make_peer_blob("nccl", options, mine.text());
  }

  ~nccl_opening() override {
    if (!joined_)
      abort("the opening was dropped");
  }

  const std::string& address() const override { return address_; }

  std::unique_ptr<collectives::collective>
  connect(const std::vector<std::string>& addresses,
          collectives::deadline until) override {
    const std::string id =
        nccl_meeting_place(check_peer_blobs("nccl", options_, addresses),
                           device_->nccl().running_version);
    if (id.size() != sizeof ncclUniqueId::internal)
      throw collective_error(collective_errc::mismatch,
                             "rank 0 sent no place to meet", 0);
    try {
      device_->wait_for_room(until);
      device_->run([this, &id, until] { join(id, until); }, until);
    } catch (const ballast_error& e) { // of the device
      throw collective_error(collective_errc::poisoned, e.what());
    }
    auto out =
        std::make_unique<nccl_collective>(device_, communicator_, options_);
    joined_ = true;
    out->open(until);
    return out;
  }

  /// Only the abort flag ends an init that waits for a dead rank. A joined
  /// communicator belongs to the collective.
  void abort(const std::string& reason) noexcept override {
    if (joined_)
      return;
    try {
      device_->abort(communicator_, {collective_errc::aborted, reason});
    } catch (...) { // no memory: connect ends at its deadline
    }
  }

private:
  void join(const std::string& id, collectives::deadline until) {
    ncclUniqueId meet;
    std::memcpy(meet.internal, id.data(), sizeof meet.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;    // so that init with a dead rank can be aborted
    if (options_.size == 1) // each channel takes time to open and to free
      config.minCTAs = config.maxCTAs = 1;
    device_->call(*communicator_, "connect", [&] {
      return device_->nccl().comm_init_rank_config(
          &communicator_->handle, options_.size, meet, options_.rank, &config);
    });
    device_->poll_issued(communicator_, "connect", until);
  }

  std::shared_ptr<nccl_device> device_;
  collectives::collective_options options_;
  std::string address_;
  nccl_communicator_ptr communicator_ = std::make_shared<nccl_communicator>();
  std::atomic<bool> joined_{false};
};

class nccl_backend final : public collectives::collective_backend {
public:
  nccl_backend(int device, const nccl_library& nccl)
      : device_(std::make_shared<nccl_device>(device, nccl)) {}

  std::string name() const override { return "nccl"; }

  collectives::collective_capabilities capabilities() const override {
    return {.abortable = true,
            .sees_peer_death = false, // not over NVLink: heartbeats detect it
            .ranks_max = 1024,
            .float64 = true,
            .bfloat16 = true,
            .point_to_point = true,
            .checks_calls = false,
            .device_memory = true};
  }

  std::unique_ptr<collectives::collective_opening>
  prepare(const collectives::collective_options& options) override {
    check_options("nccl", options, capabilities().ranks_max);
    return std::make_unique<nccl_opening>(device_, options);
  }

private:
  std::shared_ptr<nccl_device> device_;
};

} // namespace

std::unique_ptr<collectives::collective_backend> make_nccl_backend(int device) {
  const nccl_library& nccl = loaded_nccl();
  if (nccl.running_version == 0)
    throw collective_error(collective_errc::unsupported,
                           "NCCL cannot be used: " + nccl.why_not);
  const cudaError_t usable = cudaSetDevice(device);
  if (usable != cudaSuccess)
    throw collective_error(
        collective_errc::unsupported,
        "cuda:" + std::to_string(device) +
            " cannot be used: " + cudaGetErrorString(usable));
  return std::make_unique<nccl_backend>(device, nccl);
}

} // namespace ballast::gpu
