// Goal: a set of which rows were left out is the set of the others, whoever
// read which file; it knows how many there were, and which, as long as it is
// in the cache. Method: jobs over files with mistakes.
#include "data/prepared/fragment_task.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/prepared/set_identity.hpp"
#include "data/source/row_faults.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "tests/data/prepared/some_tables.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>

namespace ballast::data {
namespace {

using ::testing::HasSubstr;
using ::testing::Ne;

constexpr int bad_files = 5;

/// Each 50th row of each file is bad, in one way after another.
std::string file_with_mistakes(int number) {
  std::string out = "a,b,y\n";
  for (int row = 0; row < 400; ++row) {
    const int i = number * 400 + row;
    const std::string label = std::to_string(i % 3);
    if (row % 50 != 17)
      out += std::to_string(i) + "," + std::to_string(i % 9) + "," + label;
    else
      switch (row / 50 % 4) {
      case 0:
        out += "rubbish,1," + label;
        break;
      case 1:
        out += "1,2";
        break;
      case 2:
        out += "1,,1";
        break;
      default:
        out += "1,2,-5";
      }
    out += "\n";
  }
  return out;
}

job job_with_mistakes(const temporary_folder& folder, error_policy policy) {
  for (int i = 0; i < bad_files; ++i)
    folder.write("m" + std::to_string(i) + ".csv", file_with_mistakes(i));
  job what = job_of(
      table_source(source_format::csv, (folder / "m*.csv").string(), "y"), 7);
  what.elastic.workers = 2;
  what.model.kind = model_kind::logistic;
  what.data.on_error = policy;
  what.data.errors_max = 0.05;
  return what;
}

std::string quarantine_in(const prepared_set& set) {
  std::ifstream in(set.folder() / quarantine_name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(rejected_rows, are_told_and_counted_and_the_set_has_the_others) {
  temporary_folder folder;
  const auto set = prepare(job_with_mistakes(folder, error_policy::quarantine),
                           folder / "cache");
  const ledger::manifest& about = set->about();
  ASSERT_TRUE(about.rejected);
  EXPECT_EQ(*about.rejected, (ledger::rejected_rows{2000, 40, 40}));
  EXPECT_EQ(about.train_rows + about.test_rows, 1960u);
  const std::string lines = quarantine_in(*set);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 40);
  EXPECT_THAT(lines, HasSubstr("m4.csv\",\"row\":368,\"line\":369"));
  const auto again = prepare(
      job_with_mistakes(folder, error_policy::quarantine), folder / "cache");
  EXPECT_EQ(again->about().rejected, about.rejected);
  EXPECT_EQ(quarantine_in(*again), lines);
}

TEST(rejected_rows, are_only_counted_if_they_are_skipped) {
  temporary_folder folder;
  const auto set =
      prepare(job_with_mistakes(folder, error_policy::skip), folder / "cache");
  EXPECT_EQ(*set->about().rejected, (ledger::rejected_rows{2000, 40, 0}));
  EXPECT_FALSE(std::filesystem::exists(set->folder() / quarantine_name));
}

TEST(rejected_rows, are_an_error_unless_the_job_says_otherwise) {
  temporary_folder folder;
  try {
    (void)prepare(job_with_mistakes(folder, error_policy::fail),
                  folder / "cache");
    FAIL() << "nothing is wrong";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("m0.csv: row 18 (line 19), column 'a'"));
  }
}

TEST(rejected_rows, give_a_set_a_key_of_its_own) {
  temporary_folder folder;
  prepare_cache cache(folder / "cache");
  const auto identity = [&](error_policy policy, double most) {
    job what = job_with_mistakes(folder, policy);
    what.data.errors_max = most;
    return json_text(set_identity(what, cache, {}));
  };
  const std::string skipped = identity(error_policy::skip, 0.05);
  EXPECT_THAT(skipped, Ne(identity(error_policy::fail, 0.05)));
  EXPECT_THAT(skipped, Ne(identity(error_policy::quarantine, 0.05)));
  EXPECT_THAT(skipped, Ne(identity(error_policy::skip, 0.06)));
  EXPECT_EQ(identity(error_policy::fail, 0.05),
            identity(error_policy::fail, 0.06));
}

TEST(rejected_rows, are_the_same_where_files_are_read_apart) {
  temporary_folder folder;
  const job what = job_with_mistakes(folder, error_policy::quarantine);
  const auto one = prepare(what, folder / "one");
  prepare_options how;
  how.apart.worth_bytes = 0;
  std::vector<std::string> notes;
  std::mutex lock;
  how.apart.note = [&](const std::string& line) {
    const std::lock_guard guard(lock);
    notes.push_back(line);
  };
  const auto apart = prepare(what, folder / "apart", how);
  EXPECT_EQ(description_of(*apart), description_of(*one));
  EXPECT_EQ(apart->about().rejected, one->about().rejected);
  EXPECT_EQ(quarantine_in(*apart), quarantine_in(*one));
  for (const std::string& line : notes)
    EXPECT_THAT(line, testing::Not(HasSubstr("in its turn")));
}

TEST(rejected_rows, are_known_of_a_set_that_is_made_of_another) {
  temporary_folder folder;
  job what = job_with_mistakes(folder, error_policy::quarantine);
  const auto first = prepare(what, folder / "cache");
  what.elastic.workers = 3;
  std::vector<std::string> said;
  const auto second = prepare(what, folder / "cache");
  EXPECT_NE(second->folder(), first->folder());
  EXPECT_EQ(second->about().rejected, first->about().rejected);
  EXPECT_EQ(quarantine_in(*second), quarantine_in(*first));
}

TEST(rejected_rows, beyond_the_limit_end_the_preparing_with_the_last_reason) {
  temporary_folder folder;
  for (const bool apart : {false, true}) {
    job what = job_with_mistakes(folder, error_policy::skip);
    what.data.errors_max = 0.01;
    prepare_options how;
    if (apart)
      how.apart.worth_bytes = 0;
    try {
      (void)prepare(what, folder / "cache", how);
      FAIL() << "nothing is wrong";
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().pointer, "/data/errors_max");
      EXPECT_THAT(error.what(),
                  HasSubstr("24 of the 1200 rows read so far are wrong (2 %)"));
      EXPECT_THAT(error.what(), HasSubstr("m2.csv: row 368 (line 369), column "
                                          "'y': the label is no class"));
    }
  }
}

TEST(rejected_rows, may_nest_deeper_than_anything_is_looked_at) {
  temporary_folder folder;
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += i == 100 ? "{\"a\":" + std::string(500, '[') + "1" +
                           std::string(500, ']') + ",\"y\":0}\n"
            : i == 200 ? "{\"a\":1}]]]]\n"
            : i == 201 ? "]]]]{\"a\":1}\n"
                       : "{\"a\":" + std::to_string(i) +
                             ",\"y\":" + std::to_string(i % 2) + "}\n";
  job what = job_of(
      table_source(source_format::jsonl, folder.write("n.jsonl", text), "y"),
      7);
  what.model.kind = model_kind::logistic;
  what.data.on_error = error_policy::quarantine;
  what.data.errors_max = 0.05;
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(*set->about().rejected, (ledger::rejected_rows{300, 3, 3}));
  EXPECT_THAT(quarantine_in(*set), HasSubstr("\"row\":101,"));
}

TEST(rejected_rows, of_a_graph_are_found_by_whichever_node_fails) {
  temporary_folder folder;
  std::string text = "id,when,amount,y\n";
  for (int i = 0; i < 300; ++i)
    text += "p" + std::to_string(i) + "," +
            (i == 12 ? "nonsense" : "2026-01-31") + "," +
            (i == 57    ? "text"
             : i == 200 ? "0"
                        : std::to_string(i + 1)) +
            "," + (i == 250 ? "-3" : std::to_string(i % 2)) + "\n";
  const std::string file = folder.write("g.csv", text);
  const nlohmann::json document{
      {"data",
       {{"sources", {{"sales", {{"format", "csv"}, {"uri", file}}}}},
        {"graph", nlohmann::json::parse(R"j([
           {"op": "cast", "from": "sales", "columns": {"when": "date"},
            "as": "dated"},
           {"op": "derive", "columns": {"part": "div(1000, amount)"},
            "as": "parted"},
           {"op": "shuffle", "as": "mixed"},
           {"op": "split", "fractions": [0.8, 0.2], "as": ["one", "two"]}])j")},
        {"on_error", "quarantine"},
        {"errors_max", 0.02},
        {"train",
         {{"from", "one"}, {"label", "y"}, {"features", {"amount", "part"}}}},
        {"test",
         {{"from", "two"}, {"label", "y"}, {"features", {"amount", "part"}}}}}},
      {"model", {{"kind", "logistic"}}}};
  const job_result read = parse_job(document.dump(), {}, "/");
  ASSERT_TRUE(read.value) << read.mistakes.at(0).message;
  const auto set = prepare(*read.value, folder / "cache");
  EXPECT_EQ(*set->about().rejected, (ledger::rejected_rows{300, 3, 3}));
  EXPECT_EQ(set->about().train_rows + set->about().test_rows, 297u);
  const std::string lines = quarantine_in(*set);
  EXPECT_THAT(lines, HasSubstr("\"source\":\"sales\""));
  EXPECT_THAT(lines, HasSubstr("\"row\":58,\"line\":59,\"column\":\"amount\","
                               "\"operator\":\"read\""));
  EXPECT_THAT(lines,
              HasSubstr("\"row\":201,\"column\":\"part\",\"operator\":"
                        "\"parted\",\"reason\":\"\\\"div(1000, amount)"));
  EXPECT_THAT(lines, HasSubstr("\"row\":251,\"column\":\"y\",\"operator\":\""));

  nlohmann::json ahead = document;
  nlohmann::json& graph = ahead["data"]["graph"];
  const nlohmann::json node{{"op", "prefetch"}, {"as", "ahead"}};
  graph.insert(graph.begin() + 1, node);
  const job_result other = parse_job(ahead.dump(), {}, "/");
  ASSERT_TRUE(other.value) << other.mistakes.at(0).message;
  EXPECT_EQ(quarantine_in(*prepare(*other.value, folder / "cache")), lines);
}

/// Rows 1 to 200 of which nodes remove some, each in its own way.
nlohmann::json job_that_removes(const temporary_folder& folder) {
  std::string text = "id,age,income,kind,y\n";
  for (int i = 0; i < 200; ++i)
    text += std::to_string(i == 151 ? 150 : i) + "," +
            (i == 20 ? "400" : std::to_string(20 + i % 50)) + "," +
            (i == 40   ? ""
             : i == 60 ? "1000000"
                       : std::to_string(1000 + i % 7)) +
            "," + (i == 80 ? "other" : "some") + "," + std::to_string(i % 2) +
            "\n";
  return {
      {"data",
       {{"sources",
         {{"people",
           {{"format", "csv"}, {"uri", folder.write("p.csv", text)}}}}},
        {"graph", nlohmann::json::parse(R"j([
           {"op": "distinct", "from": "people", "on": "id", "as": "once"},
           {"op": "check", "rules": {"age": {"max": 120},
                                     "kind": {"in": ["some"]}},
            "as": "checked"},
           {"op": "split", "fractions": [0.8, 0.2], "as": ["one", "two"]},
           {"op": "impute", "from": ["one", "two"], "columns": "income",
            "strategy": "drop", "as": ["one-1", "two-1"]},
           {"op": "clip_outliers", "from": ["one-1", "two-1"],
            "columns": "income", "action": "remove",
            "as": ["one-2", "two-2"]}])j")},
        {"train",
         {{"from", "one-2"}, {"label", "y"}, {"features", {"age", "income"}}}},
        {"test",
         {{"from", "two-2"},
          {"label", "y"},
          {"features", {"age", "income"}}}}}},
      {"model", {{"kind", "logistic"}}}};
}

std::shared_ptr<prepared_set> prepared_of(const nlohmann::json& document,
                                          const temporary_folder& folder) {
  const job_result read = parse_job(document.dump(), {}, "/");
  EXPECT_TRUE(read.value) << read.mistakes.at(0).message;
  return prepare(*read.value, folder / "cache");
}

TEST(removed_rows, are_told_and_counted_by_the_node_that_removes_them) {
  temporary_folder folder;
  const auto set = prepared_of(job_that_removes(folder), folder);
  const auto& rejected = set->about().rejected;
  ASSERT_TRUE(rejected);
  EXPECT_EQ(rejected->read, 200u);
  EXPECT_EQ(rejected->rows, 0u) << "none is wrong";
  uint64_t sum = 0;
  for (const auto& [node, rows] : rejected->removed)
    sum += rows;
  EXPECT_EQ(sum, 5u);
  EXPECT_EQ(rejected->removed.at("once"), 1u);
  EXPECT_EQ(rejected->removed.at("checked"), 2u);
  EXPECT_EQ(set->about().train_rows + set->about().test_rows, 195u);
  const std::string lines = quarantine_in(*set);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 5);
  EXPECT_EQ(rejected->kept, 5u);
  EXPECT_THAT(lines, HasSubstr("p.csv\",\"row\":152,\"operator\":\"once\","
                               "\"reason\":\"is equal to an earlier row in "));
  EXPECT_THAT(lines, HasSubstr("\"row\":21,\"column\":\"age\",\"operator\":"
                               "\"checked\",\"reason\":\"expected at most "
                               "120, found more\""));
  EXPECT_THAT(lines, HasSubstr("\"row\":81,\"column\":\"kind\""));
  EXPECT_THAT(lines, HasSubstr("\"row\":41,\"column\":\"income\""));
  EXPECT_THAT(lines, HasSubstr("\"reason\":\"the number lies beyond the "
                               "limits of the training rows, "));
}

