// Goal: a file is resampled into one with the same columns and types, and what
// cannot be resampled is refused with column, row or class. Method: small CSV
// files, written and read again.
#include "data/resampling/resampled_file.hpp"

#include "data/graph/graph_stream.hpp"
#include "tests/data/resampling/some_rows.hpp"
#include "tests/data/some_chunks.hpp"

#include <arrow/api.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class resampled_file : public testing::Test {
protected:
  void write(const std::string& text) {
    std::ofstream(folder_ / "in.csv") << text;
  }
  /// 12 rows of "no", 3 of "yes"; whole numbers, numbers and a class.
  void write_rows() {
    std::string text = "count,size,bought\n";
    for (int i = 0; i < 15; ++i)
      text += std::to_string(i * 7 % 15) + "," + std::to_string(i) + ".25," +
              (i % 5 == 2 ? "yes" : "no") + "\n";
    write(text);
  }
  job of(const std::string& name) const {
    const json document{{"data",
                         {{"sources",
                           {{"in",
                             {{"format", name.substr(name.rfind('.') + 1)},
                              {"uri", (folder_ / name).string()}}}}},
                          {"graph", json::array()},
                          {"train", {{"from", "in"}, {"label", "in"}}}}},
                        {"model", {{"kind", "mlp"}}}};
    return *parse_job(document.dump(), {}, "/").value;
  }
  resampling_report run(const std::string& method,
                        const std::vector<std::string>& options = {},
                        bool with_source = false,
                        const std::string& label = "bought") {
    return resample_file(of("in.csv"),
                         {.node = "in",
                          .source = "in.csv",
                          .label = label,
                          .order = order_of(method, options),
                          .seed = 1,
                          .file = (folder_ / "out.parquet").string(),
                          .with_source = with_source},
                         {});
  }
  std::string refused(const std::string& method,
                      const std::string& label = "bought") {
    std::string out =
        refusal_of([&] { run(method, {}, false, label); }, errc::invalid_data);
    EXPECT_FALSE(fs::exists(folder_ / "out.parquet"));
    return out;
  }
  std::vector<std::string> rows() const {
    const job what = of("out.parquet");
    graph_stream from(what.data, "in", {});
    from.choose_all();
    return rows_of(from);
  }
  std::string schema() const {
    const job what = of("out.parquet");
    graph_stream from(what.data, "in", {});
    return from.choose_all()->ToString();
  }

  temporary_folder folder_;
};

TEST_F(resampled_file, has_the_columns_and_types_of_the_input) {
  write_rows();
  const resampling_report found = run("smote", {"k_neighbors=2"});
  EXPECT_EQ(found.rows, 24u);
  EXPECT_EQ(found.made, 9u);
  ASSERT_EQ(found.classes.size(), 2u);
  EXPECT_EQ(found.classes[0].name, "no");
  EXPECT_EQ(found.classes[1].name, "yes");
  EXPECT_EQ(found.classes[1].before, 3u);
  EXPECT_EQ(found.classes[1].after, 12u);
  EXPECT_EQ(rows().size(), 24u);
  const std::string types = schema();
  const job what = of("in.csv");
  graph_stream from(what.data, "in", {});
  EXPECT_EQ(types, from.choose_all()->ToString());
}

TEST_F(resampled_file, tells_the_row_that_each_row_was) {
  write_rows();
  run("smote", {"k_neighbors=2"}, true);
  const std::vector<std::string> all = rows();
  EXPECT_TRUE(all[0].ends_with(" 1")) << all[0];
  EXPECT_TRUE(all[14].ends_with(" 15")) << all[14];
  EXPECT_TRUE(all[20].ends_with(" null")) << all[20];
}

TEST_F(resampled_file, has_each_row_as_it_was_however_many_there_are) {
  constexpr int count = 70'000; // more than a batch
  std::string text = "number,word,y\n";
  for (int i = 0; i < count; ++i)
    text += std::to_string(i) + ",w" + std::to_string(i % 1000) + "," +
            (i % 10 == 3 ? "b" : "a") + "\n";
  write(text);
  for (const char* method : {"random_over", "random_under"}) {
    fs::remove(folder_ / "out.parquet");
    run(method, {}, true, "y");
    const std::vector<std::string> all = rows();
    EXPECT_GT(all.size(), size_t{count} / 10) << method;
    for (const std::string& row : all) {
      const int source = std::stoi(row.substr(row.rfind(' '))) - 1;
      ASSERT_EQ(row, std::to_string(source) + " w" +
                         std::to_string(source % 1000) +
                         (source % 10 == 3 ? " b " : " a ") +
                         std::to_string(source + 1))
          << method;
    }
  }
}

