/// A coordinator with played workers and a played shard manager, under virtual
/// time, with a real run directory.
#pragma once

#include "actors/coordinator.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/data/some_chunks.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

const char* const job_text = R"({"version": 1, "name": "played", "seed": 3,
  "data": {"train": {"format": "synthetic", "rows": 40, "classes": 2,
           "features": 2}, "test_fraction": 0},
  "model": {"kind": "emulated", "parameters": 4},
  "train": {"epochs": 1, "global_batch": 20},
  "elastic": {"workers": 2}})";

inline shard_manager_actor::behavior_type
played_shards(shard_manager_actor::pointer, failure refuse) {
  return {
      [=](prepare_atom, const std::string&,
          const std::string&) -> caf::result<set_summary> {
        if (refuse)
          return to_error(refuse);
        set_summary out;
        out.train_rows = 40;
        out.classes = 2;
        out.chunk_rows = {20, 20};
        return out;
      },
      [](control_atom, const std::string&) { return std::string("{}"); },
      [](balance_atom, const load_view&) { return balance_answer{}; },
      [](balance_atom, bool, double) {},
      [=](place_atom, generation gen, plan_number number,
          const std::vector<worker_id>& workers, const plan&,
          const std::vector<uint64_t>&) -> caf::result<placed_shares> {
        plan out{number, gen, {}};
        std::vector<share_summary> counts;
        for (uint32_t i = 0; i < workers.size(); ++i) {
          out.shares.push_back(
              {workers[i], number, 20, {{chunk_id(i), 0, 20}}, i});
          counts.push_back({workers[i], 20, 0});
        }
        return placed_shares{out, counts, {}};
      },
      [](status_atom) -> caf::result<std::string> {
        return std::string(R"({"played": true})");
      },
      [](prepared_atom, const failure&) {},
      [](serve_atom, const std::string&) {},
      [](drop_atom) {},
  };
}

struct orders {
  std::vector<assignment> assigned;
  std::vector<connect_order> connected;
  std::vector<command> commands;
  std::vector<fence_order> fenced;
};

inline gpu_worker_actor::behavior_type
played_worker(gpu_worker_actor::pointer, std::shared_ptr<orders> got) {
  return {
      [=](const assignment& m) { got->assigned.push_back(m); },
      [=](const connect_order& m) { got->connected.push_back(m); },
      [=](const fence_order& m) { got->fenced.push_back(m); },
      [=](const command& m) { got->commands.push_back(m); },
      [](const fetch_order&) {},
      [](const plan_offer&) {},
  };
}

class played_run : public ::testing::Test, public actor_fixture {
protected:
  void start(failure refuse = {}) {
    coordinator_shell_config config;
    config.core.build_id = "b";
    config.core.token = "secret";
    config.runs_folder = folder.path();
    // The coordinator outlives the members of the fixture.
    config.on_run_ended = [all = all_outcomes](const run_outcome& how) {
      all->push_back(how);
    };
    auto shards = keep(system.spawn(played_shards, refuse));
    boss = keep(system.spawn(coordinator, shards, config));
    run();
  }
  void join(const std::string& name) {
    workers.push_back(std::make_shared<orders>());
    handles.push_back(keep(system.spawn(played_worker, workers.back())));
    self->send(boss, hello_atom::value,
               worker_hello{name, 7, "host", "cpu", "b", "http://m", {}},
               handles.back());
    run();
  }
  nlohmann::json file(const std::string& name) {
    std::ifstream in(folder.path() / "played-1" / name);
    return nlohmann::json::parse(in, nullptr, false);
  }
  std::vector<nlohmann::json> lines(const std::string& name) {
    std::ifstream in(folder.path() / "played-1" / name);
    std::vector<nlohmann::json> out;
    for (std::string line; std::getline(in, line);)
      out.push_back(nlohmann::json::parse(line));
    return out;
  }
  std::vector<std::string> event_kinds() {
    std::vector<std::string> out;
    for (const auto& one : lines("events.jsonl"))
      out.push_back(one["kind"]);
    return out;
  }
  /// Two workers, loaded and connected.
  void begin_training() {
    start();
    join("w1");
    join("w2");
    caf::anon_send(boss, submit_atom::value, std::string(job_text),
                   std::string());
    run();
    for (const auto& one : workers) {
      ASSERT_EQ(one->assigned.size(), 1u);
      const assignment& order = one->assigned[0];
      caf::anon_send(boss, worker_report(worker_loaded{
                               order.worker, order.generation,
                               "c" + to_string(order.worker), data_address}));
    }
    run();
    for (const auto& one : workers)
      caf::anon_send(boss, worker_report(worker_ready{
                               one->assigned[0].worker,
                               one->assigned[0].generation, step_number{0}}));
    run();
  }

  temporary_folder folder;
  std::string data_address = "127.0.0.1:1";
  coordinator_actor boss;
  std::vector<std::shared_ptr<orders>> workers;
  std::vector<gpu_worker_actor> handles;
  std::shared_ptr<std::vector<run_outcome>> all_outcomes =
      std::make_shared<std::vector<run_outcome>>();
  std::vector<run_outcome>& outcomes = *all_outcomes;
};

} // namespace ballast
