#include "data/source/stream_table.hpp"

#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <gmock/gmock.h>
#include <parquet/arrow/writer.h>

namespace ballast::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One table in every format: numbers with holes, text, and labels that are
/// text.
class every_format : public ::testing::Test {
public:
  static constexpr int rows = 400;

  every_format() {
    arrow::Int32Builder age;
    arrow::DoubleBuilder score;
    arrow::StringBuilder city, kind;
    std::string lines = "age,score,city,kind\n", objects;
    for (int i = 0; i < rows; ++i) {
      const bool hole = i % 50 == 7, nowhere = i % 3 == 2;
      const std::string kinds[] = {"pear", "apple", "fig"};
      const std::string& what = kinds[i / 3 % 3];
      const std::string where = i % 3 == 0 ? "berlin" : "rome";
      EXPECT_TRUE((hole ? age.AppendNull() : age.Append(i % 60)).ok());
      EXPECT_TRUE(score.Append(i / 8.0).ok());
      EXPECT_TRUE((nowhere ? city.AppendNull() : city.Append(where)).ok());
      EXPECT_TRUE(kind.Append(what).ok());
      const std::string number = std::to_string(i / 8.0);
      lines += (hole ? "" : std::to_string(i % 60)) + "," + number + "," +
               (nowhere ? "" : where) + "," + what + "\n";
      objects += "{\"age\":" + (hole ? "null" : std::to_string(i % 60)) +
                 ",\"score\":" + number +
                 ",\"city\":" + (nowhere ? "null" : '"' + where + '"') +
                 ",\"kind\":\"" + what + "\"}\n";
    }
    folder_.write("t.csv", lines);
    folder_.write("t.jsonl", objects);
    write(*arrow::Table::Make(
        arrow::schema({arrow::field("age", arrow::int32()),
                       arrow::field("score", arrow::float64()),
                       arrow::field("city", arrow::utf8()),
                       arrow::field("kind", arrow::utf8())}),
        {age.Finish().ValueOrDie(), score.Finish().ValueOrDie(),
         city.Finish().ValueOrDie(), kind.Finish().ValueOrDie()}));
  }

  source_table read(source_format format, const std::string& where) const {
    source_spec source = table_source(
        format, (folder_ / ("t." + to_string(format))).string(), "kind");
    source.where = where;
    if (where.empty())
      source.features = {"score"}; // has no holes
    return read_source(source, {});
  }

  temporary_folder folder_;

private:
  std::shared_ptr<arrow::io::FileOutputStream>
  file(const std::string& name) const {
    return arrow::io::FileOutputStream::Open((folder_ / name).string())
        .ValueOrDie();
  }
  /// Several batches, row groups and stripes.
  void write(const arrow::Table& table) const {
    EXPECT_TRUE(parquet::arrow::WriteTable(table, arrow::default_memory_pool(),
                                           file("t.parquet"), 77)
                    .ok());
    auto ipc = arrow::ipc::MakeFileWriter(file("t.arrow"), table.schema())
                   .ValueOrDie();
    EXPECT_TRUE(ipc->WriteTable(table, 77).ok());
    EXPECT_TRUE(ipc->Close().ok());
    auto to = file("t.orc");
    auto orc = arrow::adapters::orc::ORCFileWriter::Open(to.get()).ValueOrDie();
    EXPECT_TRUE(orc->Write(table).ok());
    EXPECT_TRUE(orc->Close().ok());
  }
};

TEST_F(every_format, gives_the_same_rows) {
  const source_table csv = read(source_format::csv, "");
  EXPECT_EQ(csv.rows, uint64_t(rows));
  EXPECT_THAT(csv.class_names, ElementsAre("apple", "fig", "pear"));
  for (source_format format : table_file_formats) {
    const source_table found = read(format, "");
    EXPECT_EQ(found.features, csv.features) << to_string(format);
    EXPECT_EQ(found.labels, csv.labels) << to_string(format);
    EXPECT_EQ(found.class_names, csv.class_names) << to_string(format);
  }
}

