// Goal: a set of a graph is prepared as that of any source: the same rows give
// the same chunks, what decides its rows decides its key, and each row is
// traced to its file.
#include "data/prepared/prepared_set.hpp"
#include "data/source/table_survey.hpp"
#include "data/store/chunk.hpp"
#include "tests/data/source/stream_tester.hpp"
#include "tests/data/source_builders.hpp"
#include "tests/runtime/ledger/expanded.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class graph_sets : public testing::Test {
protected:
  void SetUp() override {
    std::string text = "x,y,z\n";
    for (int i = 0; i < 60; ++i)
      text += std::to_string(i) + "," + std::to_string(i % 3) + "," +
              std::to_string(i * 0.5) + "\n";
    std::ofstream(folder_ / "a.csv") << text;
    std::ofstream(folder_ / "b.csv") << "x,y,z\n100,0,1\n101,1,2\n102,2,3\n";
  }

  job job_of(json data) const {
    data["chunk_rows"] = 7;
    const json document{{"data", std::move(data)},
                        {"model", {{"kind", "mlp"}}}};
    const job_result read =
        parse_job(document.dump(), {}, folder_.path().string());
    EXPECT_TRUE(read.value)
        << (read.mistakes.empty() ? "" : read.mistakes[0].message);
    return *read.value;
  }
  job graph_job(const std::string& nodes, json train,
                std::optional<json> test = std::nullopt) const {
    json data{{"sources",
               {{"a", {{"format", "csv"}, {"uri", "a.csv"}}},
                {"b", {{"format", "csv"}, {"uri", "b.csv"}}}}},
              {"graph", json::parse(nodes)},
              {"train", std::move(train)}};
    if (test)
      data["test"] = *test;
    return job_of(std::move(data));
  }
  std::shared_ptr<prepared_set> made(const job& what) const {
    return prepare(what, folder_ / "cache");
  }
  static std::vector<std::string>
  checksums(const std::vector<ledger::chunk_info>& chunks) {
    std::vector<std::string> out;
    for (const ledger::chunk_info& one : chunks)
      out.push_back(one.checksum);
    return out;
  }

  temporary_folder folder_;
};

TEST_F(graph_sets, have_the_chunks_of_the_same_rows) {
  const auto plain = made(job_of({{"train",
                                   {{"format", "csv"},
                                    {"uri", "a.csv"},
                                    {"label", "y"},
                                    {"where", "x >= 10"}}}}));
  const auto graph = made(graph_job(
      R"([{"op": "filter", "from": "a", "where": "x >= 10", "as": "some"}])",
      {{"from", "some"}, {"label", "y"}}));
  EXPECT_EQ(checksums(graph->about().train), checksums(plain->about().train));
  EXPECT_EQ(checksums(graph->about().test), checksums(plain->about().test));
  EXPECT_EQ(graph->about().train[0].source_rows,
            plain->about().train[0].source_rows);
  EXPECT_EQ(graph->about().sources, plain->about().sources);
}

TEST_F(graph_sets, are_found_again_and_made_again_if_a_node_changes) {
  const auto set = [this](const std::string& where) {
    return made(graph_job(R"([{"op": "filter", "from": "a", "where": ")" +
                              where + R"(", "as": "some"}])",
                          {{"from", "some"}, {"label", "y"}}))
        ->folder();
  };
  EXPECT_EQ(set("x > 3"), set("x > 3"));
  EXPECT_NE(set("x > 3"), set("x > 4"));
}

TEST_F(graph_sets, change_with_a_file_that_they_read_and_with_no_other) {
  const job what =
      graph_job(R"([{"op": "limit", "from": "a", "rows": 30, "as": "some"}])",
                {{"from", "some"}, {"label", "y"}});
  const fs::path before = made(what)->folder();
  std::ofstream(folder_ / "b.csv", std::ios::app) << "103,0,4\n";
  EXPECT_EQ(made(what)->folder(), before);
  std::ofstream(folder_ / "a.csv", std::ios::app) << "103,0,4\n";
  EXPECT_NE(made(what)->folder(), before);
}

