/// Goal: a run directory is audited from its files alone, and a change to any
/// of them is found. Method: a simulated run writes the files with the same
/// writers as a real one; then one file is damaged at a time.
#include "monitor/audit_run.hpp"
#include "monitor/logs/step_log.hpp"
#include "runtime/base/errors.hpp"
#include "store/journal.hpp"
#include "store/line_file.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace ballast::monitor {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string read_text(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

class audit_run : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ballast-audit-XXXXXX");
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(folder_ / "trace");
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// 2 workers, 4 chunks of 25 rows, batches of 8, 2 epochs: 26 steps.
  void write_run(uint64_t steps, bool traced, const std::string& state = "",
                 const json& importance = json()) {
    ledger::manifest set;
    for (uint32_t id = 0; id < 4; ++id) {
      ledger::chunk_info chunk;
      chunk.id = chunk_id{id};
      chunk.rows = 25;
      chunk.checksum = "0123456789abcdef";
      chunk.label_histogram = {25};
      chunk.samples = chunk.source_rows = {{id * 25, 25}};
      set.train.push_back(chunk);
    }
    set.train_rows = 100;
    set.row = {1, {1}, ledger::stored_type::float32, 1, 0, 1};
    set.placement = {{chunk_id{0}, chunk_id{1}, chunk_id{2}}, {chunk_id{3}}};
    write_text(folder_ / "manifest.json", json(set).dump());

    std::vector<worker_id> workers{worker_id{1}, worker_id{2}};
    ledger::plan first =
        first_plan(set, workers, generation{1}, plan_number{1});
    ledger::ledger_config config{5, 8, {25, 25, 25, 25}};
    store::journal book = store::journal::open_for_writing(folder_);
    json job{{"train", {{"epochs", 2}, {"global_batch", 8}}},
             {"trace_samples", traced}};
    if (!importance.is_null())
      job["train"]["importance"] = importance;
    book.record_run({"test-1", config.seed, 100, job});
    book.record_change(
        {generation{1}, {{workers[0], "w1", 1}, {workers[1], "w.2", 1}}}, first,
        ledger::position{});

    ledger::ledger run(config, first);
    step_log lines(folder_ / "steps.jsonl");
    std::optional<store::line_file> traces[2];
    for (int rank = 0; traced && rank < 2; ++rank)
      traces[rank].emplace(folder_ / "trace" /
                           (rank ? "w.2.1.jsonl" : "w1.1.jsonl"));
    ledger::position last;
    for (uint64_t step = 1; step <= steps; ++step) {
      last = run.next();
      for (size_t rank = 0; traced && rank < 2; ++rank) {
        std::vector<ledger::row_ref> rows;
        run.sequence_of(rank).draw(run.takes()[rank], rows);
        json ids = json::array();
        for (const ledger::row_ref& row : rows)
          ids.push_back(value(row.chunk) * 25 + row.row);
        traces[rank]->append(json{
            {"generation", 1},
            {"plan", 1},
            {"step", step},
            {"epoch", value(last.epoch)},
            {"ids", ids}}.dump());
      }
      lines.append({last.step, last.epoch, generation{1}, plan_number{1}, 2,
                    run.takes()[0] + run.takes()[1], 1.5, step});
      run.advance();
    }
    book.record_commit(last.step, last.epoch);
    if (!state.empty())
      write_text(folder_ / "report.json",
                 json{{"state", state}, {"steps", steps}}.dump());
  }

  void replace(const std::string& file, const std::string& what,
               const std::string& with) {
    std::string text = read_text(folder_ / file);
    size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what << " in " << file;
    write_text(folder_ / file, text.replace(at, what.size(), with));
  }

  /// The problems, one a line; empty if it is fine.
  std::string problems() {
    std::string out;
    for (const std::string& one : audit_run_directory(folder_).first_problems)
      out += one + "\n";
    return out;
  }

  fs::path folder_;
};

