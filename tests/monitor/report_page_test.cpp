/// Goal: one HTML file tells of a run in any state, whatever stands in its
/// files, and stays small. Method: run directories written here.
#include "monitor/report_page.hpp"

#include "tests/store/expect_error.hpp"
#include "tests/store/temp_folder.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <vector>

namespace ballast::monitor {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json data_in(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return json::parse(page.substr(at, page.find("</script>", at) - at));
}

struct run_folder {
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::app) << text;
  }
  void step(uint64_t number, double loss) const {
    write("steps.jsonl", json{{"step", number},
                              {"world", 2},
                              {"samples", 8},
                              {"loss", loss},
                              {"t_ns", number * 1'000'000'000}}
                                 .dump() +
                             "\n");
  }
  /// The data in the page.
  json data() const { return data_in(report_page(folder.path())); }
  store::temp_folder folder;
};

TEST(report_page, has_curves_events_outcome_and_job) {
  const run_folder run;
  run.write("job.json", R"({"name": "iris"})");
  run.write("report.json", R"({"state": "done", "steps": 3})");
  for (uint64_t i = 1; i <= 3; ++i)
    run.step(i, 1.0 / double(i));
  run.write("events.jsonl",
            R"({"seq":1,"t_ns":500000000,"kind":"worker_joined"})"
            "\n"
            R"({"seq":2,"t_ns":4000000000,"kind":"evaluation","step":3,)"
            R"("test_loss":0.5,"test_accuracy":0.75,"metrics":{"accuracy":)"
            R"(0.75,"f1_macro":0.7,"f1_per_class":[0.6,0.8],"later":1}})"
            "\n");
  const json data = run.data();
  EXPECT_EQ(data["job"]["name"], "iris");
  EXPECT_EQ(data["report"]["state"], "done");
  EXPECT_EQ(data["series"]["loss"]["mean"].size(), 3U);
  EXPECT_EQ(data["series"]["test_f1_macro"]["mean"][0], 0.7);
  EXPECT_EQ(data["series"]["test_accuracy"]["step"][0], 3);
  EXPECT_EQ(data["events"].size(), 2U);
  EXPECT_EQ(data["begin_ns"], 500'000'000);
  EXPECT_EQ(data["end_ns"], 4'000'000'000);
  EXPECT_TRUE(data["troubles"].empty());
}

TEST(report_page, forgets_evaluations_of_steps_that_are_undone) {
  const run_folder run;
  run.write("job.json", "{}");
  const auto evaluation = [&](int seq, int step, double loss) {
    run.write("events.jsonl", json{{"seq", seq},
                                   {"t_ns", seq * 1000},
                                   {"kind", "evaluation"},
                                   {"step", step},
                                   {"test_loss", loss}}
                                      .dump() +
                                  "\n");
  };
  evaluation(1, 10, 0.5);
  evaluation(2, 20, 0.4);
  run.write("events.jsonl",
            R"({"seq":3,"t_ns":3000,"kind":"undone","from":25,"to":15})"
            "\n");
  evaluation(4, 20, 0.45);
  EXPECT_EQ(run.data()["series"]["test_loss"]["mean"], json({0.5, 0.45}));
}

TEST(report_page, of_a_run_that_has_not_ended_says_so) {
  const run_folder run;
  run.write("job.json", "{}");
  const json data = run.data();
  EXPECT_TRUE(data["report"].is_null());
  EXPECT_TRUE(data["events"].empty());
}

TEST(report_page, reads_a_damaged_file_as_far_as_it_goes) {
  const run_folder run;
  run.write("job.json", "{}");
  run.step(1, 1);
  run.write("steps.jsonl", "{\"step\":2,\"lo");
  const json data = run.data();
  EXPECT_EQ(data["series"]["loss"]["mean"].size(), 1U);
  EXPECT_EQ(data["troubles"],
            json({"steps.jsonl is damaged from line 2 on: what follows is not "
                  "shown"}));
}

TEST(report_page, takes_values_of_other_types_for_missing) {
  const run_folder run;
  run.write("job.json", "{}");
  run.write("steps.jsonl", R"({"step":"x","loss":null,"t_ns":-5,"world":[]})"
                           "\n");
  run.write("events.jsonl",
            R"({"kind":7,"t_ns":"now"})"
            "\n"
            R"({"kind":"evaluation","metrics":{"accuracy":"x"},"step":null})"
            "\n");
  run.write("events.jsonl", R"({"kind":"evaluation","metrics":[],"t_ns":1})"
                            "\n");
  EXPECT_EQ(run.data()["events"].size(), 1U);
}

TEST(report_page, has_no_markup_of_what_it_is_told) {
  const run_folder run;
  run.write("job.json", R"({"name": "</script><script>alert(1)</script>"})");
  run.write("events.jsonl", R"({"kind":"<!--<script>","t_ns":1})"
                            "\n");
  const std::string page = report_page(run.folder.path());
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_EQ(run.data()["job"]["name"], "</script><script>alert(1)</script>");
}

TEST(report_page, has_the_first_and_last_of_many_events) {
  const run_folder run;
  run.write("job.json", "{}");
  std::string lines;
  for (int i = 1; i <= 20'000; ++i)
    lines += json{{"seq", i},
                  {"t_ns", i},
                  {"kind", i % 2 == 0 ? "epoch" : "straggler"}}
                 .dump() +
             "\n";
  run.write("events.jsonl", lines);
  const json data = run.data();
  const size_t shown = data["events"].size();
  EXPECT_LE(shown, 3500U);
  EXPECT_EQ(shown + data["left_out"].get<size_t>(), 20'000U);
  EXPECT_EQ(data["events"][0]["seq"], 1);
  EXPECT_EQ(data["events"].back()["seq"], 20'000);
  for (size_t i = 1; i < shown; ++i)
    EXPECT_LT(data["events"][i - 1]["seq"], data["events"][i]["seq"]);
}

TEST(report_page, needs_a_run) {
  const run_folder run;
  EXPECT_FAILURE(report_page(run.folder.path()), errc::run_dir_unusable,
                 "expected the directory of a run");
}

TEST(comparison_page, says_what_differs_in_the_jobs_and_has_all_curves) {
  const run_folder a, b;
  a.write("job.json", R"({"seed": 1, "train": {"epochs": 3, "lr": [0.1]}})");
  b.write("job.json",
          R"({"seed": 1, "train": {"epochs": 5, "lr": [0.1, 2]}, "x": "y"})");
  a.step(1, 0.5);
  b.step(1, 0.25);
  const std::vector<std::filesystem::path> runs{a.folder.path(),
                                                b.folder.path()};
  EXPECT_EQ(job_differences(runs), json::parse(R"([
    {"pointer": "/train/epochs", "values": [3, 5]},
    {"pointer": "/train/lr/1", "values": [null, 2]},
    {"pointer": "/x", "values": [null, "y"]}])"));
  const json data = data_in(comparison_page(runs));
  ASSERT_EQ(data["runs"].size(), 2U);
  EXPECT_EQ(data["runs"][1]["series"]["loss"]["mean"][0], 0.25);
  EXPECT_EQ(data["differences"].size(), 3U);
}

TEST(comparison_page, of_like_runs_has_no_difference) {
  const run_folder a;
  a.write("job.json", "{\"seed\": 1}");
  const std::vector<std::filesystem::path> runs(2, a.folder.path());
  EXPECT_TRUE(job_differences(runs).empty());
}

} // namespace
} // namespace ballast::monitor
