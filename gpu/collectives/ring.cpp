#include "gpu/collectives/ring.hpp"

#include "gpu/collectives/fault_point.hpp"
#include "gpu/collectives/join_mesh.hpp"
#include "gpu/collectives/peer_blob.hpp"
#include "gpu/collectives/stream_algorithms.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>

namespace ballast {

namespace {

constexpr int ring_ranks_max = 256;

class ring_collective final : public collective {
public:
  ring_collective(const collective_options& options,
                  std::vector<stream_mesh::link> links,
                  std::shared_ptr<stop_switch> stop)
      : options_(options), stop_(std::move(stop)),
        mesh_(options.rank, std::move(links), stop_, spins(options.size)),
        all_(mesh_, everyone(options)) {}

  ~ring_collective() override {
    if (state_ == collective_state::ready) {
      mesh_.say_goodbye();
    }
  }

  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }
  collective_state state() const override { return state_; }

  void all_reduce(void* data, size_t count, element_type type,
                  deadline until) override {
    guarded([&] {
      reduce_way way = count * size_of(type) <= 65536 ? reduce_way::doubling
                                                      : reduce_way::ring;
      all_.all_reduce(data, count, type, way, until);
    });
  }

  void reduce_scatter(void* data, size_t count, element_type type,
                      deadline until) override {
    guarded([&] { all_.reduce_scatter(data, count, type, until); });
  }

  void all_gather(void* data, size_t count, element_type type,
                  deadline until) override {
    guarded([&] { all_.all_gather(data, count, type, until); });
  }

  void broadcast(void* data, size_t bytes, int root, deadline until) override {
    check_rank(root);
    guarded([&] { all_.broadcast(data, bytes, root, until); });
  }

  void send(const void* data, size_t bytes, int to, deadline until) override {
    check_rank(to);
    guarded([&] {
      buffer_source out(data, bytes);
      mesh_.transfer(point_to_point(bytes), &out, to, nullptr, -1, until);
    });
  }

  void receive(void* data, size_t bytes, int from, deadline until) override {
    check_rank(from);
    guarded([&] {
      buffer_sink in(data, bytes);
      mesh_.transfer(point_to_point(bytes), nullptr, -1, &in, from, until);
    });
  }

  void barrier(deadline until) override {
    guarded([&] { all_.barrier(until); });
  }

  void abort(const std::string& reason) noexcept override {
    if (state_ != collective_state::closed) {
      fail(collective_errc::aborted, reason, -1);
    }
  }

  void close(deadline until) override {
    barrier(until);
    mesh_.say_goodbye();
    state_ = collective_state::closed;
  }

  uint64_t bytes_sent() const override { return mesh_.bytes_sent(); }

private:
  static member_list everyone(const collective_options& options) {
    member_list all;
    for (int r = 0; r < options.size; ++r) {
      all.ranks.push_back(r);
    }
    all.me = options.rank;
    return all;
  }

  /// Trying again is quicker than sleeping where every rank has a core.
  static int spins(int ranks) {
    return ranks <= static_cast<int>(std::thread::hardware_concurrency()) ? 20
                                                                          : 0;
  }

  static stream_label point_to_point(size_t bytes) { return {100, 0, bytes}; }

  void check_rank(int other) const {
    if (other < 0 || other >= size()) {
      throw collective_error(collective_errc::mismatch,
                             "no rank " + std::to_string(other) +
                                 " in a collective of " +
                                 std::to_string(size()));
    }
  }

  void fail(collective_errc code, const std::string& what, int peer) noexcept {
    if (stop_->stop(code, what, peer)) {
      state_ = collective_state::dead;
      mesh_.cut();
    }
  }

  template <class Operation>
  void guarded(Operation&& operation) {
    if (state_ == collective_state::closed) {
      throw collective_error(collective_errc::aborted,
                             "the collective is closed");
    }
    stop_->check();
    try {
      reach(fault_point::operation, options_.rank);
      operation();
      reach(fault_point::finished, options_.rank);
    } catch (const collective_error& e) {
      fail(e.code(), e.what(), e.peer());
      stop_->raise(); // the first reason: an abort that cut the links, say
    } catch (const std::exception& e) {
      fail(collective_errc::peer_lost, e.what(), -1);
      stop_->raise();
    }
  }