TEST_F(audit_run, is_fine_with_a_whole_run) {
  write_run(26, true, "done");
  ledger::audit_report report = audit_run_directory(folder_);
  EXPECT_TRUE(report.fine()) << problems();
  EXPECT_EQ(report.counts(), (ledger::sample_counts{200, 200, 0, 0}));
  EXPECT_EQ(report.steps_committed, 26U);
  EXPECT_EQ(report.trace_lines, 52U);
  const audit_result counts = audit_counts(folder_);
  EXPECT_EQ(counts.expected, 200U);
  EXPECT_EQ(counts.once, 200U);
  EXPECT_EQ(counts.lost + counts.repeated, 0U);
}

TEST_F(audit_run, is_fine_with_a_stopped_run_and_one_that_goes_on) {
  write_run(15, true, "stopped");
  EXPECT_EQ(problems(), "");
  fs::remove(folder_ / "report.json");
  // Torn last lines are not there yet.
  std::ofstream(folder_ / "steps.jsonl", std::ios::app) << "{\"step\":16,\"ep";
  std::ofstream(folder_ / "trace/w1.1.jsonl", std::ios::app) << "{\"gener";
  EXPECT_EQ(problems(), "");
  EXPECT_EQ(audit_run_directory(folder_).counts(),
            (ledger::sample_counts{116, 116, 0, 0}));
}

TEST_F(audit_run, finds_what_was_changed_in_each_file) {
  write_run(26, true, "done");
  struct {
    std::string file, what, with, found;
  } cases[] = {
      {"steps.jsonl", "\"samples\":8", "\"samples\":9",
       "steps.jsonl: step 1 has samples 9, by the ledger it is 8"},
      {"steps.jsonl", "\"world\":2", "\"world\":-2", "steps.jsonl line 1: "},
      {"steps.jsonl", "{\"step\":3,", "{\"step\":4,",
       "steps.jsonl: after step 2 comes step 4"},
      {"steps.jsonl", "{\"step\":3,", "{step:3,", "steps.jsonl line 3: "},
      {"trace/w1.1.jsonl", "\"ids\":[", "\"ids\":[99,",
       "trace/w1.1.jsonl line 1: step 1 has 7 samples, by the ledger 6"},
      {"trace/w1.1.jsonl", "\"ids\":[", "\"ids\":[-1,", "1 others"},
      {"trace/w1.1.jsonl", "\"step\":2", "\"step\":3",
       "trace/w1.1.jsonl line 3: step 3 a second time"},
      {"trace/w.2.1.jsonl", "\"generation\":1", "\"generation\":2",
       "traces: none of worker 2 for step 1"},
      {"trace/w.2.1.jsonl", "{", "[", "trace/w.2.1.jsonl line 1: "},
      {"report.json", "26", "25", "report.json says 25 steps"},
      {"manifest.json", "\"0+25\"", "\"1+25\"", "manifest: "},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.file + ": " + c.with);
    std::string before = read_text(folder_ / c.file);
    replace(c.file, c.what, c.with);
    EXPECT_NE(problems().find(c.found), std::string::npos) << problems();
    write_text(folder_ / c.file, before);
    ASSERT_EQ(problems(), "");
  }
}

TEST_F(audit_run, no_samples_are_drawn_where_the_job_draws_none) {
  for (const json& importance : {json(), json{{"by", "none"}}}) {
    fs::remove(folder_ / "ledger.sqlite");
    fs::remove(folder_ / "steps.jsonl");
    fs::remove_all(folder_ / "trace");
    fs::create_directory(folder_ / "trace");
    write_run(26, true, "done", importance);
    ASSERT_EQ(problems(), "");
    const fs::path file = folder_ / "trace/w1.1.jsonl";
    const std::string before = read_text(file);
    json line = json::parse(before.substr(0, before.find('\n')));
    line["used"] = {line["ids"][0]};
    write_text(file, line.dump() + before.substr(before.find('\n')));
    EXPECT_EQ(problems(), "trace/w1.1.jsonl line 1: \"used\" is there, but the "
                          "job has no train.importance\n");
  }
}

