/// Goal: report.json has every documented key, in order, whatever is known.
#include "monitor/report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast::monitor {
namespace {

const char* documented =
    "state epochs steps samples wall_s samples_per_s train_loss test_loss "
    "test_accuracy generations recoveries moved_samples moved_bytes "
    "moved_bound_samples skew_tv_start skew_tv_max weights_sha256 model_step "
    "audit ";

std::string keys(const nlohmann::ordered_json& object) {
  std::string out;
  for (const auto& [key, field] : object.items())
    out += key + " ";
  return out;
}

TEST(report, has_every_key_and_null_for_what_is_unknown) {
  run_report report;
  report.state = "failed";
  auto json = to_json(report);
  EXPECT_EQ(keys(json), documented);
  EXPECT_TRUE(json["test_accuracy"].is_null());
  EXPECT_TRUE(json["audit"].is_null());
  EXPECT_EQ(json["recoveries"], nlohmann::ordered_json::array());
  report.best = best_result{"loss", 2, 20, 0.5};
  EXPECT_EQ(to_json(report)["best"].dump(),
            R"({"metric":"loss","value":0.5,"epoch":2,"step":20})");
  report.best.reset();
  report.reason = "worker w2 lost";
  EXPECT_EQ(keys(to_json(report)), std::string(documented) + "reason ");
}

TEST(report, shows_what_is_known) {
  run_report report;
  report.state = "done";
  report.steps = 705;
  report.test_accuracy = 0.847;
  report.weights_sha256 = "abc";
  report.moved_samples = 0;
  report.recoveries = {{"worker w2 lost", 41.5}};
  report.audit = audit_result{60'000, 60'000, 0, 0, {}};
  auto json = to_json(report);
  EXPECT_EQ(json["steps"], 705);
  EXPECT_EQ(json["test_accuracy"], 0.847);
  EXPECT_EQ(json["moved_samples"], 0);
  EXPECT_EQ(json["weights_sha256"], "abc");
  EXPECT_EQ(json["recoveries"][0]["ms"], 41.5);
  EXPECT_EQ(json["audit"].dump(),
            R"({"expected":60000,"once":60000,"lost":0,"repeated":0})");
}

TEST(report, shows_metrics_of_the_test_part_and_why_one_is_undefined) {
  run_report report;
  const double undefined = std::numeric_limits<double>::quiet_NaN();
  report.test_values = {
      {metrics::metric::f1_macro, {0.25}, "", 0},
      {metrics::metric::confusion_matrix, {3, 1, 0, 2}, "", 0},
      {metrics::metric::roc_auc, {undefined}, "class 1 has no rows", 0}};
  auto json = to_json(report);
  EXPECT_EQ(
      json["test_metrics"].dump(),
      R"({"f1_macro":0.25,"confusion_matrix":[[3,1],[0,2]],"roc_auc":null})");
  EXPECT_EQ(json["test_metrics_undefined"].dump(),
            R"({"roc_auc":"class 1 has no rows"})");
  EXPECT_FALSE(json.contains("test_metrics_error_max"));
}

TEST(report, says_from_which_step_on_it_counts_what_only_workers_tell) {
  run_report report;
  report.importance = importance_result{16, 8, 50, 15, 0};
  EXPECT_EQ(to_json(report)["importance"].dump(),
            R"({"worker_steps":16,"drawn":8,"mean_rows":50.0,)"
            R"("mean_gradient_rows":15.0})");
  report.importance->since_step = 40;
  EXPECT_EQ(to_json(report)["importance"]["since_step"], 40);
}

} // namespace
} // namespace ballast::monitor
