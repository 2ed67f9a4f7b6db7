/// Runs the ranks of one collective as threads of the test, each with a backend
/// object of its own, and collects what each of them threw.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/ring.hpp"
#include "gpu/collective_backends.hpp"
#include "gpu/cuda_library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ballast::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true; // ten times as slow: less of the same
#else
constexpr bool sanitized = false;
#endif

using rank_main = std::function<void(collectives::collective&)>;

inline collectives::deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}
/// Ends nothing that works, and a test that hangs.
inline collectives::deadline soon() {
  return in(std::chrono::seconds(60));
}

/// The error of one rank, if it had one.
using outcome = std::optional<collectives::collective_error>;

/// What the suites run over: the backends by name, and the ring with its ranks
/// spread over two pretended hosts, so that both transports are in use.
inline std::vector<std::string> suite_names() {
  std::vector<std::string> names = gpu::backend_names();
  if (sanitized) { // among ranks of one host it is ring-shm
    std::erase(names, "ring");
  }
  names.push_back("ring-two-hosts");
  return names;
}

/// "ring-shm" as part of a test's name: ring_shm.
inline std::string
suite_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// The suite has up to 8 ranks, and NCCL takes one for each GPU.
inline std::string why_no_nccl() {
  const gpu::cuda_report report = gpu::probe_cuda();
  std::string reason = why_no_gpu(report);
  if (!reason.empty())
    return reason;
  return report.devices.size() >= 8
             ? ""
             : "the suite needs 8 GPUs, this machine has " +
                   std::to_string(report.devices.size());
}

inline std::unique_ptr<collectives::collective_backend>
make_suite_backend(const std::string& name, int rank) {
  if (name == "nccl")
    return gpu::open_nccl_backend(rank);
  if (name == "ring-two-hosts") {
    collectives::ring_config config;
    config.host_id = "host " + std::to_string(rank % 2);
    return make_ring_backend(name, config);
  }
  return gpu::make_backend(name);
}

class rank_group {
public:
  using maker =
      std::function<std::unique_ptr<collectives::collective_backend>(int rank)>;

  rank_group(const maker& make, int size) : size_(size) {
    for (int r = 0; r < size; ++r) {
      backends_.push_back(make(r));
    }
  }
  rank_group(const std::string& backend, int size)
      : rank_group([&](int r) { return make_suite_backend(backend, r); },
                   size) {}

  int size() const { return size_; }
  collectives::collective_backend& backend(int rank) {
    return *backends_[rank];
  }
  collectives::collective_capabilities can() const {
    return backends_.front()->capabilities();
  }

  /// Options of the next generation; `edit` may spoil them for one rank.
  using edit = std::function<void(collectives::collective_options&)>;

  std::vector<std::unique_ptr<collectives::collective_opening>>
  prepare(const edit& change = {}) {
    static std::atomic<uint64_t> generations{1};
    const uint64_t number = generations++;
    std::vector<std::unique_ptr<collectives::collective_opening>> open;
    for (int r = 0; r < size_; ++r) {
      collectives::collective_options options;
      options.generation = generation{number};
      options.rank = r;
      options.size = size_;
      options.layout_hash = 42;
      options.token = "a token of the tests";
      if (change) {
        change(options);
      }
      open.push_back(backends_[r]->prepare(options));
    }
    return open;
  }

  /// Opens a generation, runs `body` on every rank at once, closes nothing.
  /// One outcome a rank.
  std::vector<outcome> run(const rank_main& body, const edit& change = {},
                           collectives::deadline join_until = soon()) {
    auto open = prepare(change);
    std::vector<std::string> addresses;
    for (auto& o : open) {
      addresses.push_back(o->address());
    }
    return each_rank([&](int r) {
      std::unique_ptr<collectives::collective> joined =
          open[r]->connect(addresses, join_until);
      body(*joined);
    });
  }

  /// Runs `body(rank)` in a thread a rank.
  std::vector<outcome> each_rank(const std::function<void(int)>& body) {
    std::vector<outcome> out(static_cast<size_t>(size_));
    std::vector<std::thread> threads;
    for (int r = 0; r < size_; ++r) {
      threads.emplace_back([&, r] {
        try {
          body(r);
        } catch (const collectives::collective_error& e) {
          out[r] = e;
        }
      });
    }
    for (auto& t : threads) {
      t.join();
    }
    return out;
  }

private:
  int size_;
  std::vector<std::unique_ptr<collectives::collective_backend>> backends_;
};

/// "" where every rank is well, else what went wrong where.
inline std::string complaints(const std::vector<outcome>& outcomes) {
  std::string text;
  for (size_t r = 0; r < outcomes.size(); ++r) {
    if (outcomes[r]) {
      text += "rank " + std::to_string(r) + ": " +
              to_string(outcomes[r]->code()) + ": " + outcomes[r]->what() +
              "\n";
    }
  }
  return text;
}

} // namespace ballast::testing