TEST_F(audit_run, used_samples_are_some_of_those_of_their_step) {
  // Of 6 samples of the first worker 2, of 2 of the second 1.
  write_run(26, true, "done", {{"by", "loss"}, {"keep", 0.3}});
  const fs::path file = folder_ / "trace/w1.1.jsonl";
  const std::string before = read_text(file);
  const json first = json::parse(before.substr(0, before.find('\n')));
  const std::string rest = before.substr(before.find('\n'));
  const auto problems_with = [&](const json& used) {
    json line = first;
    line["used"] = used;
    write_text(file, line.dump() + rest);
    return problems();
  };
  const json& ids = first["ids"];
  ASSERT_EQ(ids.size(), 6U);
  EXPECT_EQ(problems_with({ids[2], ids[0]}), "");
  for (const json& other : {json::array(), json::array({ids[2]}),
                            json::array({ids[2], ids[1], ids[0]}), ids}) {
    EXPECT_EQ(problems_with(other),
              "trace/w1.1.jsonl line 1: \"used\" has " +
                  std::to_string(other.size()) +
                  " samples; of the 6 of the step 2 are drawn\n");
  }
  EXPECT_EQ(problems_with(nullptr),
            "trace/w1.1.jsonl line 1: \"used\" is null; expected a list of "
            "samples\n");
  EXPECT_EQ(problems_with({"a", ids[0]}),
            "trace/w1.1.jsonl line 1: \"used\" has \"a\", which is no "
            "sample\n");
  EXPECT_EQ(problems_with({ids[1], 4711}),
            "trace/w1.1.jsonl line 1: \"used\" has sample 4711, which is not "
            "among the \"ids\" of the step\n");
  EXPECT_EQ(problems_with({ids[1], ids[1]}),
            "trace/w1.1.jsonl line 1: \"used\" has sample " + ids[1].dump() +
                " more often than the \"ids\" of the step\n");
  EXPECT_NE(problems_with("all"), "");
}

TEST_F(audit_run, claims_nothing_of_a_file_that_it_cannot_open) {
  write_run(26, true, "done");
  for (const char* name :
       {"job.json", "manifest.json", "report.json", "steps.jsonl", "trace"}) {
    SCOPED_TRACE(name);
    const fs::path file = folder_ / name;
    const fs::path aside = folder_ / "aside";
    const bool was_there = fs::exists(file);
    if (was_there)
      fs::rename(file, aside);
    fs::create_symlink(file, file); // root may open whatever else is there
    try {
      ADD_FAILURE() << problems();
    } catch (const ballast_error& e) {
      EXPECT_EQ(std::string(e.what()),
                "cannot audit: cannot open " + file.string() +
                    ": Too many levels of symbolic links");
    }
    fs::remove(file);
    if (was_there)
      fs::rename(aside, file);
    ASSERT_EQ(problems(), "");
  }
}

TEST_F(audit_run, finds_missing_and_foreign_files_and_cut_ends) {
  write_run(26, true, "done");
  std::string steps = read_text(folder_ / "steps.jsonl");
  write_text(folder_ / "steps.jsonl",
             steps.substr(0, steps.rfind("{\"step\":26")));
  EXPECT_NE(problems().find("the journal says that step 26 is committed, "
                            "steps.jsonl has 25"),
            std::string::npos)
      << problems();
  write_text(folder_ / "steps.jsonl", steps);
  fs::rename(folder_ / "trace/w1.1.jsonl", folder_ / "trace/w3.1.jsonl");
  EXPECT_NE(problems().find("trace/w3.1.jsonl belongs to no worker"),
            std::string::npos)
      << problems();
  fs::remove(folder_ / "trace/w3.1.jsonl");
  EXPECT_NE(problems().find("traces: none of worker 1 for step 1"),
            std::string::npos)
      << problems();
}

TEST_F(audit_run, finds_a_run_that_only_says_it_is_done) {
  write_run(25, false, "done");
  EXPECT_NE(problems().find("report.json says done, but only 25 of 26"),
            std::string::npos)
      << problems();
}

TEST_F(audit_run, says_what_is_missing_where_nothing_can_be_said) {
  EXPECT_THROW(audit_run_directory(folder_), ballast_error);
  EXPECT_THROW(audit_counts(folder_), ballast_error);
  write_run(3, false);
  fs::remove(folder_ / "manifest.json");
  try {
    audit_run_directory(folder_);
    FAIL();
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::run_dir_unusable);
    EXPECT_NE(std::string(error.what()).find("manifest.json"),
              std::string::npos);
  }
}

} // namespace
} // namespace ballast::monitor
