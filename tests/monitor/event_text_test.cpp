/// Goal: a line of events.jsonl is what it was before, byte for byte, whatever
/// tells of it. Method: an example of every kind of event, with its line; and
/// no kind is left out.
#include "monitor/logs/event_text.hpp"

#include <gmock/gmock.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace ballast::monitor {
namespace {

using namespace coordinator::events;
using std::chrono::seconds;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct example {
  coordinator::run_event what;
  const char* kind;
  const char* fields;
};

device_trouble heat() {
  device_trouble out;
  out.add(device_cause::heat);
  out.celsius = 91;
  return out;
}

coordinator::events::worker_process w3() {
  return {"w3", 2, 4711, "h1"};
}

std::vector<example> of_the_run() {
  return {
      {coordinator::events::coordinator_started{term{1}, "mlp-1", "b1", {}},
       "coordinator_started", R"({"term":1,"run":"mlp-1","build":"b1"})"},
      {coordinator::events::coordinator_started{
           term{2}, "mlp-1", "b1",
           coordinator::events::coordinator_started::takeover{step_number{8},
                                                              step_number{5}}},
       "coordinator_started",
       R"({"term":2,"run":"mlp-1","build":"b1","resumed":true,"step":8,)"
       R"("checkpoint":5})"},
      {coordinator::events::waiting{1, 2, step_number{7},
                                    "1 of 2 workers are here"},
       "waiting",
       R"({"workers":1,"min_workers":2,"step":7,)"
       R"("reason":"1 of 2 workers are here"})"},
      {coordinator::events::waiting_for_memory{2, {200, 30}, "no room"},
       "waiting",
       R"({"workers":2,"lacking_bytes":200,"free_bytes":30,)"
       R"("reason":"no room"})"},
      {coordinator::events::window_chosen{16, {200, 30, 16}}, "window",
       R"({"window_chunks":16,"lacking_bytes":200,"free_bytes":30})"},
      {coordinator::events::spares{{"w9", "w10"}, 8}, "spares",
       R"({"workers":["w9","w10"],"leaves":8})"},
      {coordinator::events::paused{step_number{9}}, "paused", R"({"step":9})"},
      {coordinator::events::resumed{step_number{9}}, "resumed",
       R"({"step":9})"},
      {coordinator::events::resumed{step_number{9}, true}, "resumed",
       R"({"step":9,"reason":"the run is resumed by its user"})"},
      {coordinator::events::scaled{4}, "scale", R"({"workers":4})"},
      {coordinator::events::balance_set{true, 0.3}, "set_balance",
       R"({"enabled":true,"skew_tv":0.3})"},
      {coordinator::events::fault_injected{"w1", command_kind::slow, 4.5},
       "fault", R"({"worker":"w1","what":"slow","amount":4.5})"},
      {coordinator::events::noted{"the rack is cooled again"}, "note",
       R"({"text":"the rack is cooled again"})"},
      {coordinator::events::epoch_ended{epoch_number{1}, step_number{10}, 500,
                                        0.25},
       "epoch", R"({"epoch":1,"step":10,"samples":500,"train_loss":0.25})"},
      {coordinator::events::evaluated{
           epoch_number{1}, step_number{10}, 0.5, 100,
           coordinator::events::milliseconds(1.5), 0.75},
       "evaluation",
       R"({"epoch":1,"step":10,"test_loss":0.5,"test_rows":100,"ms":1.5,)"
       R"("test_accuracy":0.75})"},
      {coordinator::events::evaluated{
           epoch_number{1}, step_number{10}, 0.5, 100, seconds(1), {}},
       "evaluation",
       R"({"epoch":1,"step":10,"test_loss":0.5,"test_rows":100,"ms":1000.0})"},
      {coordinator::events::evaluated{
           epoch_number{1},
           step_number{10},
           0.5,
           100,
           seconds(1),
           {},
           {{metrics::metric::r2, {0.5}, "", 0},
            {metrics::metric::mae, {not_a_number}, "of no rows", 0},
            {metrics::metric::abs_error_p50, {2}, "", 0.25}}},
       "evaluation",
       R"({"epoch":1,"step":10,"test_loss":0.5,"test_rows":100,"ms":1000.0,)"
       R"("metrics":{"r2":0.5,"mae":null,"abs_error_p50":2.0},)"
       R"("metrics_undefined":{"mae":"of no rows"},)"
       R"("metrics_error_max":{"abs_error_p50":0.25}})"},
      {coordinator::events::evaluated{epoch_number{1},
                                      step_number{10},
                                      0.5,
                                      100,
                                      seconds(1),
                                      {},
                                      {},
                                      true},
       "evaluation",
       R"({"epoch":1,"step":10,"test_loss":0.5,"test_rows":100,"ms":1000.0,)"
       R"("best":true})"},
      {coordinator::events::ends_early{epoch_number{3}, step_number{30},
                                       "no better loss"},
       "ends_early", R"({"epoch":3,"step":30,"reason":"no better loss"})"},
      {coordinator::events::undone{step_number{9}, step_number{5},
                                   "all are lost"},
       "undone", R"({"from":9,"to":5,"reason":"all are lost"})"},
      {coordinator::events::error{{errc::disk_full, "no space", "/data"}},
       "error",
       R"({"code":"disk_full","message":"no space","pointer":"/data"})"},
      {coordinator::events::step_refused{
           {errc::non_finite_loss, "the loss is nan", {}},
           step_number{3},
           {{"w1", {1, 2}}, {"w2", {}}}},
       "error",
       R"({"code":"non_finite_loss","message":"the loss is nan",)"
       R"("pointer":"","step":3,"samples":{"w1":[1,2],"w2":[]}})"},
      {coordinator::events::respawn_ended{6, 30, "worker w9 ended"}, "error",
       R"({"code":"worker_lost","message":"6 workers died before their first )"
       R"(step within 30 s; no more are started. The last one: worker w9 )"
       R"(ended"})"},
      {coordinator::events::disk_full{coordinator::events::milliseconds(2.5)},
       "disk_full", R"({"ms":2.5})"},
      {coordinator::events::disk_full{coordinator::events::milliseconds(2.5),
                                      "w2"},
       "disk_full", R"({"worker":"w2","ms":2.5})"},
      {coordinator::events::disk_full{
           coordinator::events::milliseconds(2.5), {}, "no space"},
       "disk_full", R"({"ms":2.5,"message":"no space"})"},
      {coordinator::events::done{"done", 20}, "done",
       R"({"state":"done","steps":20})"},
      {coordinator::events::done{"stopped", 20, "stopped"}, "done",
       R"({"state":"stopped","steps":20,"reason":"stopped"})"},
  };
}

