// Goal: the coordinator's shell turns messages into decisions and decisions
// into messages and files. Method: played workers and shard manager under
// virtual time; a real run directory and a real chunk service for the model.
#include "actors/coordinator.hpp"

#include "data/chunk_service.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/data/some_chunks.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using namespace std::chrono_literals;

const char* const job_text = R"({"version": 1, "name": "played", "seed": 3,
  "data": {"train": {"format": "synthetic", "rows": 40, "classes": 2,
           "features": 2}, "test_fraction": 0},
  "model": {"kind": "emulated", "parameters": 4},
  "train": {"epochs": 1, "global_batch": 20},
  "elastic": {"workers": 2}})";

shard_manager_actor::behavior_type played_shards(shard_manager_actor::pointer,
                                                 failure refuse) {
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
          const std::vector<worker_id>& workers,
          const plan&) -> caf::result<plan, std::vector<share_summary>> {
        plan out{number, gen, {}};
        std::vector<share_summary> counts;
        for (uint32_t i = 0; i < workers.size(); ++i) {
          out.shares.push_back(
              {workers[i], number, 20, {{chunk_id(i), 0, 20}}, i});
          counts.push_back({workers[i], 20, 0});
        }
        return {out, counts};
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

gpu_worker_actor::behavior_type played_worker(gpu_worker_actor::pointer,
                                              std::shared_ptr<orders> got) {
  return {
      [=](const assignment& m) { got->assigned.push_back(m); },
      [=](const connect_order& m) { got->connected.push_back(m); },
      [=](const fence_order& m) { got->fenced.push_back(m); },
      [=](const command& m) { got->commands.push_back(m); },
      [](const fetch_order&) {},
      [](const plan_offer&) {},
      [](const worker_loaded&) {},
      [](const worker_ready&) {},
      [](const evaluation_report&) {},
      [](const worker_paused&) {},
      [](const worker_finished&) {},
      [](const worker_failed&) {},
      [](const state_copied&) {},
      [](const chunks_fetched&) {},
      [](join_atom) {},
      [](join_atom, const caf::strong_actor_ptr&) {},
      [](freeze_atom) {},
      [](drain_atom) {},
      [](tick_atom) {},
      [](alive_atom) {},
  };
}

class coordinator_test : public ::testing::Test, public actor_fixture {
protected:
  void start(failure refuse = {}) {
    coordinator_shell_config config;
    config.core.build_id = "b";
    config.core.token = "secret";
    config.runs_folder = folder.path();
    config.on_run_ended = [this](const run_outcome& how) {
      outcomes.push_back(how);
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
      caf::anon_send(boss, worker_loaded{order.worker, order.generation,
                                         "c" + to_string(order.worker),
                                         data_address});
    }
    run();
    for (const auto& one : workers)
      caf::anon_send(boss,
                     worker_ready{one->assigned[0].worker,
                                  one->assigned[0].generation, step_number{0}});
    run();
  }

  temporary_folder folder;
  std::string data_address = "127.0.0.1:1";
  coordinator_actor boss;
  std::vector<std::shared_ptr<orders>> workers;
  std::vector<gpu_worker_actor> handles;
  std::vector<run_outcome> outcomes;
};

TEST_F(coordinator_test, assigns_and_connects_the_workers_of_a_job) {
  begin_training();
  for (const auto& one : workers) {
    EXPECT_EQ(one->assigned[0].token, "secret");
    EXPECT_EQ(one->assigned[0].run, "played-1");
    ASSERT_EQ(one->connected.size(), 1u);
    EXPECT_EQ(one->connected[0].addresses,
              (std::vector<std::string>{"c1", "c2"}));
  }
  EXPECT_EQ(file("job.json")["name"], "played");
  EXPECT_EQ(file("manifest.json")["played"], true);
  EXPECT_EQ(file("workers.json")["workers"].size(), 2u);
  auto kinds = event_kinds();
  EXPECT_EQ(kinds, (std::vector<std::string>{"coordinator_started",
                                             "generation", "plan"}));
}

TEST_F(coordinator_test, writes_a_step_only_when_every_worker_applied_it) {
  begin_training();
  progress_report report;
  report.generation = generation{1};
  report.steps = {{step_number{1}, epoch_number{1}, plan_number{1}, 20, 2, 9}};
  report.worker = workers[0]->assigned[0].worker;
  caf::anon_send(boss, report);
  run();
  EXPECT_TRUE(lines("steps.jsonl").empty());
  report.worker = workers[1]->assigned[0].worker;
  caf::anon_send(boss, report);
  run();
  auto steps = lines("steps.jsonl");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0]["samples"], 20);
  EXPECT_EQ(steps[0]["world"], 2);
}

