/// Goal: the status and workers.json are slow they were before, byte for byte.
/// Method: a run with everything it can show, one with nothing, and one that is
/// over.
#include "monitor/status_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast::monitor {
namespace {

using std::chrono::milliseconds;

coordinator::worker_status some_worker(const std::string& name) {
  return {.name = name,
          .incarnation = 2,
          .pid = 4711,
          .host = "h1",
          .device = "cuda:0",
          .metrics = "http://h1:9000",
          .start_ticks = 77,
          .boot_id = "b-1"};
}

coordinator::worker_status ill_member() {
  coordinator::worker_status out = some_worker("w1");
  out.state = coordinator::worker_standing::training;
  out.rank = 0;
  out.heartbeat_age = milliseconds(250);
  out.phase = worker_phase::compute;
  out.samples_per_s = 1000.5;
  out.share = {60, 0.25, 37.5, 5e6};
  coordinator::stragglers::finding slow{worker_id{1}, {}, {}, 1.75};
  slow.what.add(device_cause::heat);
  slow.what.celsius = 91;
  out.ill = {slow, milliseconds(1500)};
  return out;
}

constexpr const char* ill_member_text =
    R"x({"batch":37.5,"boot_id":"b-1","copy_bytes_per_s":5000000.0,)x"
    R"x("device":"cuda:0","heartbeat_age_s":0.25,"host":"h1","incarnation":2,)x"
    R"x("metrics":"http://h1:9000","name":"w1","phase":"compute","pid":4711,)x"
    R"x("rank":0,"rows_owned":60,"samples_per_s":1000.5,"skew_tv":0.25,)x"
    R"x("start_ticks":77,"state":"training","trouble":{"causes":["heat"],)x"
    R"x("reason":"w1 is slow, 1.8 times the others' time for a row, because )x"
    R"x(of its cuda:0: slowed down by heat (91 degrees)","row_time_ratio":1.75,)x"
    R"x("since_s":1.5,"slow":true}})x";

coordinator::run_status everything() {
  coordinator::run_status out;
  out.state = coordinator::run_phase::waiting;
  out.term = term{3};
  out.now = instant(1'000'000);
  out.workers = {ill_member()};
  out.disk_trouble = "disk full";
  out.run = coordinator::run_status::numbers{};
  coordinator::run_status::numbers& run = *out.run;
  run.name = "mlp-1";
  run.epochs = 3;
  run.epoch = epoch_number{2};
  run.step = step_number{7};
  run.steps_total = 30;
  run.samples = 350;
  run.loss = 0.5;
  run.samples_per_s = 90;
  run.skew_tv_max = 0.25;
  run.moves = {{{chunk_id{4}, 0, 10}, 1, 0, 100, 5}};
  run.balance.enabled = true;
  run.balance.skew_tv = 0.1;
  run.balance.code = balance::balance_code::pending;
  run.balance.why = "a plan is under way";
  run.balance.would_change = "its end";
  run.balance.makespan_ratio = 1.5;
  run.balance.plans = 2;
  run.balance.moved_rows = 20;
  run.balance.moved_bytes = 200;
  run.balance.bound_rows = 15;
  run.checkpoint = {.newest = step_number{6},
                    .step_s = 0.5,
                    .trained_s = 40,
                    .undone = 1,
                    .mttf_s = 40,
                    .cost = {{.pause_s = 0.25,
                              .saved_s = 2,
                              .now = {10, 0.025, 7, 0.2},
                              .best = {5, 0.05, 4.5, 0.1625},
                              .advice = {9, 5, 2}}}};
  run.survived = 3;
  run.members = {1, generation{4}, plan_number{6}, {"ring", "w1 has no GPU"}};
  run.waiting_for_workers = 2;
  run.cannot_open = "no route";
  run.lacks = memory_need{100, 10};
  run.waits = "for w2";
  run.requests = {true, false};
  run.test = {0.75, 0.5, {{metrics::metric::f1_macro, {0.25}, "", 0}}};
  return out;
}