TEST(removed_rows, are_the_same_beside_a_cache_and_a_prefetch) {
  temporary_folder folder;
  nlohmann::json document = job_that_removes(folder);
  const std::string lines = quarantine_in(*prepared_of(document, folder));
  auto& graph = document["data"]["graph"];
  const nlohmann::json kept{{"op", "cache"}, {"as", "kept"}};
  const nlohmann::json ahead{{"op", "prefetch"}, {"as", "ahead"}};
  graph.insert(graph.begin() + 2, kept);
  graph.insert(graph.begin() + 3, ahead);
  graph[4]["from"] = "ahead";
  for (int i = 0; i < 2; ++i) {
    document["seed"] = i + 1; // of the second the cache has the node's rows
    const auto set = prepared_of(document, folder);
    EXPECT_EQ(set->about().rejected->removed.at("checked"), 2u);
    const std::string found = quarantine_in(*set);
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'),
              std::count(lines.begin(), lines.end(), '\n'));
  }
}

TEST(removed_rows, are_only_counted_if_bad_rows_are_skipped) {
  temporary_folder folder;
  nlohmann::json document = job_that_removes(folder);
  document["data"]["on_error"] = "skip";
  const auto set = prepared_of(document, folder);
  EXPECT_EQ(set->about().rejected->kept, 0u);
  EXPECT_EQ(set->about().rejected->removed.at("checked"), 2u);
  EXPECT_FALSE(std::filesystem::exists(set->folder() / quarantine_name));
}

TEST(removed_rows, all_of_them_are_an_error_at_the_node) {
  temporary_folder folder;
  nlohmann::json document = job_that_removes(folder);
  document["data"]["graph"][1]["rules"]["age"] = {{"max", 1}};
  try {
    prepared_of(document, folder);
    FAIL() << "nothing is left";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/data/graph/3: \"impute\" has no rows "
                                        "to learn from"));
  }
}

} // namespace
} // namespace ballast::data