TEST_F(graph_sets, trace_each_row_to_its_source) {
  const auto set = made(graph_job(
      R"([{"op": "concat", "from": ["b", "a"], "as": "all"}])",
      {{"from", "all"}, {"label", "y"}}, json{{"from", "b"}, {"label", "y"}}));
  const ledger::manifest& about = set->about();
  EXPECT_EQ(about.train_rows, 63u);
  EXPECT_EQ(about.test_rows, 3u);
  // Sources count in the order of their names: a, then b.
  constexpr uint64_t b = uint64_t{1} << 48;
  EXPECT_EQ(about.train[0].source_rows,
            (std::vector<ledger::id_run>{{b, 3}, {0, 4}}));
  EXPECT_EQ(about.test[0].source_rows, (std::vector<ledger::id_run>{{b, 3}}));
}

TEST_F(graph_sets, take_both_parts_of_a_split) {
  const auto set = made(graph_job(
      R"([{"op": "split", "from": "a", "fractions": [0.8, 0.2],
           "as": ["train", "test"]}])",
      {{"from", "train"}, {"label", "y"}},
      json{{"from", "test"}, {"label", "y"}}));
  EXPECT_EQ(set->about().train_rows, 48u);
  EXPECT_EQ(set->about().test_rows, 12u);
}

TEST_F(graph_sets, of_another_seed_have_other_rows_if_a_node_draws) {
  const auto ids = [this](uint64_t seed) {
    job what = graph_job(
        R"([{"op": "split", "from": "a", "fractions": [0.5, 0.5],
             "as": ["train", "test"]}])",
        {{"from", "train"}, {"label", "y"}},
        json{{"from", "test"}, {"label", "y"}});
    what.seed = seed;
    return made(what)->about().train[0].source_rows;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
}

TEST_F(graph_sets, of_another_placement_keep_their_origins) {
  const auto plan = [this](placement_kind kind, const std::string& cache) {
    job what =
        graph_job(R"([{"op": "concat", "from": ["b", "a"], "as": "all"}])",
                  {{"from", "all"}, {"label", "y"}});
    what.data.placement.kind = kind;
    const auto set = prepare(what, folder_ / cache);
    std::vector<std::vector<ledger::id_run>> out;
    for (const ledger::chunk_info& one : set->about().train)
      out.push_back(one.source_rows);
    return std::pair(out, checksums(set->about().train));
  };
  plan(placement_kind::contiguous, "cache");
  EXPECT_EQ(plan(placement_kind::stratified, "cache"),
            plan(placement_kind::stratified, "another"));
}

TEST_F(graph_sets, refuse_a_label_with_its_file_and_row) {
  std::ofstream(folder_ / "b.csv") << "x,y,z\n100,0,1\n101,-1,2\n";
  const job what =
      graph_job(R"([{"op": "concat", "from": ["a", "b"], "as": "all"}])",
                {{"from", "all"}, {"label", "y"}});
  try {
    made(what);
    ADD_FAILURE() << "was taken";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("b.csv: row 2, column 'y'"));
  }
}

TEST_F(graph_sets, count_test_rows_of_which_the_model_saw_the_source_row) {
  const auto made_of = [this](const std::string& first,
                              std::vector<std::string>& told) {
    return prepare(
        graph_job("[" + first + R"({"op": "split", "fractions": [0.5, 0.5],
                                     "as": ["train", "test"]}])",
                  {{"from", "train"}, {"label", "y"}},
                  json{{"from", "test"}, {"label", "y"}}),
        folder_ / "cache",
        {.warn = [&](const std::string& line) { told.push_back(line); }});
  };
  std::vector<std::string> told;
  const auto twice =
      made_of(R"({"op": "repeat", "from": "a", "times": 20},)", told);
  EXPECT_GT(twice->about().test_rows_trained_on, 300u);
  EXPECT_THAT(told, testing::Contains(testing::HasSubstr(
                        "test rows come from rows of the sources that are in "
                        "the training set, too")));
  told.clear();
  const auto once = made_of(R"({"op": "shuffle", "from": "a"},)", told);
  EXPECT_EQ(once->about().test_rows_trained_on, 0u);
  EXPECT_THAT(told, testing::Not(testing::Contains(
                        testing::HasSubstr("training set, too"))));
}

