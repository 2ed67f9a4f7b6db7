#include "collectives/ring.hpp"

#include "collectives/fault_point.hpp"
#include "collectives/join_mesh.hpp"
#include "collectives/join_shm.hpp"
#include "collectives/peer_blob.hpp"
#include "collectives/ring_collective.hpp"
#include "runtime/base/json_text.hpp"

#include <nlohmann/json.hpp>

#include <mutex>
#include <optional>
#include <system_error>

namespace ballast::collectives {

namespace {

constexpr int ring_ranks_max = 256;

/// State that lives as long as the process and outlasts every generation.
struct ring_process {
  std::string name;
  ring_config config;
  std::shared_ptr<listener> listening;
  std::shared_ptr<arena_book> arenas;
  std::shared_ptr<death_watch> watch; // null: shares no memory

  /// The last measured cost of a step, with the number of ranks and hosts.
  struct measured {
    int ranks = 0;
    int hosts = 0;
    cost_model costs;
  };
  std::mutex mutex;
  std::optional<measured> known;
};

nlohmann::json payload_of(ring_process& process) {
  nlohmann::json payload = {{"host", process.listening->host()},
                            {"port", process.listening->port()},
                            {"local", process.listening->local_name()},
                            {"host_id", process.config.host_id}};
  std::lock_guard lock(process.mutex);
  if (const auto& known = process.known) {
    const cost_model& c = known->costs;
    payload["costs"] = {known->ranks,    known->hosts,       c.shared.latency_s,
                        c.shared.byte_s, c.stream.latency_s, c.stream.byte_s};
  }
  return payload;
}

class ring_opening final : public collective_opening {
public:
  ring_opening(std::shared_ptr<ring_process> process,
               const collective_options& options)
      : process_(std::move(process)), listening_(process_->listening),
        inbox_(std::make_shared<link_inbox>(options)),
        stop_(std::make_shared<stop_switch>()),
        address_(make_peer_blob(process_->name, options,
                                json_text(payload_of(*process_)))) {
    listening_->add(inbox_);
  }

  ~ring_opening() override {
    inbox_->shut();
    listening_->remove(inbox_);
  }

  const std::string& address() const override { return address_; }

  std::unique_ptr<collective> connect(const std::vector<std::string>& addresses,
                                      deadline until) override {
    const collective_options& options = inbox_->options();
    auto payloads = check_peer_blobs(process_->name, options, addresses);
    read(payloads);
    reach(fault_point::before_open, options.rank);
    try {
      return join(until);
    } catch (const collective_error& e) {
      stop_->stop(e.code(), e.what(), e.peer(), e.links());
      stop_->raise(); // the first reason, such as an abort that cut a link
    } catch (const std::system_error& e) {
      throw collective_error(collective_errc::unable,
                             std::string("cannot join: ") + e.what());
    }
  }

  std::vector<dead_link> silent() const override { return silent_.get(); }

  void abort(const std::string& reason) noexcept override {
    stop_->stop(collective_errc::aborted, reason);
  }

private:
  std::unique_ptr<collective> join(deadline until) {
    const collective_options& options = inbox_->options();
    const auto patience = until - std::chrono::steady_clock::now();
    auto links =
        join_mesh(peers_, inbox_, *stop_,
                  static_cast<int>(process_->config.link_timeout.count()),
                  until, &silent_);
    // Each arrival is progress and extends the deadline.
    until = std::chrono::steady_clock::now() + patience;
    std::unique_ptr<shm_group> local;
    if (hosts_.local.size() > 1) {
      local = join_shm(options, hosts_.local, links, *process_->arenas,
                       process_->watch, stop_, until);
    }
    auto joined = std::make_unique<ring_collective>(
        options, hosts_, std::move(links), std::move(local), stop_,
        costs_.value_or(cost_model{}), process_->config.link_timeout);
    joined->barrier(until); // a rank that returns may close
    if (!costs_ && options.size > 1) {
      cost_model costs = joined->measure(until);
      std::lock_guard lock(process_->mutex);
      process_->known = {options.size, static_cast<int>(hosts_.leaders.size()),
                         costs};
    }
    reach(fault_point::after_open, options.rank);
    return joined;
  }

