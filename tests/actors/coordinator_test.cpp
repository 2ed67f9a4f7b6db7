// Goal: the coordinator's shell turns messages into decisions and decisions
// into messages and files. Method: played workers and shard manager under
// virtual time; a real run directory and a real chunk service for the model.
#include "data/transfer/chunk_service.hpp"
#include "tests/actors/played_run.hpp"

#include <nlohmann/json.hpp>

namespace ballast::actors {
namespace {

using coordinator_test = played_run;

TEST_F(coordinator_test, lets_workers_of_other_machines_read_files) {
  boot_id = "another";
  start();
  join("w1");
  fragment_ready what;
  what.worker = worker_id{1};
  what.key = "these";
  caf::anon_send(boss, what);
  run();
  caf::anon_send_exit(handles[0], caf::exit_reason::kill);
  run();
  EXPECT_EQ(*helpers,
            (std::vector<std::string>{"1 helps", "1 read these", "1 left"}));
}

TEST_F(coordinator_test, leaves_the_cores_of_its_own_machine_alone) {
  start();
  join("w1");
  EXPECT_TRUE(helpers->empty());
}

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
  caf::anon_send(boss, coordinator_tick{});
  run();
  nlohmann::json told = lines("events.jsonl").back();
  EXPECT_EQ(told["kind"], "straggler");
  EXPECT_EQ(told["worker"], "w2");
  EXPECT_EQ(told["causes"], nlohmann::json({"heat"}));
  EXPECT_EQ(told["over"], false);
  const std::string says =
      "w2 may be held up by its cpu: slowed down by heat (91 degrees)";
  EXPECT_EQ(told["reason"], says);
  nlohmann::json shown = status();
  ASSERT_EQ(shown["workers"].size(), 2u);
  EXPECT_FALSE(shown["workers"][0].contains("trouble"));
  EXPECT_EQ(shown["workers"][1]["trouble"]["reason"], says);
}

TEST_F(coordinator_test, passes_control_messages_on_as_commands) {
  begin_training();
  ask(pause_request{});
  control_reply reply = answer();
  EXPECT_FALSE(reply.refused) << reply.refused.message;
  for (const auto& one : workers) {
    ASSERT_EQ(one->commands.size(), 1u);
    EXPECT_EQ(one->commands[0].kind, command_kind::pause);
  }
}

TEST_F(coordinator_test, answers_every_type_of_request_with_its_own_values) {
  start();
  join("w1");
  join("w2");
  ask(submit_request{played_job()});
  auto begun = std::get<run_begun>(answer().answer);
  EXPECT_EQ(begun.name, "played-1");
  EXPECT_EQ(begun.folder, (folder.path() / "played-1").string());
  ask(submit_request{played_job()});
  EXPECT_EQ(answer().refused.code, errc::busy);
  ask(balance_request{.enabled = false, .skew_tv = {}});
  EXPECT_FALSE(std::get<balance_set>(answer().answer).enabled);
  ask(status_request{});
  EXPECT_EQ(std::get<status_shown>(answer().answer).status["run"], "played-1");
  ask(kill_request{"w1"});
  EXPECT_EQ(answer().refused.code, errc::bad_request);
  // These two come from the shard manager.
  ask(plan_request{});
  EXPECT_EQ(std::get<balance_explained>(answer().answer).fields["moved_rows"],
            7);
  ask(explain_request{"w9", {}});
  EXPECT_EQ(answer().refused.code, errc::unknown_worker);
}

TEST_F(coordinator_test, survives_data_that_are_ready_after_the_run_ended) {
  start();
  // The worker of the job dies while its data are read: run only what ends the
  // job before the shard manager's answer arrives.
  caf::anon_send(boss, submit_job{played_job(), {}});
  caf::anon_send(boss, process_exited{"w1", {process_end::kind::exited, 1}});
  run();
  EXPECT_TRUE(event_kinds().empty() || event_kinds().back() != "generation");
}

TEST_F(coordinator_test, removes_the_directory_of_a_run_whose_data_are_bad) {
  start({errc::invalid_data, "train.csv row 3: not a number", "/data/train"});
  caf::anon_send(boss, submit_job{played_job(), {}});
  run();
  // The report is written by a thread; the state's end joins it.
  caf::anon_send_exit(boss, caf::exit_reason::kill);
  run();
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "played-1"));
}

} // namespace
} // namespace ballast::actors