std::vector<example> of_workers() {
  coordinator::stragglers::finding may{worker_id{1}, heat(), {}, 0};
  coordinator::stragglers::finding slow{worker_id{1}, heat(), {}, 1.75};
  device_trouble rows;
  rows.add(device_cause::data);
  rows.from = rows_source::disk;
  rows.data_percent = 38;
  coordinator::stragglers::finding late{worker_id{1}, rows, {}, 0};
  coordinator::stragglers::finding quick{worker_id{1}, heat(), {}, 1.0};
  return {
      {coordinator::events::worker_joined{w3(), "cpu"}, "worker_joined",
       R"({"worker":"w3","incarnation":2,"pid":4711,"host":"h1",)"
       R"("device":"cpu"})"},
      {coordinator::events::worker_returned{w3()}, "worker_returned",
       R"({"worker":"w3","incarnation":2,"pid":4711,"host":"h1"})"},
      {coordinator::events::worker_left{w3()}, "worker_left",
       R"({"worker":"w3","incarnation":2,"pid":4711,"host":"h1"})"},
      {coordinator::events::worker_lost{
           "w3", 2, coordinator::events::worker_lost::place{4711, "h1"},
           losses::evicted{}},
       "worker_lost",
       R"({"worker":"w3","incarnation":2,"pid":4711,"host":"h1",)"
       R"("reason":"evicted on request"})"},
      {coordinator::events::worker_lost{"w3", 2, {}, losses::evicted{}},
       "worker_lost",
       R"({"worker":"w3","incarnation":2,"reason":"evicted on request"})"},
      {coordinator::events::worker_lost{"w3", 2, {}, losses::evicted{}, true},
       "worker_lost",
       R"({"worker":"w3","incarnation":2,"reason":"evicted on request",)"
       R"("unsent":"what its compressed gradients left out is lost"})"},
      {coordinator::events::state_received{
           "w3", generation{4}, 4096, coordinator::events::milliseconds(1.5)},
       "state_received",
       R"({"worker":"w3","generation":4,"bytes":4096,"ms":1.5})"},
      {coordinator::events::straggler{"w2", "cuda:0", "h1", may, false, {}},
       "straggler",
       R"({"worker":"w2","device":"cuda:0","host":"h1","causes":["heat"],)"
       R"("over":false,"reason":"w2 may be held up by its cuda:0: slowed )"
       R"x(down by heat (91 degrees)"})x"},
      {coordinator::events::straggler{"w2", "cuda:0", "h1", slow, false, {}},
       "straggler",
       R"({"worker":"w2","device":"cuda:0","host":"h1","causes":["heat"],)"
       R"("over":false,"row_time_ratio":1.75,"reason":"w2 is slow, 1.8 times )"
       R"(the others' time for a row, because of its cuda:0: slowed down by )"
       R"x(heat (91 degrees)"})x"},
      {coordinator::events::straggler{"w2", "cuda:0", "h1", quick, false, {}},
       "straggler",
       R"({"worker":"w2","device":"cuda:0","host":"h1","causes":["heat"],)"
       R"("over":false,"row_time_ratio":1.0,"reason":"w2 keeps up, 1.0 times )"
       R"(the others' time for a row, in spite of its cuda:0: slowed down by )"
       R"x(heat (91 degrees)"})x"},
      {coordinator::events::straggler{"w2", "cuda:0", "h1", may, true,
                                      std::chrono::nanoseconds(12'999'999'999)},
       "straggler",
       R"({"worker":"w2","device":"cuda:0","host":"h1","causes":["heat"],)"
       R"("over":true,"reason":"cuda:0 of w2 is well again; it was in )"
       R"(trouble for 12 s"})"},
      {coordinator::events::straggler{"w2", "cpu", "h1", late, false, {}},
       "straggler",
       R"({"worker":"w2","device":"cpu","host":"h1","causes":["data"],)"
       R"("over":false,"reason":"w2 may be held up by its rows, which come )"
       R"(from its disk more slowly than it uses them (it waits 38 % of its )"
       R"x(time)"})x"},
      {coordinator::events::straggler{"w2", "cpu", "h1", late, true,
                                      std::chrono::seconds(12)},
       "straggler",
       R"({"worker":"w2","device":"cpu","host":"h1","causes":["data"],)"
       R"("over":true,"reason":"w2 has its rows in time again; it waited for )"
       R"(12 s"})"},
      {coordinator::events::cannot_open{
           3, std::chrono::milliseconds(400), "no route", {}},
       "cannot_open", R"({"attempts":3,"retry_ms":400,"message":"no route"})"},
      {coordinator::events::cannot_open{
           3, std::chrono::milliseconds(400), "no route",
           coordinator::events::cannot_open::link{"w2", "w1", "h:1"}},
       "cannot_open",
       R"({"attempts":3,"retry_ms":400,"message":"no route","worker":"w2",)"
       R"("cannot_reach":"w1","address":"h:1"})"},
  };
}

