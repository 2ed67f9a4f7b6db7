// Goal: what is written as a file of any format is read again as it was, and no
// failure leaves half of it. Method: a CSV file, written and read by turns.
#include "data/sink/node_files.hpp"

#include "data/sink/record_writer.hpp"
#include "data/sink/source_versions.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/source/stream_tester.hpp"

#include "data/graph/graph_stream.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class node_files : public testing::Test {
protected:
  void SetUp() override {
    std::ofstream(folder_ / "in.csv")
        << "name,age,city\nann,31.5,oslo\n\"b, \"\"ob\",17,rome\ncat,,oslo\n";
  }

  job of(const std::string& name) const {
    const std::string end = name.substr(name.rfind('.') + 1);
    const json document{
        {"data",
         {{"sources",
           {{"in", {{"format", end}, {"uri", (folder_ / name).string()}}}}},
          {"graph",
           {{{"op", "split"},
             {"from", "in"},
             {"fractions", {0.5, 0.5}},
             {"as", {"a", "b"}}}}},
          {"train", {{"from", "in"}, {"label", "age"}}}}},
        {"model", {{"kind", "mlp"}}}};
    return *parse_job(document.dump(), {}, "/").value;
  }
  std::string file(const std::string& name) const {
    return (folder_ / name).string();
  }
  std::vector<std::string> rows(const std::string& name) const {
    const job what = of(name);
    graph_stream from(what.data, "in", {});
    from.choose({0, 1, 2});
    return rows_of(from);
  }
  size_t files() const {
    return size_t(std::distance(fs::directory_iterator(folder_.path()),
                                fs::directory_iterator()));
  }

  temporary_folder folder_;
};

TEST_F(node_files, are_read_again_as_they_were_in_any_format) {
  std::string before = "in.csv";
  const auto expected = rows(before);
  ASSERT_EQ(expected.size(), 3u);
  for (const std::string after :
       {"1.parquet", "2.arrow", "3.orc", "4.jsonl", "5.csv"}) {
    const auto written = write_nodes(of(before), {"in"}, {file(after)});
    ASSERT_EQ(written.size(), 1u);
    EXPECT_EQ(written[0].rows, 3u);
    EXPECT_EQ(rows(after), expected) << after;
    before = after;
  }
}

TEST_F(node_files, are_not_written_over_others) {
  EXPECT_THAT(
      refusal_of([&] { write_nodes(of("in.csv"), {"in"}, {file("in.csv")}); },
                 errc::usage),
      has_all({"in.csv: is there; remove it, or name another file"}));
  EXPECT_EQ(rows("in.csv").size(), 3u);
}

TEST_F(node_files, appear_all_or_not_at_all) {
  std::ofstream(folder_ / "in.csv", std::ios::app) << "dan,x\n";
  EXPECT_THAT(
      refusal_of([&] { write_nodes(of("in.csv"), {"in"}, {file("out.csv")}); }),
      has_all({"in.csv: row 4"}));
  EXPECT_EQ(files(), 1u);
  EXPECT_THAT(refusal_of(
                  [&] {
                    write_nodes(of("in.csv"), {"a", "b"},
                                {file("a.csv"), file("b.txt")});
                  },
                  errc::usage),
              has_all({"b.txt: expected a file whose name ends in .csv"}));
  EXPECT_EQ(files(), 1u);
}

TEST_F(node_files, of_a_partition_are_a_folder_for_each_value) {
  const auto written =
      partition_node(of("in.csv"), "in", {file("parts"), "csv", 0, "city"});
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].path, folder_ / "parts/city=oslo/part-0.csv");
  EXPECT_EQ(written[0].rows, 2u);
  EXPECT_EQ(written[1].path, folder_ / "parts/city=rome/part-0.csv");
  EXPECT_THAT(
      refusal_of(
          [&] {
            partition_node(of("in.csv"), "in", {file("parts"), "csv", 2, ""});
          },
          errc::usage),
      has_all({"parts: is there"}));
}

TEST_F(node_files, of_a_partition_into_n_take_rows_in_turn) {
  const auto written =
      partition_node(of("in.csv"), "in", {file("parts"), "jsonl", 2, ""});
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].rows, 2u);
  EXPECT_EQ(written[1].rows, 1u);
  EXPECT_EQ(written[1].path.filename(), "part-00001.jsonl");
}

TEST_F(node_files, are_not_written_of_a_source_that_changes_meanwhile) {
  const job what = of("in.csv");
  const source_versions sources(what.data, {"a", "in"}, {});
  EXPECT_NO_THROW(sources.check_unchanged());
  std::ofstream(folder_ / "in.csv", std::ios::app) << "dan,1,rome\n";
  EXPECT_THAT(refusal_of([&] { sources.check_unchanged(); }),
              has_all({"in.csv: changed while it was read"}));
}