TEST_F(resampled_file, may_hold_texts_and_gaps_where_no_distance_counts) {
  write("city,y\noslo,0\n,0\nrome,0\nbern,1\n");
  EXPECT_EQ(run("random_over", {}, false, "y").rows, 6u);
}

TEST_F(resampled_file, is_refused_where_a_distance_has_no_meaning) {
  write("city,y\noslo,0\nrome,0\nbern,1\n");
  EXPECT_THAT(refused("tomek_links", "y"),
              has_all({"in.csv: column 'city' is of type string",
                       "expects numbers in all columns but the label"}));
  write("a,b,y\n1,2,0\n3,,0\n5,6,1\n");
  EXPECT_THAT(refused("tomek_links", "y"),
              has_all({"in.csv: row 2, column 'b': the value is missing"}));
  write("y\n0\n0\n1\n");
  EXPECT_THAT(refused("tomek_links", "y"),
              has_all({"in.csv: has no column beside the label"}));
}

TEST_F(resampled_file, is_refused_without_classes) {
  write("a,y\n1,0\n2,\n3,1\n");
  EXPECT_THAT(refused("random_under", "y"),
              has_all({"in.csv: row 2, column 'y': the label is missing"}));
  write("a,y\n1,0\n2,0\n");
  EXPECT_THAT(refused("smote", "y"),
              has_all({"column 'y' has one class, '0'; expected two or more"}));
}

TEST_F(resampled_file, takes_equal_numbers_as_one_class_and_nan_as_none) {
  write("a,y\n1,-0.0\n2,0.0\n3,1.5\n");
  const resampling_report found = run("random_over", {}, false, "y");
  ASSERT_EQ(found.classes.size(), 2u);
  EXPECT_EQ(found.classes[0].name, "0");
  EXPECT_EQ(found.classes[0].before, 2u);
  fs::remove(folder_ / "out.parquet");
  write("a,y\n1,0.5\n2,nan\n3,1.5\n");
  EXPECT_THAT(refused("random_over", "y"),
              has_all({"in.csv: row 2, column 'y': the label is NaN"}));
}

TEST_F(resampled_file, is_refused_rather_than_killed_for_its_memory) {
  const auto refused_size = [&](const std::string& rows,
                                errc code = errc::usage) {
    return refusal_of(
        [&] {
          run("random_over", {"sampling_strategy={\"yes\": " + rows + "}"});
        },
        code);
  };
  write_rows();
  EXPECT_THAT(refused_size("100000000000"),
              has_all({"sampling_strategy", "class 'yes'",
                       "expected fewer than 4 * 10^9"}));
  EXPECT_THAT(refused_size("9223372036854775807"), has_all({"4 * 10^9"}));
  ::setenv("BALLAST_MEMORY_MB", "8", 1);
  EXPECT_THAT(refused_size("3000000", errc::invalid_data),
              has_all({"random_over: 2999997 rows more take",
                       "this process may use 8 MB more"}));
  std::string text = "count,size,bought\n";
  for (int i = 0; i < 400; ++i)
    text += std::to_string(i) + "," + std::string(64 << 10, 'x') + ",no\n";
  write(text + "1,x,yes\n");
  EXPECT_THAT(refused("random_under"),
              has_all({"in.csv: resampling holds all rows in memory"}));
  ::unsetenv("BALLAST_MEMORY_MB");
}

TEST_F(resampled_file, names_the_nearest_column_if_the_label_is_not_there) {
  write_rows();
  EXPECT_THAT(refusal_of([&] { run("smote", {}, false, "bougth"); }),
              has_all({"bougth", "bought"}));
}

/// 30 rows of "no", 10 of "yes"; a number, a text, a flag and a whole number.
std::string mixed_text() {
  std::string out = "size,city,paid,kind,bought\n";
  for (int i = 0; i < 40; ++i)
    out += std::to_string(i * 7 % 40) + ".5," + (i % 3 == 0 ? "oslo" : "rome") +
           "," + (i % 5 < 2 ? "true" : "false") + "," +
           std::to_string(i % 2 + 10) + "," + (i % 4 == 1 ? "yes" : "no") +
           "\n";
  return out;
}