TEST_F(coordinator_test, fences_the_others_when_a_worker_is_lost) {
  begin_training();
  caf::anon_send_exit(handles[1], caf::exit_reason::kill);
  run();
  ASSERT_EQ(workers[0]->fenced.size(), 1u);
  EXPECT_EQ(workers[0]->fenced[0].level, generation{1});
  EXPECT_NE(workers[0]->fenced[0].reason.find("worker w2 lost"),
            std::string::npos);
  EXPECT_TRUE(workers[1]->fenced.empty());
}

TEST_F(coordinator_test, names_the_device_that_holds_a_worker_up) {
  begin_training();
  heartbeat beat;
  beat.worker = workers[1]->assigned[0].worker;
  beat.trouble.add(device_cause::heat);
  beat.trouble.celsius = 91;
  caf::anon_send(boss, beat);
  caf::anon_send(boss, tick_atom::value);
  run();
  nlohmann::json told = lines("events.jsonl").back();
  EXPECT_EQ(told["kind"], "straggler");
  EXPECT_EQ(told["worker"], "w2");
  EXPECT_EQ(told["causes"], nlohmann::json({"heat"}));
  EXPECT_EQ(told["over"], false);
  const std::string says =
      "w2 may be held up by its cpu: slowed down by heat (91 degrees)";
  EXPECT_EQ(told["reason"], says);
  self->send(boss, status_atom::value);
  run();
  nlohmann::json status;
  self->receive(
      [&](const std::string& text) { status = nlohmann::json::parse(text); });
  ASSERT_EQ(status["workers"].size(), 2u);
  EXPECT_FALSE(status["workers"][0].contains("trouble"));
  EXPECT_EQ(status["workers"][1]["trouble"]["reason"], says);
}

TEST_F(coordinator_test, passes_control_messages_on_as_commands) {
  begin_training();
  self->send(boss, control_atom::value,
             std::string(R"({"version":1,"id":"x","type":"pause"})"));
  run();
  int status = 0;
  std::string body;
  self->receive([&](int s, const std::string& b) {
    status = s;
    body = b;
  });
  EXPECT_EQ(status, 200) << body;
  for (const auto& one : workers) {
    ASSERT_EQ(one->commands.size(), 1u);
    EXPECT_EQ(one->commands[0].kind, command_kind::pause);
  }
}

TEST_F(coordinator_test, survives_data_that_are_ready_after_the_run_ended) {
  start();
  // The worker of the job dies while its data are read: run only what ends the
  // job before the shard manager's answer arrives.
  caf::anon_send(boss, submit_atom::value, std::string(job_text),
                 std::string());
  caf::anon_send(boss, exited_atom::value, std::string("w1"),
                 std::string("exited with code 1"));
  run();
  EXPECT_TRUE(event_kinds().empty() || event_kinds().back() != "generation");
}

TEST_F(coordinator_test, removes_the_directory_of_a_run_whose_data_are_bad) {
  start({errc::invalid_data, "train.csv row 3: not a number", "/data/train"});
  caf::anon_send(boss, submit_atom::value, std::string(job_text),
                 std::string());
  run();
  // The report is written by a thread; the state's end joins it.
  caf::anon_send_exit(boss, caf::exit_reason::kill);
  run();
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "played-1"));
}

} // namespace
} // namespace ballast
