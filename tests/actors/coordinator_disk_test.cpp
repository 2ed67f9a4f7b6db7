// Goal: a full disk holds up what is written and all that is sent because of
// it, in order, and nobody is given up meanwhile. Method: fault points fail
// writes while a file exists; played workers under virtual time.
#include "runtime/base/fault_point.hpp"
#include "tests/actors/played_run.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#ifndef BALLAST_NO_FAULT_POINTS
namespace ballast::actors {
namespace {

class coordinator_disk : public played_run {
protected:
  ~coordinator_disk() override { arm_fault_points(""); }
  void arm(const std::string& point) {
    flag = folder.path() / "full";
    arm_fault_points((point + "=enospc?" + flag.string()).c_str());
  }
  void fill() { std::ofstream(flag) << "full"; }
  void free() { std::filesystem::remove(flag); }
  void applied(uint64_t step) {
    progress_report report;
    report.generation = generation{1};
    report.steps = {
        {step_number{step}, epoch_number{1}, plan_number{1}, 20, 2, 9}};
    for (const auto& one : workers) {
      report.worker = one->assigned[0].worker;
      caf::anon_send(boss, worker_report(report));
    }
    run();
  }

  std::filesystem::path flag;
};

TEST_F(coordinator_disk, writes_the_steps_once_there_is_space) {
  arm("steps.append");
  begin_training();
  fill();
  applied(1);
  EXPECT_TRUE(lines("steps.jsonl").empty());
  EXPECT_THAT(status()["trouble"].get<std::string>(),
              HasSubstr("disk full: cannot append"));
  advance(500ms);
  free();
  advance(250ms);
  ASSERT_EQ(lines("steps.jsonl").size(), 1u);
  nlohmann::json told = lines("events.jsonl").back();
  EXPECT_EQ(told["kind"], "disk_full");
  EXPECT_GE(told["ms"], 500.0);
  EXPECT_TRUE(status()["trouble"].is_null());
}

TEST_F(coordinator_disk, answers_a_request_once_it_is_journaled) {
  arm("journal.commit");
  begin_training();
  fill();
  ask(pause_request{});
  EXPECT_TRUE(workers[0]->commands.empty());
  free();
  advance(250ms);
  EXPECT_EQ(workers[0]->commands.size(), 1u);
  EXPECT_FALSE(answer().refused);
}

TEST_F(coordinator_disk, gives_nobody_up_for_an_order_that_waits) {
  arm("journal.commit");
  begin_training();
  fill();
  ask(pause_request{});
  caf::anon_send_exit(handles[1], caf::exit_reason::kill);
  run();
  // Far beyond the patience with a fence that was never sent.
  advance(5s);
  EXPECT_TRUE(workers[0]->fenced.empty());
  free();
  advance(250ms);
  EXPECT_EQ(workers[0]->commands.size(), 1u);
  EXPECT_EQ(workers[0]->fenced.size(), 1u);
  EXPECT_EQ(status()["workers"][0]["state"], "training");
  EXPECT_EQ(status()["state"], "recovering");
}

TEST_F(coordinator_disk, tells_of_workers_that_waited_once_there_is_space) {
  arm("events.append");
  begin_training();
  heartbeat beat{workers[0]->assigned[0].worker, generation{1}};
  beat.phase = worker_phase::disk_full;
  caf::anon_send(boss, beat);
  advance(250ms);
  EXPECT_THAT(status()["trouble"].get<std::string>(), HasSubstr("worker w1"));
  fill();
  beat.phase = worker_phase::compute;
  caf::anon_send(boss, beat);
  advance(250ms);
  EXPECT_THAT(status()["trouble"].get<std::string>(),
              HasSubstr("events.jsonl"));
  free();
  advance(250ms);
  auto kinds = event_kinds();
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "disk_full"), 2);
  EXPECT_EQ(status()["state"], "training");
}

TEST_F(coordinator_disk, writes_a_long_list_of_workers_once_there_is_space) {
  arm("file.write.workers.json");
  begin_training();
  constexpr size_t count = 70; // so many are not written at once
  while (workers.size() < count - 1)
    join("w" + std::to_string(workers.size() + 1));
  fill();
  join("last");
  advance(3s);
  EXPECT_THAT(status()["trouble"].get<std::string>(),
              HasSubstr("workers.json"));
  free();
  advance(3s);
  auto kinds = event_kinds();
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "error"), 0);
  EXPECT_THAT(file("workers.json").dump(), HasSubstr(R"("name":"last")"));
}

TEST_F(coordinator_disk, ends_the_run_after_grace_s_with_the_way_on) {
  arm("steps.append");
  begin_training();
  fill();
  applied(1);
  advance(29s);
  EXPECT_TRUE(workers[0]->commands.empty());
  advance(2s);
  ASSERT_FALSE(workers[0]->commands.empty());
  EXPECT_EQ(workers[0]->commands.back().kind, command_kind::abandon);
  EXPECT_THAT(status()["error"].get<std::string>(),
              AllOf(HasSubstr("steps.jsonl"), HasSubstr("waited for 30 s"),
                    HasSubstr("ballast run --resume")));
  EXPECT_TRUE(lines("steps.jsonl").empty());
}

TEST_F(coordinator_disk, ends_the_run_at_once_where_the_disk_is_broken) {
  arm_fault_points("steps.append=eio");
  begin_training();
  applied(1);
  ASSERT_FALSE(workers[0]->commands.empty());
  EXPECT_EQ(workers[0]->commands.back().kind, command_kind::abandon);
}

} // namespace
} // namespace ballast::actors
#endif