std::vector<example> of_plans() {
  const std::vector<coordinator::worker_share> shares{{"w1", 0.25, 10, 16},
                                                      {"w2", 0.5, 30, 48}};
  const coordinator::events::plan_effective effective{
      plan_number{4}, generation{2}, step_number{7}, "one owns more", shares};
  balance::plan_note::of_balance balance;
  balance.cause = balance::balance_cause::size;
  balance.makespan_ratio = 1.5;
  balance.moved_rows = 10;
  balance.moved_bytes = 100;
  balance.bound_rows = 7;
  balance.round_bound_rows = 8;
  return {
      {coordinator::events::generation_begun{
           generation{1},
           step_number{1},
           {"w1", "w2"},
           coordinator::events::generation_begun::first{},
           {"ring", ""}},
       "generation",
       R"({"generation":1,"step":1,"workers":["w1","w2"],"reason":"start",)"
       R"("collective":"ring"})"},
      {coordinator::events::generation_begun{
           generation{3},
           step_number{6},
           {"w1"},
           coordinator::events::generation_begun::from_checkpoint{
               step_number{5}},
           {"ring", "w1 computes on cpu"}},
       "generation",
       R"({"generation":3,"step":6,"workers":["w1"],)"
       R"("reason":"checkpoint of step 5","from_checkpoint":true,)"
       R"("collective":"ring","collective_reason":"w1 computes on cpu"})"},
      {coordinator::events::generation_begun{
           generation{2},
           step_number{6},
           {"w1"},
           coordinator::events::generation_begun::switched{true},
           {"ring", ""}},
       "generation",
       R"({"generation":2,"step":6,"workers":["w1"],"reason":"leave",)"
       R"("collective":"ring"})"},
      {coordinator::events::generation_begun{
           generation{2},
           step_number{6},
           {"w1"},
           coordinator::events::generation_begun::switched{false},
           {"ring", ""}},
       "generation",
       R"({"generation":2,"step":6,"workers":["w1"],"reason":"join",)"
       R"("collective":"ring"})"},
      {coordinator::events::generation_begun{
           generation{2},
           step_number{6},
           {"w1"},
           coordinator::events::generation_begun::recovered{
               coordinator::recovery_reasons::worker_lost{
                   "w2", losses::process_gone{}},
               coordinator::events::milliseconds(75.5),
               coordinator::events::milliseconds(1),
               coordinator::events::milliseconds(2.25),
               coordinator::events::milliseconds(3),
               coordinator::events::milliseconds(4),
               coordinator::events::milliseconds(5),
               coordinator::events::milliseconds(0)},
           {"ring", ""}},
       "generation",
       R"({"generation":2,"step":6,"workers":["w1"],)"
       R"("reason":"worker w2 lost: its process is gone","ms":75.5,"phases_ms":{)"
       R"("detect":1.0,"fence":2.25,"plan":3.0,"open":4.0,"sync":5.0,)"
       R"("first_step":0.0},"collective":"ring"})"},
      {coordinator::events::plan_offered{plan_number{4}, generation{2}}, "plan",
       R"({"plan":4,"generation":2,"outcome":"offered",)"
       R"("reason":"membership"})"},
      {effective, "plan",
       R"({"plan":4,"generation":2,"step":7,"outcome":"effective",)"
       R"("reason":"one owns more","skew_tv_max":0.5,)"
       R"("skew_tv":{"w1":0.25,"w2":0.5},"rows":{"w1":10,"w2":30},)"
       R"("batch":{"w1":16.0,"w2":48.0}})"},
      {coordinator::events::plan_effective{
           plan_number{4}, generation{2}, step_number{7}, "r", {}},
       "plan",
       R"({"plan":4,"generation":2,"step":7,"outcome":"effective",)"
       R"("reason":"r","skew_tv_max":0.0,"skew_tv":{},"rows":{},"batch":{}})"},
      {coordinator::events::plan_dropped{plan_number{4}, generation{2},
                                         "a fence"},
       "plan",
       R"({"plan":4,"generation":2,"outcome":"dropped","reason":"a fence"})"},
      {coordinator::events::balanced{effective, balance, 25, 20}, "balance",
       R"({"plan":4,"generation":2,"step":7,"cause":"SIZE",)"
       R"("reason":"one owns more","makespan_ratio_before":1.5,)"
       R"("moved_rows":10,"moved_bytes":100,"bound_rows":7,)"
       R"("round_bound_rows":8,"moved_rows_total":25,"bound_rows_total":20,)"
       R"("skew_tv_max":0.5,"skew_tv":{"w1":0.25,"w2":0.5},)"
       R"("rows":{"w1":10,"w2":30},"batch":{"w1":16.0,"w2":48.0}})"},
      {coordinator::events::moved{
           plan_number{5},
           10,
           2,
           0,
           0,
           {},
           {{"w2", balance::rows_ahead{1, 640, 1.5e6, 40e6, true}}}},
       "move",
       R"({"plan":5,"rows":10,"chunks":2,"bytes":0,"refetched":0,"ms":0.0,)"
       R"("ahead":[{"worker":"w2","bytes":640,"needs_bytes_per_s":1500000.0,)"
       R"("reads_bytes_per_s":40000000.0,"reason":"owned before their bytes )"
       R"(are there: w2's steps lack at most 1.5 MB/s of them, and its rows )"
       R"(came at 40.0 MB/s lately"}]})"},
      {coordinator::events::moved{plan_number{4},
                                  10,
                                  2,
                                  100,
                                  1,
                                  coordinator::events::milliseconds(3.5),
                                  {}},
       "move",
       R"({"plan":4,"rows":10,"chunks":2,"bytes":100,"refetched":1,)"
       R"("ms":3.5})"},
      {coordinator::events::chunk_damaged{plan_number{4}, chunk_id{7}, "w1",
                                          "w2"},
       "damaged", R"({"plan":4,"chunk":7,"source":"w1","worker":"w2"})"},
  };
}