TEST_F(node_files, of_a_source_that_changes_meanwhile_name_that_before_damage) {
  const job what = of("in.csv");
  const source_versions sources(what.data, {"a", "in"}, {});
  const auto damaged = [] {
    throw ballast_error(errc::invalid_data, "in.csv: is damaged");
  };
  EXPECT_THAT(refusal_of([&] { sources.check_after(damaged); }),
              has_all({"in.csv: is damaged"}));
  std::ofstream(folder_ / "in.csv", std::ios::app) << "dan,1,rome\n";
  EXPECT_THAT(refusal_of([&] { sources.check_after(damaged); }),
              has_all({"in.csv: changed while it was read"}));
}

TEST_F(node_files, of_several_are_all_taken_back_if_one_fails) {
  // What is there when the last one is published, but was not before.
  const job what = of("in.csv");
  EXPECT_THAT(
      refusal_of(
          [&] {
            write_nodes(what, {"a", "b"}, {file("a.csv"), file("no/b.csv")});
          },
          errc::run_dir_unusable),
      has_all({"no/b.csv"}));
  EXPECT_FALSE(fs::exists(file("a.csv")));
}

TEST_F(node_files, of_orc_have_unsigned_numbers_as_the_next_wider_type) {
  const auto schema = arrow::schema(
      {arrow::field("a", arrow::uint8()), arrow::field("b", arrow::uint16()),
       arrow::field("c", arrow::uint32()), arrow::field("d", arrow::uint64()),
       arrow::field("e", arrow::list(arrow::uint8()))});
  const auto write = [&](const std::string& name, const std::string& rows) {
    const auto to = open_writer(file(name), file(name), schema);
    to->write(batch_of(schema, rows));
    to->finish();
  };
  write("u.orc", R"([{"a":255,"b":65535,"c":4294967295,
                      "d":9223372036854775807,"e":[255]},
                     {"a":null,"b":0,"c":0,"d":0,"e":null}])");
  const job what = of("u.orc");
  graph_stream from(what.data, "in", {});
  const auto read = from.choose_all();
  EXPECT_EQ(read->field(0)->type()->ToString(), "int16");
  EXPECT_EQ(read->field(1)->type()->ToString(), "int32");
  EXPECT_EQ(read->field(2)->type()->ToString(), "int64");
  EXPECT_EQ(read->field(3)->type()->ToString(), "int64");
  EXPECT_THAT(rows_of(from),
              testing::ElementsAre(testing::StartsWith("255 65535 4294967295 "
                                                       "9223372036854775807 "),
                                   "null 0 0 0 null"));
  EXPECT_THAT(refusal_of([&] {
                write("v.orc", R"([{"a":0,"b":0,"c":0,"d":9223372036854775808,
                            "e":[]}])");
              }),
              has_all({"cannot write ",
                       "v.orc: column 'd' has a number above "
                       "9223372036854775807",
                       "\"cast\""}));
}

TEST_F(node_files, without_rows_say_which_node_left_none) {
  job what = of("in.csv");
  graph::node none;
  none.what = graph::op::filter;
  none.from = {"in"};
  none.as = {"none"};
  graph::option_of(none, "where") = std::string("age > 100");
  what.data.graph.push_back(none);
  std::vector<std::string> told;
  const auto written =
      write_nodes(what, {"none"}, {file("none.csv")}, {}, {},
                  [&](const std::string& note) { told.push_back(note); });
  EXPECT_EQ(written.at(0).rows, 0u);
  EXPECT_THAT(told,
              testing::ElementsAre(file("none.csv") +
                                   " has no rows: /data/graph/1: "
                                   "filter 'none' gives no rows, 3 came in"));
}

TEST_F(node_files, say_what_was_learned_once) {
  job what = of("in.csv");
  std::ofstream(folder_ / "in.csv") << "name,age,city\na,5,x\nb,5,y\nc,5,z\n";
  graph::node same;
  same.what = graph::op::standardize;
  same.from = {"in"};
  same.as = {"same"};
  graph::option_of(same, "columns") = std::vector<std::string>{"age"};
  what.data.graph.push_back(same);
  std::vector<std::string> told;
  write_nodes(what, {"same", "same"}, {file("1.csv"), file("2.csv")}, {}, {},
              [&](const std::string& note) { told.push_back(note); });
  EXPECT_THAT(told, testing::ElementsAre(testing::HasSubstr(
                        "column 'age' is the same in all training rows")));
}

TEST_F(node_files, of_a_type_that_the_format_lacks_leave_nothing) {
  job what = of("in.csv");
  std::ofstream(folder_ / "in.jsonl") << "{\"x\": [1, 2]}\n";
  what.data.sources["in"].format = source_format::jsonl;
  what.data.sources["in"].uri = file("in.jsonl");
  refusal_of([&] { write_nodes(what, {"in"}, {file("out.csv")}); },
             errc::invalid_data);
  for (const auto& one : fs::directory_iterator(folder_.path()))
    EXPECT_THAT(one.path().filename().string(), testing::StartsWith("in."));
}

} // namespace
} // namespace ballast::data
