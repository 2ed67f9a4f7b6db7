/// What the tests of graphs share: two small CSV files, jobs over them as users
/// write them, and the rows of a node as text.
#pragma once

#include "data/graph/graph_stream.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::data {

class graph_rows : public testing::Test {
protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("graph-" +
         std::string(
             testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
    write("people.csv", "name,age,city\nann,31,oslo\nbob,17,rome\n"
                        "cat,45,oslo\ndan,,rome\n");
    write("more.csv", "city,name,age\nbonn,eve,22.5\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }

  /// With the sources `people` and `more`, and these nodes.
  job with(const std::string& nodes, const std::string& from = "out") const {
    const auto csv = [this](const char* name) {
      return nlohmann::json{{"format", "csv"},
                            {"uri", (folder_ / name).string()}};
    };
    const nlohmann::json document{
        {"data",
         {{"sources",
           {{"people", csv("people.csv")}, {"more", csv("more.csv")}}},
          {"graph", nlohmann::json::parse(nodes)},
          {"train", {{"from", from}, {"label", "y"}}}}},
        {"model", {{"kind", "mlp"}}}};
    const job_result read = parse_job(document.dump(), {}, "/");
    EXPECT_TRUE(read.value)
        << (read.mistakes.empty() ? "" : read.mistakes[0].message);
    return *read.value;
  }

  /// All columns but the origin.
  static std::vector<std::string> rows_of(const job& what,
                                          const std::string& from = "out",
                                          std::vector<int> columns = {}) {
    graph_stream rows(what.data, from, {.seed = what.seed});
    if (columns.empty())
      for (int i = 0; i + 1 < rows.schema()->num_fields(); ++i)
        columns.push_back(i);
    rows.choose(columns);
    return data::rows_of(rows);
  }
  std::vector<std::string> rows(const std::string& nodes) const {
    return rows_of(with(nodes));
  }
  std::string refusal(const std::string& nodes,
                      errc code = errc::invalid_data) const {
    const job what = with(nodes);
    return refusal_of([&] { graph_stream(what.data, "out", {.seed = 1}); },
                      code);
  }

  std::filesystem::path folder_;
};

} // namespace ballast::data
