// Goal: nodes that learn do so from their first input alone, once, whatever
// reads them; their rows are those of the graph. Method: jobs as users write
// them, over small files.
#include "data/fitting/apply_states.hpp"
#include "data/fitting/fitted_states.hpp"
#include "data/fitting/state_files.hpp"
#include "tests/data/graph/graph_rows.hpp"

namespace ballast::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class fitted_graph : public graph_rows {
protected:
  void SetUp() override {
    graph_rows::SetUp();
    write("people.csv", "x,t,y\n1,a,0\n3,b,1\n,a,0\n5,b,1\n");
    write("more.csv", "x,t,y\n100,c,0\n");
  }
  /// Without a test set, of which nodes might learn.
  job with(const std::string& nodes, const std::string& from = "out") const {
    nlohmann::json document{{"data",
                             {{"sources", nlohmann::json::object()},
                              {"graph", nlohmann::json::parse(nodes)},
                              {"test_fraction", 0},
                              {"train", {{"from", from}, {"label", "y"}}}}},
                            {"model", {{"kind", "mlp"}}}};
    for (const char* name : {"people", "more"})
      document["data"]["sources"][name] = {
          {"format", "csv"},
          {"uri", (folder_ / (std::string(name) + ".csv")).string()}};
    const job_result read = parse_job(document.dump(), {}, "/");
    EXPECT_TRUE(read.value)
        << (read.mistakes.empty() ? "" : read.mistakes[0].message);
    return *read.value;
  }
  std::vector<std::string> some(const std::string& nodes,
                                const std::string& output = "out") const {
    return rows_of(with(nodes), output);
  }
  std::string refused_graph(const std::string& nodes) const {
    const job what = with(nodes);
    return refusal_of([&] { graph_stream(what.data, "out", {.seed = 1}); });
  }
};

TEST_F(fitted_graph, learns_from_the_first_input_and_changes_all) {
  const std::string nodes = R"([
    {"op": "impute", "from": ["people", "more"], "as": ["a", "b"],
     "columns": "x"},
    {"op": "min_max", "from": ["a", "b"], "as": ["out", "other"],
     "columns": "x"}])";
  EXPECT_THAT(some(nodes, "out"),
              ElementsAre("0 a 0", "0.5 b 1", "0.5 a 0", "1 b 1"));
  EXPECT_THAT(some(nodes, "other"), ElementsAre("24.75 c 0"));
}

TEST_F(fitted_graph, learns_behind_a_split_from_one_part_alone) {
  std::string rows = "x\n";
  for (int i = 0; i < 1000; ++i)
    rows += std::to_string(i) + "\n";
  write("people.csv", rows);
  const std::string nodes = R"([
    {"op": "split", "from": "people", "fractions": [0.5, 0.5],
     "as": ["train", "test"]},
    {"op": "standardize", "from": ["train", "test"], "as": ["out", "other"],
     "columns": "x"}])";
  const auto values = [&](const std::string& output) {
    std::vector<double> out;
    for (const std::string& row : some(nodes, output))
      out.push_back(std::stod(row));
    return out;
  };
  const auto mean = [](const std::vector<double>& all) {
    double sum = 0;
    for (double one : all)
      sum += one;
    return sum / double(all.size());
  };
  EXPECT_EQ(values("out").size(), 500u);
  EXPECT_NEAR(mean(values("out")), 0, 1e-12);
  EXPECT_GT(std::abs(mean(values("other"))), 1e-6)
      << "its mean is that of the other part";
}

TEST_F(fitted_graph, fits_a_node_once_for_all_outputs) {
  const job what = with(R"([
    {"op": "min_max", "from": ["people", "more"], "as": ["out", "other"],
     "columns": "y"}])");
  const auto states = std::make_shared<fitted_states>();
  graph_stream first(what.data, "out", {.seed = 1, .fitted = states});
  const auto state = states->find(0);
  ASSERT_NE(state, nullptr);
  graph_stream second(what.data, "other", {.seed = 1, .fitted = states});
  EXPECT_EQ(states->find(0), state);
  EXPECT_EQ(states->all().size(), 1u);
}

TEST_F(fitted_graph, has_columns_whose_names_are_learned) {
  const std::string nodes = R"([
    {"op": "impute", "from": "people", "columns": "x"},
    {"op": "one_hot", "columns": "t"},
    {"op": "select", "columns": ["t_b", "x"], "as": "out"}])";
  EXPECT_THAT(some(nodes), ElementsAre("0 1", "1 3", "0 3", "1 5"));
  const auto schemas = schemas_of_nodes(with(nodes).data);
  EXPECT_NE(schemas[0], nullptr);
  EXPECT_EQ(schemas[1], nullptr) << "before a row is read";
  EXPECT_EQ(schemas[2], nullptr);
}

TEST_F(fitted_graph, gives_only_the_columns_that_are_wanted) {
  const job what = with(R"([
    {"op": "impute", "from": "people", "columns": "x", "indicator": true,
     "as": "out"}])");
  EXPECT_THAT(rows_of(what, "out", {3, 2}),
              ElementsAre("0 0", "0 1", "1 0", "0 1"));
}

TEST_F(fitted_graph, names_file_and_row_of_what_it_cannot_take) {
  EXPECT_THAT(refused_graph(R"([{"op": "standardize", "from": "people",
                           "columns": "x", "as": "out"}])"),
              HasSubstr("people.csv: row 3, column 'x': the value is missing"));
  EXPECT_THAT(refused_graph(R"([{"op": "standardize", "from": "people",
                           "columns": "z", "as": "out"}])"),
              HasSubstr("/data/graph/0/columns: there is no column 'z'"));
}

