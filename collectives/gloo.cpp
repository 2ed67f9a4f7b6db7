#include "collectives/gloo.hpp"

#include "collectives/deadline_watch.hpp"
#include "collectives/fault_point.hpp"
#include "collectives/gloo_mesh.hpp"
#include "collectives/peer_blob.hpp"

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace ballast::collectives {

namespace {

using std::chrono::milliseconds;

using device_ptr = std::shared_ptr<gloo::transport::Device>;

/// Time until `until`, at least 1 ms: gloo takes 0 for no timeout.
milliseconds left_until(deadline until) {
  auto left = std::chrono::duration_cast<milliseconds>(
      until - std::chrono::steady_clock::now());
  return std::clamp(left, milliseconds{1}, milliseconds{3'600'000});
}

collective_error translated(const std::exception& e, bool aborted,
                            const std::string& reason) {
  if (aborted) {
    return {collective_errc::aborted, "aborted: " + reason};
  }
  std::string text = e.what();
  if (text.find("imed out") != std::string::npos ||
      text.find("timeout") != std::string::npos) {
    return {collective_errc::timeout, "gloo: the deadline passed: " + text};
  }
  return {collective_errc::peer_lost, "gloo: a peer is gone: " + text};
}

/// Why a collective ended: set once, read from any thread.
class ending {
public:
  /// True for the first caller.
  bool set(const std::string& reason) noexcept {
    std::lock_guard lock(mutex_);
    if (ended_) {
      return false;
    }
    try {
      reason_ = reason;
    } catch (...) { // the state is set, the text is optional
    }
    ended_ = true;
    return true;
  }
  bool ended() const { return ended_; }
  std::string reason() const {
    std::lock_guard lock(mutex_);
    return reason_;
  }

private:
  mutable std::mutex mutex_;
  std::atomic<bool> ended_{false};
  std::string reason_;
};

class gloo_collective final : public collective {
public:
  explicit gloo_collective(gloo_mesh_ptr context)
      : context_(std::move(context)) {}

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }
  collective_state state() const override { return state_; }

  void all_reduce(void* data, size_t count, element_type type,
                  deadline until) override {
    check_type(type);
    if (count == 0 || size() == 1) {
      return guarded([] {});
    }
    guarded([&] {
      if (type == element_type::float32) {
        reduce(static_cast<float*>(data), count, until);
      } else {
        reduce(static_cast<double*>(data), count, until);
      }
    });
    bytes_sent_ += 2 * count * size_of(type) / size() * (size() - 1);
  }

  void all_gather(void* data, size_t count, element_type type,
                  deadline until) override {
    if (count == 0 || size() == 1) {
      return guarded([] {});
    }
    std::vector<size_t> counts;
    for (int r = 0; r < size(); ++r) {
      slice part = slice_of(count, r, size());
      counts.push_back((part.end - part.begin) * size_of(type));
    }
    slice mine = slice_of(count, rank(), size());
    char* bytes = static_cast<char*>(data);
    guarded([&] {
      gloo::AllgathervOptions options(context_);
      options.setInput(bytes + mine.begin * size_of(type), counts[rank()]);
      options.setOutput(bytes, counts);
      options.setTimeout(left_until(until));
      gloo::allgatherv(options);
    });
    bytes_sent_ += count * size_of(type) / size() * (size() - 1);
  }

  void broadcast(void* data, size_t bytes, int root, deadline until) override {
    if (root < 0 || root >= size()) {
      throw collective_error(collective_errc::mismatch,
                             "no rank " + std::to_string(root) +
                                 " in a collective of " +
                                 std::to_string(size()));
    }
    if (bytes == 0 || size() == 1) {
      return guarded([] {});
    }
    guarded([&] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(static_cast<char*>(data), bytes);
      options.setRoot(root);
      options.setTimeout(left_until(until));
      gloo::broadcast(options);
    });
    bytes_sent_ += bytes;
  }

  void barrier(deadline until) override {
    guarded([&] {
      if (size() > 1) {
        gloo::BarrierOptions options(context_);
        options.setTimeout(left_until(until));
        gloo::barrier(options);
      }
    });
  }

  void abort(const std::string& reason) noexcept override {
    if (state_ != collective_state::closed && why_.set(reason)) {
      state_ = collective_state::dead;
      context_->break_off();
    }
  }

  void close(deadline until) override {
    barrier(until); // a closing pair drops bytes that others still need
    state_ = collective_state::closed;
  }

  uint64_t bytes_sent() const override { return bytes_sent_; }

private:
  void check_type(element_type type) const {
    if (type == element_type::bfloat16) {
      throw collective_error(collective_errc::unsupported,
                             "collective 'gloo' adds float32 and float64, not "
                             "bfloat16; choose 'ring' for that");
    }
  }

  template <class T>
  void reduce(T* data, size_t count, deadline until) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(data, count);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    void (*add)(void*, const void*, const void*, size_t) = &gloo::sum<T>;
    options.setReduceFunction(add);
    options.setTimeout(left_until(until));
    gloo::allreduce(options);
  }

  template <class Operation>
  void guarded(Operation&& operation) {
    if (state_ != collective_state::ready) {
      throw collective_error(
          collective_errc::aborted,
          "this collective has ended" +
              (why_.ended() ? ": " + why_.reason() : std::string()));
    }
    try {
      reach(fault_point::operation, rank());
      operation();
      reach(fault_point::finished, rank());
    } catch (const std::exception& e) { // gloo::Exception, EnforceNotMet
      bool aborted = why_.ended();
      collective_error error = translated(e, aborted, why_.reason());
      why_.set(error.what());
      state_ = collective_state::dead;
      context_->break_off(); // notifies the other ranks
      throw error;
    }
  }

  gloo_mesh_ptr context_;
  ending why_;
  std::atomic<collective_state> state_{collective_state::ready};
  std::atomic<uint64_t> bytes_sent_{0};
};

