/// Goal: what is exported is what the catalogue says, and Prometheus agrees.
/// Method: every verb of every probe once, then the text is read.
#include "monitor/metrics/metrics.hpp"

#include "runtime/coordinator/parts.hpp"
#include "tests/source_root.hpp"
#include "tests/store/temp_folder.hpp"

#include <cstdio>
#include <cstdlib>
#include <gmock/gmock.h>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace ballast::monitor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

coordinator::worker_status some_worker(const std::string& name,
                                       double samples_per_s,
                                       coordinator::worker_status::part share) {
  coordinator::worker_status out;
  out.name = name;
  out.state = coordinator::worker_standing::training;
  out.samples_per_s = samples_per_s;
  out.share = share;
  return out;
}

coordinator::run_status some_status() {
  coordinator::run_status out;
  out.state = coordinator::run_phase::training;
  out.workers = {some_worker("w1", 1000.5, {30'000, 0.25, 128}),
                 some_worker("w2", 900, {30'000, 0.5, 128, 5e7})};
  out.workers[0].heartbeat_age = coordinator::worker_status::seconds(0.1);
  out.workers[0].spent.emplace()[coordinator::time_cause::data] =
      std::chrono::milliseconds(2500);
  out.run = coordinator::run_status::numbers{};
  coordinator::run_status::balancing& balance = out.run->balance;
  balance.makespan_ratio = 1.25;
  balance.moves_in_flight = 3;
  balance.moved_by_skew = 2560;
  balance.moved_by_coverage = 4;
  balance.moved_rows = 2560 + 512 + 4;
  balance.bound_rows = 3000;
  balance.moved_bytes = 2'400'000;
  coordinator::checkpoint_figures::measured& cost =
      out.run->checkpoint.cost.emplace();
  cost.pause_s = 0.25;
  cost.best.interval_s = 40;
  return out;
}

void use(coordinator_probe& probe) {
  probe.generation(generation{2});
  probe.world(3);
  probe.committed(step_number{1}, epoch_number{1}, 256, 2.3);
  probe.committed(step_number{2}, epoch_number{1}, 100, 2.25);
  probe.status(some_status());
  probe.plan(coordinator_probe::plan_outcome::effective);
  probe.event(coordinator::events::error{{errc::worker_lost, "w1", {}}});
}

void use(worker_probe& probe) {
  probe.step({0.001, 0.01, 0.002, 0.0005}, 128, 128);
  probe.step({0.001, 0.01, 0.002, 0.0005}, 127, 39);
  probe.collective_bytes(400'000);
  probe.rows_read({.origin = 10, .set = 20, .kept = 30});
  probe.error(errc::collective_failed);
  gpu::gpu_reading gpu;
  gpu.utilization_ratio = 0.9;
  gpu.memory_used_bytes = 600;
  gpu.memory_bytes = 1000;
  gpu.power_watts = 400;
  gpu.temperature_celsius = 60;
  gpu.clock_reasons = gpu::clock_power_cap;
  gpu.sent_bytes_per_second = gpu.received_bytes_per_second = 1024;
  gpu.memory_errors = 1;
  probe.gpu(gpu);
}

std::string coordinator_text() {
  coordinator_probe probe("fashion-1");
  use(probe);
  probe.event(coordinator::events::evaluated{
      .loss = 1,
      .accuracy = 0.5,
      .values = {{ballast::metrics::metric::f1_macro, {0.5}, "", 0}}});
  return probe.text();
}

std::string worker_text() {
  worker_probe probe("fashion-1", "w1");
  use(probe);
  return probe.text();
}

/// name -> type, from the TYPE lines.
std::map<std::string, std::string> types_in(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string hash, type_word, name, type;
    words >> hash >> type_word >> name >> type;
    if (hash == "#" && type_word == "TYPE")
      out[name] = type;
  }
  return out;
}

TEST(metrics, exports_exactly_the_catalogue) {
  std::map<std::string, std::string> exported = types_in(coordinator_text());
  exported.merge(types_in(worker_text()));
  exported.merge(types_in(idle_metrics()));
  std::map<std::string, std::string> promised;
  for (const metric_entry& entry : metric_catalogue())
    promised[std::string(entry.name)] =
        entry.type == metric_type::counter ? "counter"
        : entry.type == metric_type::gauge ? "gauge"
                                           : "histogram";
  EXPECT_EQ(exported, promised);
}

TEST(metrics, counts_and_shows_what_happened) {
  std::string text = coordinator_text();
  for (const char* line : {
           "ballast_steps_committed_total{run=\"fashion-1\"} 2\n",
           "ballast_samples_committed_total{run=\"fashion-1\"} 356\n",
           "ballast_loss{run=\"fashion-1\"} 2.25\n",
           "ballast_epoch{run=\"fashion-1\"} 1\n",
           "ballast_generation{run=\"fashion-1\"} 2\n",
           "ballast_world_size{run=\"fashion-1\"} 3\n",
           "ballast_skew_tv_max{run=\"fashion-1\"} 0.5\n",
           "ballast_run_state{run=\"fashion-1\",state=\"training\"} 1\n",
           "ballast_run_state{run=\"fashion-1\",state=\"paused\"} 0\n",
           "ballast_errors_total{run=\"fashion-1\",code=\"worker_lost\"} 1\n",
           "ballast_plans_total{run=\"fashion-1\",outcome=\"effective\"} 1\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, HasSubstr("ballast_worker_samples_per_second{run="
                              "\"fashion-1\",worker=\"w1\"} 1000.5\n"));
  EXPECT_THAT(text, HasSubstr("ballast_worker_time_seconds_total{run="
                              "\"fashion-1\",cause=\"data\",worker=\"w1\"} "
                              "2.5\n"));
  EXPECT_THAT(worker_text(),
              HasSubstr("ballast_worker_samples_total{run=\"fashion-1\","
                        "worker=\"w1\"} 255\n"));
  EXPECT_THAT(worker_text(), HasSubstr("phase=\"reduce\",le=\"0.002\"} 2\n"));
}

TEST(metrics, count_what_events_tell) {
  coordinator_probe probe("r");
  probe.event(coordinator::events::generation_begun{
      .number = generation{2},
      .step = step_number{8},
      .workers = {"w1"},
      .why =
          coordinator::events::generation_begun::recovered{
              .reason =
                  coordinator::recovery_reasons::worker_lost{
                      "w2", process_end{process_end::kind::killed, 9}},
              .whole = coordinator::events::milliseconds(75),
              .detect = coordinator::events::milliseconds(2),
              .fence = coordinator::events::milliseconds(10),
              .plan = coordinator::events::milliseconds(3),
              .open = coordinator::events::milliseconds(30),
              .sync = coordinator::events::milliseconds(20),
              .first_step = coordinator::events::milliseconds(10)},
      .collective = {}});
  probe.event(
      coordinator::events::generation_begun{}); // the first is no recovery
  probe.event(coordinator::events::plan_dropped{});
  probe.event(coordinator::events::plan_offered{});
  probe.event(coordinator::events::checkpoint{
      .step = {}, .epoch = {}, .bytes = 1, .took = {}});
  probe.event(coordinator::events::evaluated{.loss = 0.25});
  EXPECT_THAT(probe.text(), Not(HasSubstr("ballast_evaluation_accuracy")));
  probe.event(coordinator::events::evaluated{
      .loss = 0.5,
      .accuracy = 0.75,
      .values = {{ballast::metrics::metric::f1_macro, {0.25}, "", 0},
                 {ballast::metrics::metric::roc_auc, {0.5}, "", 0},
                 {ballast::metrics::metric::f1_per_class, {0, 1}, "", 0}}});
  EXPECT_THAT(probe.text(), HasSubstr("{run=\"r\",metric=\"roc_auc\"} 0.5\n"));
  // What is undefined now does not keep its last value.
  const double undefined = std::numeric_limits<double>::quiet_NaN();
  probe.event(coordinator::events::evaluated{
      .loss = 0.5,
      .accuracy = 0.75,
      .values = {{ballast::metrics::metric::f1_macro, {0.375}, "", 0},
                 {ballast::metrics::metric::roc_auc, {undefined}, "why", 0}}});
  EXPECT_THAT(probe.text(), Not(HasSubstr("roc_auc")));
  EXPECT_THAT(probe.text(), Not(HasSubstr("f1_per_class")));
  for (const coordinator::run_event& one :
       std::initializer_list<coordinator::run_event>{
           coordinator::events::step_refused{
               {errc::non_finite_loss, "", {}}, {}, {}},
           coordinator::events::checkpoint_failed{{},
                                                  {errc::unreachable, "", {}}},
           coordinator::events::respawn_ended{},
           coordinator::events::disk_full{}, coordinator::events::waiting{}})
    probe.event(one);
  const std::string text = probe.text();
  for (const char* line : {
           "ballast_recoveries_total{run=\"r\",reason=\"crash\"} 1\n",
           "ballast_recovery_seconds_sum{run=\"r\",phase=\"open\"} 0.03\n",
           "ballast_recovery_seconds_count{run=\"r\",phase=\"detect\"} 1\n",
           "ballast_plans_total{run=\"r\",outcome=\"dropped\"} 1\n",
           "ballast_plans_total{run=\"r\",outcome=\"offered\"} 0\n",
           "ballast_checkpoint_seconds_count{run=\"r\"} 1\n",
           "ballast_evaluation_loss{run=\"r\"} 0.5\n",
           "ballast_evaluation_accuracy{run=\"r\"} 0.75\n",
           "ballast_evaluation_metric{run=\"r\",metric=\"f1_macro\"} 0.375\n",
           "ballast_errors_total{run=\"r\",code=\"non_finite_loss\"} 1\n",
           "ballast_errors_total{run=\"r\",code=\"unreachable\"} 1\n",
           "ballast_errors_total{run=\"r\",code=\"worker_lost\"} 1\n",
           "ballast_errors_total{run=\"r\",code=\"disk_full\"} 1\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(metrics, show_what_checkpoints_cost_once_it_was_measured) {
  coordinator_probe probe("r");
  coordinator::run_status now = some_status();
  const auto cost = std::exchange(now.run->checkpoint.cost, std::nullopt);
  probe.status(now);
  EXPECT_THAT(probe.text(), Not(HasSubstr("ballast_checkpoint_pause")));
  now.run->checkpoint.cost = cost;
  probe.status(now);
  EXPECT_THAT(probe.text(),
              HasSubstr("ballast_checkpoint_pause_seconds{run=\"r\"} 0.25\n"));
  EXPECT_THAT(
      probe.text(),
      HasSubstr("ballast_checkpoint_best_interval_seconds{run=\"r\"} 40\n"));
}

TEST(metrics, count_the_bytes_of_rows_by_where_they_came_from) {
  worker_probe probe("r", "w1");
  probe.rows_read({.origin = 10, .set = 0, .kept = 0});
  probe.rows_read({.origin = 10, .set = 0, .kept = 7});
  EXPECT_THAT(probe.text(), HasSubstr("source=\"origin\"} 10\n"));
  EXPECT_THAT(probe.text(), HasSubstr("source=\"kept\"} 7\n"));
}

TEST(metrics, show_what_a_gpu_says_and_nothing_else) {
  worker_probe probe("r", "w1");
  EXPECT_THAT(probe.text(), Not(HasSubstr("ballast_gpu_")));
  gpu::gpu_reading now;
  now.temperature_celsius = 91;
  now.clock_reasons = gpu::clock_power_cap;
  now.sent_bytes_per_second = 1024;
  probe.gpu(now);
  EXPECT_THAT(probe.text(), HasSubstr("ballast_gpu_temperature_celsius{run="
                                      "\"r\",worker=\"w1\"} 91\n"));
  EXPECT_THAT(probe.text(),
              HasSubstr("ballast_gpu_slowed{run=\"r\",worker=\"w1\"} 0\n"));
  EXPECT_THAT(probe.text(), HasSubstr("direction=\"sent\"} 1024\n"));
  EXPECT_THAT(probe.text(), Not(HasSubstr("ballast_gpu_power")));
  now.clock_reasons = gpu::clock_thermal_hardware;
  probe.gpu(now);
  EXPECT_THAT(probe.text(),
              HasSubstr("ballast_gpu_slowed{run=\"r\",worker=\"w1\"} 1\n"));
}

TEST(metrics, shows_no_value_that_is_not_known_yet) {
  std::string text = coordinator_probe("r").text();
  EXPECT_THAT(text, Not(HasSubstr("ballast_loss")));
  EXPECT_THAT(text, Not(HasSubstr("ballast_generation")));
  EXPECT_THAT(text, Not(HasSubstr("worker=")));
  EXPECT_THAT(text, HasSubstr("ballast_steps_committed_total{run=\"r\"} 0\n"));
}

TEST(metrics, forgets_a_worker_that_is_gone) {
  coordinator_probe probe("r");
  use(probe);
  coordinator::run_status now = some_status();
  now.workers[1].state = coordinator::worker_standing::lost;
  now.workers.push_back(some_worker("nobody", 1, {}));
  now.workers[2].share.reset();
  probe.status(now);
  EXPECT_THAT(probe.text(), Not(HasSubstr("w2")));
  EXPECT_THAT(probe.text(), HasSubstr("ballast_skew_tv_max{run=\"r\"} 0.25\n"));
  now.workers[1] = some_worker("w2", 1, {3, 0.75, 2});
  probe.status(now);
  EXPECT_THAT(probe.text(), HasSubstr("ballast_skew_tv_max{run=\"r\"} 0.75\n"));
}

TEST(metrics, knows_every_state_of_a_run) {
  std::set<std::string_view> known(run_states().begin(), run_states().end());
  std::set<std::string> used;
  for (auto phase = coordinator::run_phase::idle;;
       phase = coordinator::run_phase(static_cast<uint8_t>(phase) + 1)) {
    EXPECT_TRUE(known.count(ballast::to_string(phase)))
        << ballast::to_string(phase);
    used.insert(ballast::to_string(phase));
    if (phase == coordinator::run_phase::stopped)
      break;
  }
  EXPECT_EQ(used.size(), known.size());
}

TEST(metrics, never_uses_the_label_job) {
  for (const metric_entry& entry : metric_catalogue()) {
    EXPECT_THAT(std::string(entry.labels), Not(HasSubstr("job")));
    EXPECT_EQ(entry.name.substr(0, 8), "ballast_");
  }
}

TEST(metrics, survives_any_name) {
  coordinator_probe probe("a\"b\\c\nd");
  EXPECT_THAT(probe.text(), HasSubstr("run=\"a\\\"b\\\\c\\nd\""));
}

TEST(metrics, pleases_promtool) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "promtool is not installed";
  store::temp_folder folder;
  for (const std::string& text :
       {coordinator_text(), worker_text(), idle_metrics()}) {
    store::write_content(folder / "metrics", text);
    std::string command = "promtool check metrics < " +
                          (folder / "metrics").string() + " > " +
                          (folder / "said").string() + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(store::content_of(folder / "said"), "");
  }
}

TEST(metrics, are_documented) {
  std::filesystem::path page = source_root() / "docs/metrics.md";
  if (std::getenv("BALLAST_UPDATE_DOCS")) {
    std::filesystem::create_directories(page.parent_path());
    store::write_content(page, metric_reference());
  }
  EXPECT_EQ(store::content_of(page), metric_reference())
      << "run monitor_tests with BALLAST_UPDATE_DOCS=1";
}

} // namespace
} // namespace ballast::monitor
