/// A coordinator with played workers and a played shard manager, under virtual
/// time, with a real run directory.
#pragma once

#include "actors/coordinator_shell.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/data/some_chunks.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::actors {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const job_text = R"({"version": 1, "name": "played", "seed": 3,
  "data": {"train": {"format": "synthetic", "rows": 40, "classes": 2,
           "features": 2}, "test_fraction": 0},
  "model": {"kind": "emulated", "parameters": 4},
  "train": {"epochs": 1, "global_batch": 20},
  "elastic": {"workers": 2}})";

inline shard_manager_actor::behavior_type
played_shards(shard_manager_actor::pointer, failure refuse,
              std::shared_ptr<std::vector<std::string>> helpers) {
  return {
      [=](const prepare_set&) -> caf::result<set_prepared> {
        if (refuse)
          return to_error(refuse);
        set_prepared out;
        out.set.train_rows = 40;
        out.set.classes = 2;
        out.set.chunk_rows = {20, 20};
        out.manifest = R"({"played": true})";
        return out;
      },
      [](const balance::place_shares& order) {
        ledger::plan out{order.number, order.generation, {}};
        std::vector<share_summary> counts;
        for (uint32_t i = 0; i < order.workers.size(); ++i) {
          out.shares.push_back(
              {order.workers[i], order.number, 20, {{chunk_id(i), 0, 20}}, i});
          counts.push_back({order.workers[i], 20, 0});
        }
        return placed_shares{out, counts, {}};
      },
      [](const balance::load_view&) { return balance::balance_answer{}; },
      [](const plan_request&) {
        return control_reply{{}, balance_explained{{{"moved_rows", 7}}}};
      },
      [](const explain_request&) {
        return control_reply{{errc::unknown_worker, "no such", {}}, {}};
      },
      [](const set_balance&) {},
      [](const serve_file&) {},
      [](const drop_set&) {},
      [=](const fragment_helper& one) {
        helpers->push_back(to_string(one.who) +
                           (one.handle ? " helps" : " left"));
      },
      [=](const fragment_ready& what) {
        helpers->push_back(to_string(what.worker) + " read " + what.key);
      },
      [](const preparation_ended&) {},
      [](const preparation_tick&) {},
  };
}

inline job played_job() {
  return parse_job(job_text, {}, "/").value.value();
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
      [](const prepare_fragment&) {},
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
    config.boot_id = boot_id;
    auto shards = keep(system.spawn(played_shards, refuse, helpers));
    boss = keep(system.spawn<coordinator_shell>(shards, config));
    run();
  }
  void join(const std::string& name) {
    workers.push_back(std::make_shared<orders>());
    handles.push_back(keep(system.spawn(played_worker, workers.back())));
    worker_hello hello{name, 7, "host", "cpu", "b", "http://m", {}};
    hello.boot_id = "this";
    self->send(boss, hello_atom::value, hello, handles.back());
    run();
  }
  nlohmann::json status() {
    self->send(boss, status_query{});
    run();
    nlohmann::json out;
    self->receive([&](const status_shown& shown) { out = shown.status; });
    return out;
  }
  /// Sends it; `answer` gives the reply, once that is there.
  void ask(control_request request) {
    self->send(boss, std::move(request));
    run();
  }
  control_reply answer() {
    control_reply out;
    self->receive([&](const control_reply& reply) { out = reply; });
    return out;
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
    caf::anon_send(boss, submit_job{played_job(), {}});
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

  /// Of the coordinator's machine; workers say that they are on the same.
  std::string boot_id = "this";
  std::shared_ptr<std::vector<std::string>> helpers =
      std::make_shared<std::vector<std::string>>();
  data::temporary_folder folder;
  std::string data_address = "127.0.0.1:1";
  local_coordinator_actor boss;
  std::vector<std::shared_ptr<orders>> workers;
  std::vector<gpu_worker_actor> handles;
  std::shared_ptr<std::vector<run_outcome>> all_outcomes =
      std::make_shared<std::vector<run_outcome>>();
  std::vector<run_outcome>& outcomes = *all_outcomes;
};

} // namespace ballast::actors