class gloo_opening final : public collective_opening {
public:
  gloo_opening(const device_ptr& device, const collective_options& options,
               std::shared_ptr<left_meshes> left)
      : options_(options), context_(std::make_shared<gloo_mesh>(
                               device, options.rank, options.size)),
        address_(make_peer_blob("gloo", options, context_->payload())),
        left_(std::move(left)) {}
  ~gloo_opening() override {
    if (!context_->is_open()) {
      left_->add(context_);
    }
  }

  const std::string& address() const override { return address_; }

  std::unique_ptr<collective> connect(const std::vector<std::string>& addresses,
                                      deadline until) override {
    auto payloads = check_peer_blobs("gloo", options_, addresses);
    reach(fault_point::before_open, options_.rank);
    if (why_.ended()) {
      throw collective_error(collective_errc::aborted,
                             "aborted: " + why_.reason());
    }
    auto joined = std::make_unique<gloo_collective>(context_);
    if (options_.size == 1) {
      return joined;
    }
    // Ends a connect at its deadline.
    deadline_watch watcher(until, [&] { context_->break_off(); });
    int peer = 0;
    try {
      for (; peer < options_.size; ++peer) {
        if (peer != options_.rank) {
          context_->join(peer,
                         gloo_mesh::address_in(payloads[peer], options_.rank));
        }
      }
      peer = -1;
      joined->barrier(until);
      context_->opened();
      left_->clear();
    } catch (const std::exception& e) {
      if (watcher.fired() && !why_.ended()) {
        throw collective_error(collective_errc::timeout,
                               "not every rank joined before the deadline",
                               peer);
      }
      throw translated(e, why_.ended(), why_.reason());
    }
    reach(fault_point::after_open, options_.rank);
    if (why_.ended()) {
      throw collective_error(collective_errc::aborted,
                             "aborted: " + why_.reason());
    }
    return joined;
  }

  void abort(const std::string& reason) noexcept override {
    if (why_.set(reason)) {
      context_->break_off();
    }
  }

private:
  collective_options options_;
  gloo_mesh_ptr context_;
  std::string address_;
  std::shared_ptr<left_meshes> left_;
  ending why_;
};

class gloo_backend final : public collective_backend {
public:
  std::string name() const override { return "gloo"; }

  collective_capabilities capabilities() const override {
    return {.abortable = false, // it frees its own rank, not the others
            .sees_peer_death = false,
            .ranks_max = 256,
            .float64 = true,
            .bfloat16 = false,
            .point_to_point = false,
            .checks_calls = false};
  }

  std::unique_ptr<collective_opening>
  prepare(const collective_options& options) override {
    check_options("gloo", options, capabilities().ranks_max);
    try {
      return std::make_unique<gloo_opening>(device_for(options.bind_host),
                                            options, left_);
    } catch (const collective_error&) {
      throw;
    } catch (const std::exception& e) {
      throw collective_error(collective_errc::peer_lost,
                             "collective 'gloo' cannot listen on '" +
                                 options.bind_host + "': " + e.what(),
                             options.rank);
    }
  }

private:
  /// One device (an epoll thread) for each process and host; it outlives the
  /// generations.
  device_ptr device_for(const std::string& host) {
    std::lock_guard lock(mutex_);
    if (!device_ || host_ != host) {
      gloo::transport::tcp::attr where;
      where.hostname = host;
      device_ = gloo::transport::tcp::CreateDevice(where);
      host_ = host;
    }
    return device_;
  }

  std::mutex mutex_;
  std::string host_;
  device_ptr device_;
  const std::shared_ptr<left_meshes> left_ = std::make_shared<left_meshes>();
};

} // namespace

std::unique_ptr<collective_backend> make_gloo_backend() {
  return std::make_unique<gloo_backend>();
}

} // namespace ballast::collectives