TEST_F(fitted_graph, checks_columns_before_a_row_is_read) {
  const job what = with(R"([{"op": "robust", "from": "people", "columns": "t",
                             "as": "out"}])");
  EXPECT_THAT(refusal_of([&] { schemas_of_nodes(what.data); }),
              HasSubstr("'t' has the type string; \"robust\" needs numbers"));
  const job two = with(R"([
    {"op": "rename", "from": "more", "columns": {"x": "z"}, "as": "b"},
    {"op": "robust", "from": ["people", "b"], "columns": "x",
     "as": ["out", "c"]}])");
  EXPECT_THAT(refusal_of([&] { schemas_of_nodes(two.data); }),
              HasSubstr("/data/graph/1: there is no column 'x' (int64)"));
}

TEST_F(fitted_graph, reads_a_node_behind_a_join_for_both_of_its_passes) {
  const std::string nodes = R"([
    {"op": "join", "from": ["people", "people"], "on": "t", "as": "both"},
    {"op": "impute", "columns": ["x", "x_right"]},
    {"op": "min_max", "columns": ["x", "x_right"]},
    {"op": "select", "columns": ["x", "x_right"], "as": "out"}])";
  EXPECT_EQ(some(nodes).size(), 8u);
}

TEST_F(fitted_graph, applies_its_states_to_a_file_as_to_its_own_rows) {
  const job what = with(R"([
    {"op": "impute", "from": ["people", "more"], "as": ["a", "b"],
     "columns": "x"},
    {"op": "min_max", "from": ["a", "b"], "as": ["c", "d"], "columns": "x"},
    {"op": "one_hot", "from": ["c", "d"], "columns": "t", "unseen": "other",
     "as": ["out", "other"]}])");
  const auto states = std::make_shared<fitted_states>();
  graph_stream rows(what.data, "other", {.seed = 1, .fitted = states});
  rows.choose_all();
  write_states(folder_ / "states", states->all());
  const std::string out = (folder_ / "applied.csv").string();
  job other = with("[]", "more");
  other.data.sources.erase("people");
  const applied_rows applied =
      apply_states(other, {(folder_ / "states").string(), "more", out});
  EXPECT_EQ(applied.rows, 1u);
  EXPECT_EQ(applied.states, describe(states->all()));
  std::ifstream in(out);
  std::string header;
  std::string row;
  std::getline(in, header);
  std::getline(in, row);
  EXPECT_EQ(header, R"("x","t_a","t_b","t_other","y")");
  EXPECT_EQ(row, "24.75,0,0,1,0");
}

TEST_F(fitted_graph, applied_to_a_file_without_a_column_names_the_file) {
  const job what = with(R"([
    {"op": "impute", "from": "people", "columns": "x", "as": "out"}])");
  const auto states = std::make_shared<fitted_states>();
  graph_stream rows(what.data, "out", {.seed = 1, .fitted = states});
  rows.choose_all();
  write_states(folder_ / "states", states->all());
  write("more.csv", "z,t,y\n100,c,0\n");
  job other = with("[]", "more");
  other.data.sources.erase("people");
  EXPECT_THAT(refusal_of([&] {
                apply_states(other, {(folder_ / "states").string(), "more",
                                     (folder_ / "out.csv").string()});
              }),
              HasSubstr("more.csv: impute (out): there is no column 'x' "));
}

TEST_F(fitted_graph, says_what_was_left_out_once_however_often_rows_pass) {
  const job what = with(R"([
    {"op": "impute", "from": "people", "columns": "x", "strategy": "drop"},
    {"op": "standardize", "columns": "x"},
    {"op": "standardize", "columns": "x"},
    {"op": "standardize", "columns": "x", "as": "out"}])");
  const auto states = std::make_shared<fitted_states>();
  graph_stream rows(what.data, "out", {.seed = 1, .fitted = states});
  rows.choose_all();
  while (rows.next() != nullptr) {
  }
  EXPECT_THAT(states->notes(),
              ElementsAre(HasSubstr("\"impute\" left out 1 of 4 rows")));
}

TEST_F(fitted_graph, does_not_mind_which_offsets_texts_have) {
  const job what = with(R"([
    {"op": "impute", "from": "people", "as": "a", "columns": "t",
     "strategy": "mode"},
    {"op": "one_hot", "columns": "t", "unseen": "other", "as": "out"}])");
  const auto states = std::make_shared<fitted_states>();
  graph_stream rows(what.data, "out", {.seed = 1, .fitted = states});
  rows.choose_all();
  std::vector<std::shared_ptr<const fitted_state>> wide;
  for (const auto& one : states->all()) {
    auto other = std::make_shared<fitted_state>(*one);
    other->columns.at(0).type = "large_string"; // as from Parquet of pandas 3
    wide.push_back(other);
  }
  write_states(folder_ / "states", states->all());
  write_states(folder_ / "wide", wide);
  job other = with("[]", "more");
  other.data.sources.erase("people");
  for (const char* which : {"states", "wide"})
    apply_states(other, {(folder_ / which).string(), "more",
                         (folder_ / which).string() + ".csv"});
  const auto content = [&](const std::string& name) {
    std::ifstream in(folder_ / name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(content("states.csv"), content("wide.csv"));
  EXPECT_THAT(content("wide.csv"), HasSubstr("t_other"));
}

} // namespace
} // namespace ballast::data