TEST_F(resampled_file, of_categories_has_values_that_were_there) {
  write(mixed_text());
  for (const std::string method : {"smotenc", "smoten"}) {
    const std::vector<std::string> options =
        method == "smotenc"
            ? std::vector<
                  std::
                      string>{R"(categorical_features=["city", "paid", "kind"])"}
            : std::vector<std::string>{};
    if (method == "smoten")
      write("city,kind,bought\n" + [] {
        std::string out;
        for (int i = 0; i < 40; ++i)
          out += std::string(i % 3 == 0 ? "oslo" : "rome") + "," +
                 std::to_string(i % 2 + 10) + "," +
                 (i % 4 == 1 ? "yes" : "no") + "\n";
        return out;
      }());
    const resampling_report found = run(method, options, true);
    EXPECT_EQ(found.rows, 60u) << method;
    EXPECT_EQ(found.made, 20u) << method;
    const std::vector<std::string> all = rows();
    for (size_t i = 40; i < all.size(); ++i) {
      EXPECT_THAT(all[i], testing::AnyOf(testing::HasSubstr("oslo"),
                                         testing::HasSubstr("rome")));
      EXPECT_THAT(all[i], testing::AnyOf(testing::HasSubstr(" 10 "),
                                         testing::HasSubstr(" 11 ")));
      EXPECT_TRUE(all[i].ends_with("yes null")) << all[i];
    }
    fs::remove(folder_ / "out.parquet");
  }
}

TEST_F(resampled_file, takes_text_and_flags_for_categories_by_themselves) {
  write(mixed_text());
  EXPECT_EQ(run("smotenc").made, 20u);
  const std::vector<std::string> all = rows();
  EXPECT_THAT(std::vector<std::string>(all.begin() + 40, all.end()),
              testing::Each(testing::AnyOf(testing::HasSubstr("oslo"),
                                           testing::HasSubstr("rome"))));
}

TEST_F(resampled_file, is_refused_where_categories_are_none) {
  const auto refused_with = [this](const std::string& option, errc code) {
    return refusal_of(
        [&] { run("smotenc", {"categorical_features=" + option}); }, code);
  };
  write(mixed_text());
  EXPECT_THAT(refused_with(R"(["citi"])", errc::usage),
              has_all({"--option categorical_features", "'citi'",
                       "did you mean", "city"}));
  EXPECT_THAT(refused_with(R"(["bought"])", errc::usage),
              has_all({"'bought' is the label"}));
  EXPECT_THAT(refused_with("city", errc::usage),
              has_all({"expected auto, or a list of columns", "found city"}));
  EXPECT_THAT(refused_with(R"(["size", "city", "paid"])", errc::invalid_data),
              has_all({"column 'size' is of type double", "as categories"}));
  EXPECT_THAT(refused_with(R"(["kind"])", errc::invalid_data),
              has_all({"column 'city' is of type string",
                       "expects numbers in all columns but the label"}));
  write("size,bought\n1,no\n2,no\n3,yes\n");
  EXPECT_THAT(refused("smotenc"), has_all({"no column of categories"}));
  write("city,bought\noslo,no\nrome,no\nbern,yes\n");
  EXPECT_THAT(refused("smotenc"),
              has_all({"no column of numbers", "take smoten"}));
  write("size,city,bought\n1,oslo,no\n2,,no\n3,rome,yes\n");
  EXPECT_THAT(refused("smotenc"),
              has_all({"in.csv: row 2, column 'city': the value is missing"}));
  write("size,city,bought\n1,oslo,no\nnan,bern,no\n3,rome,yes\n");
  EXPECT_THAT(refused("smotenc"), has_all({"in.csv: row 2, column 'size'"}));
}

TEST_F(resampled_file, of_a_number_to_predict_has_numbers_between_others) {
  std::string text = "size,price\n";
  for (int i = 0; i < 60; ++i)
    text += std::to_string(i) + ".5," +
            std::to_string(i < 50 ? 20 + i % 7 : 200 + 10 * i) + "\n";
  write(text);
  for (const std::string method : {"smoter", "smogn"}) {
    const resampling_report found =
        run(method, {"relevance=[[100, 0], [600, 1]]"}, true, "price");
    EXPECT_EQ(found.rows, 60u);
    ASSERT_EQ(found.classes.size(), 2u);
    EXPECT_EQ(found.classes[1].name, "700 to 790, rare");
    EXPECT_EQ(found.classes[1].before, 10u);
    EXPECT_EQ(found.classes[1].after, 30u);
    const std::vector<std::string> all = rows();
    EXPECT_THAT(std::vector<std::string>(all.begin() + 40, all.end()),
                testing::Each(testing::ContainsRegex(" [67][0-9][0-9] null")));
    fs::remove(folder_ / "out.parquet");
  }
  write("size,price\n1,20\n2,\n3,30\n");
  EXPECT_THAT(
      refused("smoter", "price"),
      has_all({"in.csv: row 2, column 'price'", "the label is missing"}));
  write("size,price\n1,low\n2,high\n");
  EXPECT_THAT(refused("smoter", "price"),
              has_all({"column 'price' is of type string",
                       "a number to be predicted"}));
  write("size,price\n1,20\n2,20\n3,20\n");
  EXPECT_THAT(refused("smogn", "price"),
              has_all({"column 'price' has no rare values"}));
}

} // namespace
} // namespace ballast::data