  /// Everything here follows from the addresses alone, so all ranks compute the
  /// same.
  void read(const std::vector<std::string>& payloads) {
    const collective_options& options = inbox_->options();
    std::vector<std::string> ids;
    std::vector<nlohmann::json> all;
    for (size_t r = 0; r < payloads.size(); ++r) {
      try {
        all.push_back(nlohmann::json::parse(payloads[r]));
        const nlohmann::json& payload = all.back();
        peer_address peer;
        peer.host = payload.at("host").get<std::string>();
        peer.port = payload.at("port").get<uint16_t>();
        peer.local_name = payload.at("local").get<std::string>();
        ids.push_back(payload.at("host_id").get<std::string>());
        peers_.push_back(std::move(peer));
      } catch (const nlohmann::json::exception& e) {
        throw collective_error(collective_errc::mismatch,
                               "the address of rank " + std::to_string(r) +
                                   " is no ring address: " + e.what(),
                               static_cast<int>(r));
      }
    }
    hosts_ = map_hosts(ids, options.rank, shm_ranks_max);
    for (int r : hosts_.local) {
      peers_[static_cast<size_t>(r)].same_host = true;
    }
    if (!process_->config.cross_hosts && hosts_.leaders.size() > 1) {
      throw collective_error(collective_errc::mismatch,
                             "collective '" + process_->name +
                                 "' joins ranks of one host only, and rank " +
                                 std::to_string(hosts_.leaders[1]) +
                                 " shares no memory with rank 0; choose 'ring'",
                             hosts_.leaders[1]);
    }
    take_costs(all);
  }

  /// The mean of the measurements of earlier generations: of this shape, else
  /// of others with as many hosts. One rank more or less changes the cost of a
  /// step little, and measuring during a recovery costs time.
  void take_costs(const std::vector<nlohmann::json>& payloads) {
    costs_ = process_->config.costs;
    if (costs_) {
      return;
    }
    const double ranks = inbox_->options().size;
    const auto hosts = static_cast<double>(hosts_.leaders.size());
    for (bool same_ranks : {true, false}) {
      double sums[4] = {};
      int found = 0;
      for (const nlohmann::json& payload : payloads) {
        auto costs = payload.value("costs", std::vector<double>{});
        if (costs.size() != 6 || costs[1] != hosts ||
            (same_ranks && costs[0] != ranks)) {
          continue;
        }
        ++found;
        for (size_t i = 0; i < 4; ++i) {
          sums[i] += costs[i + 2];
        }
      }
      if (found > 0) {
        costs_ = cost_model{};
        costs_->shared = {sums[0] / found, sums[1] / found};
        costs_->stream = {sums[2] / found, sums[3] / found};
        return;
      }
    }
  }

  std::shared_ptr<ring_process> process_;
  std::shared_ptr<listener> listening_;
  std::shared_ptr<link_inbox> inbox_;
  std::shared_ptr<stop_switch> stop_;
  std::string address_;
  silent_links silent_;
  // Known from connect() on:
  std::vector<peer_address> peers_;
  host_map hosts_;
  std::optional<cost_model> costs_;
};

class ring_backend final : public collective_backend {
public:
  ring_backend(const std::string& name, ring_config config)
      : process_(std::make_shared<ring_process>()) {
    process_->name = name;
    if (!config.share_memory) {
      config.host_id.clear();
    } else if (config.host_id.empty()) {
      config.host_id = find_host_id();
    }
    process_->config = std::move(config);
    process_->arenas = std::make_shared<arena_book>();
    if (shares()) {
      process_->watch = std::make_shared<death_watch>();
    }
  }

  std::string name() const override { return process_->name; }

  collective_capabilities capabilities() const override {
    return {.abortable = true,
            .sees_peer_death = true,
            .ranks_max = ring_ranks_max,
            .float64 = true,
            .bfloat16 = true,
            .point_to_point = true,
            .ordered_sums = true,
            .all_to_all = true,
            .checks_calls = true};
  }

  std::unique_ptr<collective_opening>
  prepare(const collective_options& options) override {
    check_options(process_->name, options, ring_ranks_max);
    std::lock_guard lock(mutex_);
    try {
      if (!process_->listening ||
          process_->listening->host() != options.bind_host) {
        process_->listening = std::make_shared<listener>(options.bind_host);
      }
      return std::make_unique<ring_opening>(process_, options);
    } catch (const std::system_error& e) {
      throw collective_error(collective_errc::unable,
                             "collective '" + process_->name +
                                 "' cannot listen on '" + options.bind_host +
                                 "': " + e.what(),
                             options.rank);
    }
  }

  std::shared_ptr<float[]> allocate_arena(size_t floats) override {
    if (shares()) {
      try {
        return process_->arenas->allocate(floats);
      } catch (const std::system_error&) { // exhausted: ordinary memory
      }
    }
    return collective_backend::allocate_arena(floats);
  }

private:
  bool shares() const { return !process_->config.host_id.empty(); }

  std::shared_ptr<ring_process> process_;
  std::mutex mutex_;
};

} // namespace

std::unique_ptr<collective_backend> make_ring_backend(const std::string& name,
                                                      ring_config config) {
  return std::make_unique<ring_backend>(name, std::move(config));
}

} // namespace ballast::collectives