TEST_F(graph_sets, count_the_rows_that_they_share_without_a_test_set_too) {
  const auto set = made(
      graph_job(R"([{"op": "repeat", "from": "a", "times": 20, "as": "all"}])",
                {{"from", "all"}, {"label", "y"}}));
  EXPECT_EQ(set->about().test_rows_trained_on, set->about().test_rows);
}

TEST_F(graph_sets, are_not_made_while_a_node_that_nobody_reads_is_wrong) {
  const job what = graph_job(
      R"([{"op": "limit", "from": "a", "rows": 30, "as": "some"},
          {"op": "select", "from": "b", "columns": ["xx"], "as": "unused"}])",
      {{"from", "some"}, {"label", "y"}});
  try {
    made(what);
    ADD_FAILURE() << "was taken";
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().pointer, "/data/graph/1/columns");
  }
}

TEST_F(graph_sets, do_not_change_with_a_node_in_front_that_draws_nothing) {
  const auto set = [this](const std::string& front) {
    return made(graph_job("[" + front + R"({"op": "shuffle", "from": "a",
                                             "as": "some"}])",
                          {{"from", "some"}, {"label", "y"}}))
        ->folder();
  };
  EXPECT_EQ(set(""), set(R"({"op": "limit", "from": "b", "rows": 1},)"));
}

TEST_F(graph_sets, that_are_empty_are_told_by_the_node_where_rows_end) {
  const auto refusal = [this](const std::string& nodes) {
    return refusal_of([&] {
      made(graph_job(nodes, {{"from", "out"}, {"label", "y"}}));
    });
  };
  EXPECT_THAT(
      refusal(R"([{"op": "filter", "from": "a", "where": "x > 7", "as": "f"},
                  {"op": "filter", "where": "x > 1000", "as": "none"},
                  {"op": "derive", "columns": {"w": "x + 1"}, "as": "out"}])"),
      testing::HasSubstr(
          "/data/graph/1: filter 'none' gives no rows, 52 came in"));
  EXPECT_THAT(
      refusal(R"([{"op": "filter", "from": "b", "where": "x < 0", "as": "none"},
                  {"op": "join", "from": ["a", "none"], "on": "x",
                   "as": "out"}])"),
      testing::HasSubstr(
          "/data/graph/0: filter 'none' gives no rows, 3 came in"));
  EXPECT_THAT(
      refusal(R"([{"op": "join", "from": ["a", "b"], "on": "x", "as": "out",
                   "suffix": "_b"}])"),
      testing::HasSubstr(
          "/data/graph/0: join 'out' gives no rows, 63 came in"));
}

TEST_F(graph_sets,
       that_are_empty_are_told_once_of_an_input_that_is_read_twice) {
  EXPECT_THAT(refusal_of([this] {
                made(graph_job(R"([{"op": "distinct", "from": ["b", "b"],
                                    "as": "out"}])",
                               {{"from", "out"}, {"label", "y"}}));
              }),
              testing::HasSubstr(
                  "/data/graph/0: distinct 'out' gives no rows, 6 came in"));
}

TEST_F(graph_sets, that_are_empty_are_told_by_a_survey_as_by_a_run) {
  const job what = graph_job(
      R"([{"op": "filter", "from": "b", "where": "x < 0", "as": "out"}])",
      {{"from", "out"}, {"label", "y"}});
  EXPECT_THAT(
      refusal_of([&] { survey(what.data.train, {.data = &what.data}); }),
      testing::HasSubstr(
          "/data/graph/0: filter 'out' gives no rows, 3 came in"));
}

TEST_F(graph_sets, of_which_all_test_rows_are_wrong_say_so) {
  std::ofstream(folder_ / "c.csv") << "x,y,z\n1,?,1\n2,?,2\n";
  json data{{"train", {{"format", "csv"}, {"uri", "a.csv"}, {"label", "y"}}},
            {"test", {{"format", "csv"}, {"uri", "c.csv"}, {"label", "y"}}},
            {"on_error", "skip"},
            {"errors_max", 0.5}};
  EXPECT_THAT(
      refusal_of([&] { made(job_of(data)); }),
      testing::AllOf(testing::HasSubstr("/data/test: no row of "),
                     testing::HasSubstr("c.csv is left: 2 are left out because "
                                        "something is wrong with them"),
                     testing::Not(testing::HasSubstr("where"))));
}

} // namespace
} // namespace ballast::data