TEST_F(every_format, takes_the_same_rows_on_a_condition) {
  const std::string where = "age is not null and not city = 'rome'";
  std::vector<uint64_t> taken;
  for (int i = 0; i < rows; i += 3)
    if (i % 50 != 7)
      taken.push_back(uint64_t(i));
  const source_table csv = read(source_format::csv, where);
  EXPECT_THAT(csv.columns, ElementsAre("age", "score"));
  for (source_format format : table_file_formats) {
    const source_table found = read(format, where);
    EXPECT_EQ(found.taken_rows, taken) << to_string(format);
    EXPECT_EQ(found.features, csv.features) << to_string(format);
    EXPECT_EQ(found.left_out, csv.left_out) << to_string(format);
  }
}

TEST_F(every_format, names_the_row_of_a_missing_value) {
  for (source_format format : table_file_formats) {
    source_spec source = table_source(
        format, (folder_ / ("t." + to_string(format))).string(), "kind");
    try {
      read_source(source, {});
      FAIL() << to_string(format);
    } catch (const ballast_error& e) {
      EXPECT_THAT(e.what(), HasSubstr("row 8")) << to_string(format);
      EXPECT_THAT(e.what(), HasSubstr("column 'age': the value is missing"));
    }
  }
}

class where : public ::testing::Test {
public:
  source_spec people(const std::string& condition) const {
    source_spec out = table_source(source_format::csv, file_, "y", {"x"});
    out.where = condition;
    return out;
  }
  source_table take(const std::string& condition) const {
    return read_source(people(condition), {});
  }
  failure refusal(const std::string& condition) const {
    try {
      take(condition);
    } catch (const ballast_error& e) {
      return {e.what_failed().code, e.what(), e.what_failed().pointer};
    }
    return {};
  }

  temporary_folder folder_;
  const std::string file_ =
      folder_.write("people.csv", "x,y,city,age\n"
                                  "1,0,berlin,30\n"
                                  "2,1,\"New \"\"York\"\"\",40\n"
                                  "3,0,,50\n"
                                  "4,1,berlin,\n"
                                  "5,0,rome,70\n");
};

TEST_F(where, takes_the_rows_of_which_it_is_true) {
  const source_table found = take("age > 30 and city is not null");
  EXPECT_EQ(found.rows, 2u);
  EXPECT_THAT(found.features, ElementsAre(2, 5)); // uint8
  EXPECT_THAT(found.labels, ElementsAre(1, 0));
}

TEST_F(where, does_not_take_a_row_that_lacks_the_value) {
  EXPECT_THAT(take("age >= 0").features, ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(take("not age > 40").features, ElementsAre(1, 2));
}

TEST_F(where, reads_quoted_text_as_it_is_meant) {
  EXPECT_THAT(take("city = 'New \"York\"' or x = 1").features,
              ElementsAre(1, 2));
}

TEST_F(where, keeps_the_numbers_of_the_rows_in_the_source) {
  const source_table found = take("city = 'berlin'");
  EXPECT_THAT(found.taken_rows, ElementsAre(0, 3));
  EXPECT_THAT(place_of(found, 1), HasSubstr("people.csv: row 4"));
}

TEST_F(where, counts_the_rows_of_all_files) {
  folder_.write("people2.csv", "x,y,city,age\n6,1,berlin,1\n7,1,rome,2\n");
  source_spec both = people("city = 'rome'");
  both.uri = (folder_ / "people*.csv").string();
  const source_table found = read_source(both, {});
  EXPECT_THAT(found.taken_rows, ElementsAre(4, 6));
  EXPECT_THAT(place_of(found, 1), HasSubstr("people2.csv: row 2"));
}

TEST_F(where, names_the_row_of_the_file_in_the_errors_of_what_it_takes) {
  const std::string bad = folder_.write("bad.csv", "x,y,use\n1,0,no\n2,1,yes\n"
                                                   ",1,no\n,0,yes\n3,0,yes\n");
  source_spec source = table_source(source_format::csv, bad, "y", {"x"});
  source.where = "use = 'yes'";
  try {
    read_source(source, {});
    FAIL();
  } catch (const ballast_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("bad.csv: row 4 (line 5), column 'x': the "
                                    "value is missing"));
  }
}