TEST(status_json, shows_everything_there_is) {
  EXPECT_EQ(
      status_json(everything()).dump(),
      R"({"balance":{"code":")" + to_string(balance::balance_code::pending) +
          R"(","enabled":true,"makespan_ratio":1.5,"moved_bound_samples":15,)"
          R"("moved_bytes":200,"moved_samples":20,"plans":2,"skew_tv":0.1,)"
          R"("why":"a plan is under way","would_change":"its end"},)"
          R"("cannot_open":"no route","checkpoint":{)"
          R"("advice":{"every_s":5,"every_steps":9},"best":{"interval_s":5.0,)"
          R"("lost_s":4.5,"pause_ratio":0.05,"waste_ratio":0.1625},)"
          R"("failures_survived":3,"failures_undone":1,"memory_step":null,)"
          R"("mttf_assumed":false,)"
          R"("mttf_s":40.0,"now":{"interval_s":10.0,"lost_s":7.0,)"
          R"("pause_ratio":0.025,"waste_ratio":0.2},"pause_s":0.25,)"
          R"("saved_s":2.0,"step":6,"step_s":0.5,"trained_s":40.0},)"
          R"("collective":"ring",)"
          R"("collective_reason":"w1 has no GPU","epoch":2,"epochs":3,)"
          R"("error":null,"generation":4,"loss":0.5,"moves":[{"chunk":4,)"
          R"("from":1,"rows":10,"to":0}],"plan":6,)"
          R"("requests":{"paused":true,"stop":false},"run":"mlp-1",)"
          R"("samples":350,"samples_per_s":90,"skew_tv_max":0.25,)"
          R"("state":"waiting","step":7,"steps_total":30,"t_ns":1000000,)"
          R"("term":3,"test_accuracy":0.5,"test_loss":0.75,)"
          R"("test_metrics":{"f1_macro":0.25},)"
          R"("trouble":"disk full","waiting_for_memory":{"free_bytes":10,)"
          R"("lacking_bytes":100},"waiting_for_workers":2,"waits":"for w2",)"
          R"("workers":[)" +
          ill_member_text + R"(],"world":1})");
}

TEST(status_json, shows_nothing_that_is_not_known) {
  coordinator::run_status idle;
  idle.workers = {some_worker("w2")};
  EXPECT_EQ(status_json(idle).dump(),
            R"({"error":null,"moves":[],"run":null,"state":"idle","t_ns":0,)"
            R"("term":0,"trouble":null,"workers":[{"boot_id":"b-1",)"
            R"("device":"cuda:0","heartbeat_age_s":null,"host":"h1",)"
            R"("incarnation":2,"metrics":"http://h1:9000","name":"w2",)"
            R"("pid":4711,"rank":null,"start_ticks":77,"state":"joining"}]})");
}

TEST(status_json, of_checkpoints_shows_no_cost_before_it_was_measured) {
  coordinator::run_status young;
  young.run = coordinator::run_status::numbers{};
  young.run->checkpoint.mttf_s = 86400;
  young.run->checkpoint.assumed = true;
  const nlohmann::json shown = status_json(young)["checkpoint"];
  for (const char* unknown :
       {"step", "step_s", "pause_s", "saved_s", "now", "best", "advice"})
    EXPECT_TRUE(shown.at(unknown).is_null()) << unknown;
  EXPECT_EQ(shown["mttf_s"], 86400);
  EXPECT_EQ(shown["mttf_assumed"], true);
}

TEST(status_json, says_where_copies_of_checkpoints_are) {
  coordinator::run_status of;
  of.run = coordinator::run_status::numbers{};
  EXPECT_FALSE(status_json(of)["checkpoint"].contains("copy_to"));
  of.copied = {"s3://ours/run", step_number{}, "no answer"};
  nlohmann::json shown = status_json(of)["checkpoint"];
  EXPECT_EQ(shown["copy_to"], "s3://ours/run");
  EXPECT_TRUE(shown["copied_step"].is_null());
  EXPECT_EQ(shown["copy_trouble"], "no answer");
  of.copied = {"s3://ours/run", step_number{6}, ""};
  shown = status_json(of)["checkpoint"];
  EXPECT_EQ(shown["copied_step"], 6);
  EXPECT_TRUE(shown["copy_trouble"].is_null());
}

TEST(status_json, says_how_a_run_ended) {
  coordinator::run_status over;
  over.state = coordinator::run_phase::failed;
  over.run = coordinator::run_status::numbers{};
  over.run->name = "mlp-1";
  over.ended = {1, "all are lost", "all are lost"};
  const nlohmann::json shown = status_json(over);
  EXPECT_EQ(shown["state"], "failed");
  EXPECT_EQ(shown["exit_code"], 1);
  EXPECT_EQ(shown["reason"], "all are lost");
  EXPECT_EQ(shown["error"], "all are lost");
  EXPECT_TRUE(shown["loss"].is_null()) << "there are no samples";
  over.ended = {0, "", {}};
  EXPECT_FALSE(status_json(over).contains("reason"));
  EXPECT_TRUE(status_json(over)["error"].is_null());
}

TEST(status_json, of_workers_alone_says_who_they_are) {
  EXPECT_EQ(workers_json(everything()).dump(),
            R"({"workers":[{"boot_id":"b-1","device":"cuda:0","host":"h1",)"
            R"("incarnation":2,"metrics":"http://h1:9000","name":"w1",)"
            R"("pid":4711,"rank":0,"start_ticks":77,"state":"training"}]})");
}

} // namespace
} // namespace ballast::monitor
