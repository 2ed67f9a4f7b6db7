// Goal: the coordinator's shell turns messages into decisions and decisions
// into messages and files. Method: played workers and shard manager under
// virtual time; a real run directory and a real chunk service for the model.
#include "data/chunk_service.hpp"
#include "tests/actors/played_run.hpp"

namespace ballast {
namespace {

using coordinator_test = played_run;

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
  caf::anon_send(boss, worker_report(report));
  run();
  EXPECT_TRUE(lines("steps.jsonl").empty());
  report.worker = workers[1]->assigned[0].worker;
  caf::anon_send(boss, worker_report(report));
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
                 process_end{process_end::kind::exited, 1});
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