TEST_F(where, is_refused_before_a_row_is_read) {
  const failure unknown = refusal("cty = 'berlin'");
  EXPECT_THAT(unknown.message, HasSubstr("city"));
  EXPECT_EQ(unknown.pointer, "/data/train/where");
  EXPECT_EQ(refusal("age + 1").pointer, "/data/train/where");
  EXPECT_EQ(refusal("age >").code, errc::invalid_job);
  EXPECT_EQ(refusal("city > 3").pointer, "/data/train/where");
}

TEST_F(where, that_no_row_meets_is_an_error) {
  const failure none = refusal("age > 100");
  EXPECT_EQ(none.code, errc::invalid_data);
  EXPECT_THAT(none.message, HasSubstr("none of the 5 rows"));
  EXPECT_EQ(none.pointer, "/data/train/where");
}

class text_labels : public ::testing::Test {
public:
  source_table read(const std::string& name, const std::string& text,
                    const source_table* like = nullptr) const {
    source_request request;
    request.like = like;
    request.test = like != nullptr;
    source_spec source = table_source(source_format::csv,
                                      folder_.write(name, text), "kind", {"x"});
    source.columns = columns_;
    return read_source(source, request);
  }
  std::string refusal(const std::string& text,
                      const source_table* like = nullptr) const {
    try {
      read("bad.csv", text, like);
    } catch (const ballast_error& e) {
      return e.what();
    }
    return {};
  }

  temporary_folder folder_;
  std::map<std::string, std::string> columns_;
};

TEST_F(text_labels, are_classes_by_the_order_of_their_names) {
  const source_table pears =
      read("a.csv", "x,kind\n1,pear\n2,apple\n3,fig\n4,pear\n");
  EXPECT_THAT(pears.class_names, ElementsAre("apple", "fig", "pear"));
  EXPECT_THAT(pears.labels, ElementsAre(2, 0, 1, 2));
  EXPECT_EQ(pears.row.classes, 3u);
  const source_table figs = read("b.csv", "x,kind\n1,fig\n2,apple\n2,pear\n");
  EXPECT_EQ(figs.class_names, pears.class_names) << "whatever comes first";
}

TEST_F(text_labels, of_a_test_set_are_those_of_the_training_set) {
  columns_ = {{"kind", "text"}};
  const source_table train = read("a.csv", "x,kind\n1,b\n2,a\n3,7\n");
  columns_.clear();
  EXPECT_THAT(train.class_names, ElementsAre("7", "a", "b"));
  EXPECT_THAT(read("t.csv", "x,kind\n5,7\n6,b\n", &train).labels,
              ElementsAre(0, 2))
      << "also where the first one looks like a number";
  EXPECT_THAT(refusal("x,kind\n5,c\n", &train),
              HasSubstr("bad.csv: row 1 (line 2), column 'kind': the label is "
                        "none of the 3 that the training set has"));
}

TEST_F(text_labels, that_are_missing_are_named) {
  EXPECT_THAT(refusal("x,kind\n1,a\n2,\n"),
              HasSubstr("row 2 (line 3), column 'kind': the value is missing"));
}

TEST_F(text_labels, do_not_mix_with_numbers) {
  EXPECT_THAT(refusal("x,kind\n1,0\n2,pear\n"),
              HasSubstr("row 2 (line 3), column 'kind': expected a number"));
  EXPECT_THAT(refusal("x,kind\n1,pear\n2,0\n"),
              HasSubstr("row 2 (line 3), column 'kind': the label is a number, "
                        "others are text"));
}

} // namespace
} // namespace ballast::data