  collective_options options_;
  std::shared_ptr<stop_switch> stop_;
  stream_mesh mesh_;
  stream_algorithms all_;
  std::atomic<collective_state> state_{collective_state::ready};
};

class ring_opening final : public collective_opening {
public:
  ring_opening(const std::string& name, const ring_config& config,
               std::shared_ptr<listener> ears,
               const collective_options& options)
      : name_(name), config_(config), ears_(std::move(ears)),
        door_(std::make_shared<door>(options)),
        stop_(std::make_shared<stop_switch>()) {
    ears_->add(door_);
    nlohmann::json payload = {{"host", ears_->host()},
                              {"port", ears_->port()},
                              {"local", ears_->local_name()},
                              {"host_id", config_.host_id}};
    address_ = make_peer_blob(name_, options, payload.dump());
  }

  ~ring_opening() override {
    door_->shut();
    ears_->remove(door_);
  }

  const std::string& address() const override { return address_; }

  std::unique_ptr<collective> connect(const std::vector<std::string>& addresses,
                                      deadline until) override {
    const collective_options& options = door_->options();
    auto payloads = check_peer_blobs(name_, options, addresses);
    reach(fault_point::before_open, options.rank);
    try {
      auto links =
          join_mesh(parse(payloads), door_, *stop_,
                    static_cast<int>(config_.link_timeout.count()), until);
      auto joined =
          std::make_unique<ring_collective>(options, std::move(links), stop_);
      joined->barrier(until); // who returns may close
      reach(fault_point::after_open, options.rank);
      return joined;
    } catch (const collective_error& e) {
      stop_->stop(e.code(), e.what(), e.peer());
      stop_->raise();
    } catch (const std::system_error& e) {
      throw collective_error(collective_errc::peer_lost,
                             std::string("cannot join: ") + e.what());
    }
  }

  void abort(const std::string& reason) noexcept override {
    stop_->stop(collective_errc::aborted, reason);
  }

private:
  std::vector<peer_address>
  parse(const std::vector<std::string>& payloads) const {
    std::vector<peer_address> peers;
    for (size_t r = 0; r < payloads.size(); ++r) {
      try {
        auto payload = nlohmann::json::parse(payloads[r]);
        peer_address peer;
        peer.host = payload.at("host").get<std::string>();
        peer.port = payload.at("port").get<uint16_t>();
        peer.local_name = payload.at("local").get<std::string>();
        peers.push_back(std::move(peer));
      } catch (const nlohmann::json::exception& e) {
        throw collective_error(collective_errc::mismatch,
                               "the address of rank " + std::to_string(r) +
                                   " is no ring address: " + e.what(),
                               static_cast<int>(r));
      }
    }
    return peers;
  }

  std::string name_;
  ring_config config_;
  std::shared_ptr<listener> ears_;
  std::shared_ptr<door> door_;
  std::shared_ptr<stop_switch> stop_;
  std::string address_;
};

class ring_backend final : public collective_backend {
public:
  ring_backend(std::string name, ring_config config)
      : name_(std::move(name)), config_(std::move(config)) {}

  std::string name() const override { return name_; }

  collective_capabilities capabilities() const override {
    return {.abortable = true,
            .sees_peer_death = true,
            .ranks_max = ring_ranks_max,
            .float64 = true,
            .bfloat16 = true,
            .point_to_point = true};
  }

  std::unique_ptr<collective_opening>
  prepare(const collective_options& options) override {
    check_options(name_, options, ring_ranks_max);
    try {
      return std::make_unique<ring_opening>(
          name_, config_, listener_for(options.bind_host), options);
    } catch (const std::system_error& e) {
      throw collective_error(collective_errc::peer_lost,
                             "collective '" + name_ + "' cannot listen on '" +
                                 options.bind_host + "': " + e.what(),
                             options.rank);
    }
  }

private:
  std::shared_ptr<listener> listener_for(const std::string& host) {
    std::lock_guard lock(mutex_);
    if (!ears_ || ears_->host() != host) {
      ears_ = std::make_shared<listener>(host);
    }
    return ears_;
  }

  std::string name_;
  ring_config config_;
  std::mutex mutex_;
  std::shared_ptr<listener> ears_;
};

} // namespace

std::unique_ptr<collective_backend> make_ring_backend(const std::string& name,
                                                      ring_config config) {
  return std::make_unique<ring_backend>(name, std::move(config));
}

} // namespace ballast
