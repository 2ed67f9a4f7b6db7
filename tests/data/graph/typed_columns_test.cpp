// Goal: a graph works with the columns of text files as those of any other: in
// conditions, in arithmetic, as keys, and over several files. Method: jobs as
// users write them, over small files; the rows as text.
#include "data/graph/graph_stream.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using nlohmann::json;
using strings = std::vector<std::string>;

class typed_columns : public testing::Test {
protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  strings rows(const std::string& nodes, const std::string& uri = "a.csv",
               const json& columns = json::object()) const {
    const auto source = [this](const std::string& name) {
      return json{{"format", name.substr(name.rfind('.') + 1)},
                  {"uri", (folder_ / name).string()}};
    };
    json document{{"data",
                   {{"sources", {{"a", source(uri)}, {"b", source("b.csv")}}},
                    {"graph", json::parse(nodes)},
                    {"train", {{"from", "out"}, {"label", "y"}}}}},
                  {"model", {{"kind", "mlp"}}}};
    document["data"]["sources"]["a"]["columns"] = columns;
    const job_result read = parse_job(document.dump(), {}, "/");
    EXPECT_TRUE(read.value)
        << (read.mistakes.empty() ? "" : read.mistakes[0].message);
    graph_stream from(read.value->data, "out", {});
    from.choose_all();
    return rows_of(from);
  }

  temporary_folder folder_;
};

TEST_F(typed_columns, of_whole_numbers_meet_fractions_in_conditions) {
  write("a.csv", "id,n\n9007199254740993,17\n9007199254740992,18\n");
  write("b.csv", "x\n1\n");
  const auto where = [&](const std::string& condition) {
    return rows(R"([{"op": "filter", "from": "a", "as": "out", "where": ")" +
                condition + R"("}])")
        .size();
  };
  EXPECT_EQ(where("n > 17.5"), 1u);
  EXPECT_EQ(where("id = 9007199254740993"), 1u);
  EXPECT_EQ(where("n * 0.5 = 9"), 1u);
  EXPECT_EQ(where("n / 4 = 4.25"), 1u);
  EXPECT_EQ(where("n % 2 = 1"), 1u);
  EXPECT_EQ(where("n in (17, 18.0)"), 2u);
  EXPECT_EQ(where("abs(n - 20.5) > 3"), 1u);
  EXPECT_EQ(where("round(n / 10) = 2"), 2u);
  EXPECT_EQ(where("n between 17.5 and 20"), 1u);
}

TEST_F(typed_columns, that_overflow_name_the_row) {
  write("a.csv", "n\n1\n9223372036854775807\n");
  write("b.csv", "x\n1\n");
  EXPECT_THAT(refusal_of([&] {
                rows(R"([{"op": "derive", "from": "a", "as": "out",
                          "columns": {"m": "n * 2"}}])");
              }),
              has_all({"a.csv: row 2", "cast("}));
}

TEST_F(typed_columns, are_keys_that_differ_in_their_last_digit) {
  write("a.csv", "id,zip\n9007199254740993,01\n9007199254740992,1\n");
  write("b.csv", "id,zip,v\n9007199254740992,1,x\n9007199254740993,01,y\n");
  EXPECT_EQ(rows(R"([{"op": "join", "from": ["a", "b"], "as": "out",
                      "on": ["id", "zip"]}])"),
            (strings{"9007199254740993 01 y", "9007199254740992 1 x"}));
}

TEST_F(typed_columns, of_several_files_are_those_of_the_first) {
  write("p-1.csv", "n,zip\n1,01\n");
  write("p-2.csv", "zip,n\n7,2\n");
  write("b.csv", "x\n1\n");
  const std::string all = R"([{"op": "limit", "from": "a", "rows": 99,
                               "as": "out"}])";
  EXPECT_EQ(rows(all, "p-*.csv"), (strings{"1 01", "2 7"}));
  write("p-3.csv", "n,zip\n1,1\n2.5,1\n");
  EXPECT_THAT(refusal_of([&] { rows(all, "p-*.csv"); }),
              has_all({"p-3.csv: row 2 (line 3), column 'n'",
                       R"(put "columns": {"n":"float64"} into )"
                       "/data/sources/a"}));
  EXPECT_EQ(rows(all, "p-*.csv", {{"n", "float64"}}).size(), 4u);
}

} // namespace
} // namespace ballast::data