std::vector<example> of_files() {
  return {
      {coordinator::events::checkpoint{step_number{5}, epoch_number{1}, 1000,
                                       coordinator::events::milliseconds(8.5)},
       "checkpoint",
       R"({"step":5,"epoch":1,"bytes":1000,"ms":8.5,"where":"disk"})"},
      {coordinator::events::checkpoint{step_number{5}, epoch_number{1}, 1000,
                                       coordinator::events::milliseconds(8.5),
                                       true},
       "checkpoint",
       R"({"step":5,"epoch":1,"bytes":1000,"ms":8.5,"where":"memory"})"},
      {coordinator::events::no_memory_checkpoints{"no room"},
       "no_memory_checkpoints", R"({"reason":"no room"})"},
      {coordinator::events::checkpoint_failed{
           step_number{5}, {errc::unreachable, "no answer", {}}},
       "checkpoint_failed",
       R"({"step":5,"code":"unreachable","message":"no answer"})"},
      {coordinator::events::checkpoint_refused{"step-5", "torn",
                                               "checkpoints/aside-1/step-5"},
       "checkpoint_refused",
       R"({"checkpoint":"step-5","reason":"torn",)"
       R"("kept":"checkpoints/aside-1/step-5","where":"disk"})"},
      {coordinator::events::checkpoint_refused{"step-5", "torn", ""},
       "checkpoint_refused",
       R"({"checkpoint":"step-5","reason":"torn","kept":"","where":"memory"})"},
      {coordinator::events::checkpoint_copied{
           step_number{5}, 1000, coordinator::events::milliseconds(8.5),
           "s3://ours/run"},
       "checkpoint_copied",
       R"({"step":5,"bytes":1000,"ms":8.5,"to":"s3://ours/run"})"},
      {coordinator::events::checkpoint_not_copied{
           step_number{5}, {errc::unreachable, "no answer", {}}},
       "checkpoint_not_copied",
       R"({"step":5,"code":"unreachable","message":"no answer"})"},
      {coordinator::events::model_copied{
           1000, coordinator::events::milliseconds(8.5), "s3://ours/run"},
       "model_copied", R"({"bytes":1000,"ms":8.5,"to":"s3://ours/run"})"},
      {coordinator::events::model_not_copied{
           {errc::unreachable, "no answer", {}}},
       "model_not_copied", R"({"code":"unreachable","message":"no answer"})"},
      {coordinator::events::checkpoint_fetched{step_number{5}, "s3://ours/run",
                                               "torn"},
       "checkpoint_fetched",
       R"({"step":5,"from":"s3://ours/run","reason":"torn"})"},
      {coordinator::events::branched{"fashion-1", step_number{200}, "ab12"},
       "branched",
       R"({"parent":{"run":"fashion-1","step":200,"sha256":"ab12"}})"},
      {coordinator::events::model_refused{"torn",
                                          "model.safetensors.damaged-1"},
       "model_refused",
       R"({"reason":"torn","kept":"model.safetensors.damaged-1"})"},
      {coordinator::events::steps_restored{step_number{6}, step_number{8}},
       "steps_restored",
       R"({"from":6,"to":8,"reason":"steps.jsonl lacked them, the ledger )"
       R"(proves them"})"},
      {coordinator::events::manifest_restored{"was missing"},
       "manifest_restored", R"({"reason":"was missing"})"},
      {coordinator::events::damaged_tail{"steps.jsonl", 9, 50, "no JSON",
                                         "steps.jsonl.damaged-1"},
       "damaged_tail",
       R"({"file":"steps.jsonl","line":9,"bytes":50,"reason":"no JSON",)"
       R"("kept":"steps.jsonl.damaged-1"})"},
  };
}

TEST(event_text, is_what_it_was) {
  std::set<size_t> seen;
  for (const auto& group : {of_the_run(), of_workers(), of_plans(), of_files()})
    for (const example& one : group) {
      const event_text text = text_of(one.what);
      EXPECT_EQ(text.kind, one.kind);
      EXPECT_EQ(text.fields.dump(), one.fields);
      seen.insert(one.what.index());
    }
  EXPECT_EQ(seen.size(), std::variant_size_v<coordinator::run_event>)
      << "a kind of event has no example here";
}

TEST(stragglers, are_named_in_one_sentence) {
  coordinator::stragglers::finding slow;
  slow.what = heat();
  EXPECT_EQ(sentence(slow, "w2", "cuda:1"),
            "w2 may be held up by its cuda:1: slowed down by heat (91 "
            "degrees)");
  slow.ratio = 1.84;
  EXPECT_EQ(sentence(slow, "w2", "cuda:1"),
            "w2 is slow, 1.8 times the others' time for a row, because of its "
            "cuda:1: slowed down by heat (91 degrees)");
  slow.ratio = 1;
  EXPECT_THAT(sentence(slow, "w2", "cuda:1"),
              ::testing::HasSubstr("w2 keeps up, 1.0"));
}

} // namespace
} // namespace ballast::monitor
