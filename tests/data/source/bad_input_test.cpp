/// Every mistake that a user's data can hold: one row of a table each. The
/// message must name file, row and column; nothing may stay behind.
#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <gmock/gmock.h>
#include <parquet/arrow/writer.h>
#include <sys/stat.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using strings = std::vector<std::string>;

class bad_input : public testing::Test {
protected:
  /// Expects a refusal whose message has all `parts`, and a clean cache.
  void refuses(const job& what, const strings& parts,
               errc code = errc::invalid_data) {
    try {
      prepare(what, cache_);
      ADD_FAILURE() << "was taken; expected a message with "
                    << testing::PrintToString(parts);
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().code, code) << error.what();
      EXPECT_EQ(error.what_failed().pointer.substr(0, 6), "/data/");
      for (const std::string& part : parts)
        EXPECT_THAT(error.what(), testing::HasSubstr(part));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
    if (fs::exists(cache_)) {
      for (const auto& entry : fs::directory_iterator(cache_)) {
        const std::string name = entry.path().filename().string();
        EXPECT_TRUE(name == "locks" || name == "sources") << name;
      }
    }
  }

  void refuses_csv(const std::string& text, strings parts,
                   const std::string& label = "y", strings features = {},
                   loss_kind loss = loss_kind::cross_entropy) {
    const std::string path = folder_.write("t.csv", text);
    job what = job_of(
        table_source(source_format::csv, path, label, std::move(features)));
    what.train.loss = loss;
    parts.push_back(path);
    refuses(what, parts);
  }

  void refuses_idx(const std::string& images, const std::string& labels,
                   const strings& parts) {
    refuses(job_of(idx_source(folder_.write("images", images),
                              folder_.write("labels", labels))),
            parts);
  }

  temporary_folder folder_;
  fs::path cache_ = folder_ / "cache";
};

TEST_F(bad_input, csv_with_ragged_rows) {
  refuses_csv("x,y\n1,0\n2,1,3\n",
              {"row 2 (line 3) has 3 columns", "the header has 2"});
  refuses_csv("x,z,y\n1,2,0\n\n2,1\n", {"row 2 (line 4) has 2 columns"});
}

TEST_F(bad_input, csv_with_text_in_a_column_of_numbers) {
  refuses_csv("x,y\n1,0\nabc,1\n",
              {"row 2", "line 3", "column 'x'", "'abc' is no number"});
  refuses_csv("x,y\n1,0\n1.5.2,1\n", {"column 'x'", "'1.5.2'"});
  refuses_csv("x,y\n1,0\n,1\n", {"row 2", "column 'x'", "missing"});
  // Asked for by name, also a column that looks like text is meant.
  refuses_csv("x,n,y\n1,a,0\n2,b,1\n", {"row 1", "column 'n'", "'a'"}, "y",
              {"x", "n"});
}

// Left out in silence, it would train another model than was meant.
TEST_F(bad_input, csv_with_text_only_in_the_first_row_of_a_column) {
  refuses_csv("a,b,y\nn/a,1,0\n,2,1\n3,4,1\n",
              {"row 1 (line 2), column 'a'", "as in row 3 (line 4)",
               "text of 3 characters", "/data/train/features",
               "'n/a' is no number"});
  refuses_csv("b,y,a\n1,0,true\n2,1,false\n3,0,false\n4,0,1e3\n",
              {"row 1 (line 2), column 'a'", "as in row 4 (line 5)"});
  // Where there is no other column either.
  refuses_csv("a,y\nn/a,0\n2,1\n",
              {"row 1 (line 2), column 'a'", "as in row 2 (line 3)"});
  const std::string first = folder_.write("1.csv", "a,b,y\nn/a,1,0\n");
  const std::string second = folder_.write("2.csv", "y,a,b\n1,2,3\n");
  refuses(job_of(table_source(source_format::csv, (folder_ / "?.csv").string(),
                              "y")),
          {first + ": row 1 (line 2), column 'a'",
           "as in " + second + ": row 1 (line 2)"});
}

TEST_F(bad_input, text_that_is_not_utf8_or_holds_a_nul) {
  refuses_csv("x,y\n1,0\ncaf\xe9,1\n", {"row 2", "'caf\\xe9'"});
  refuses_csv(std::string("x,y\n1,0\n1\0002,1\n", 14),
              {"row 2", "column 'x'", "'1\\x002'"});
  // Valid, but its 40th byte is within a character.
  std::string wide;
  for (int i = 0; i < 50; ++i)
    wide += "\u00e4";
  refuses_csv("x,y\n1,0\n" + wide + ",1\n",
              {"text of 50 characters", "\u00e4..."});
  refuses_csv("x\xe9,y\n1,0\n2,1\n", {"no column 'z'", "'x\\xe9'"}, "z");
}

// Whoever may ask for a job over HTTP need not be allowed to read its files.
TEST_F(bad_input, cells_are_not_part_of_the_message_for_everybody) {
  struct {
    std::string text, secret;
    std::string label = "y";
  } table[] = {
      {"x,y\n1,0\nsecret,1\n", "secret"},
      {"x,y\n1,0\n1e77,1\n", "77"},
      {"x,y\n1,0\n1,77.5\n", "77"},
      {"x,y\n1,77\n2,77\n", "77"},
      {"secret,y\n1,0\n2,1\n", "secret", "z"},
      {"n,y\nsecret,0\nb,1\n", "secret"},
  };
  for (const auto& row : table) {
    const job what = job_of(table_source(
        source_format::csv, folder_.write("t.csv", row.text), row.label));
    try {
      prepare(what, cache_);
      ADD_FAILURE() << row.text;
    } catch (const ballast_error& error) {
      EXPECT_THAT(error.what_failed().message,
                  testing::Not(testing::HasSubstr(row.secret)));
    }
  }
}

TEST_F(bad_input, what_is_no_file) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  refuses(job_of(table_source(source_format::csv, pipe, "y")),
          {pipe, "is a pipe"});
  refuses(job_of(table_source(source_format::csv, "/dev/zero", "y")),
          {"is a device"});
  refuses(job_of(idx_source(pipe, pipe)), {pipe, "is a pipe"});
  refuses(job_of(table_source(source_format::csv, "/" + std::string(300, 'x'),
                              "y")),
          {"too long", "255"});
}

TEST_F(bad_input, percent_signs_of_a_uri_that_mean_nothing) {
  for (const char* uri : {"file:///a%2", "file:///a%zz", "file:///a%00b"})
    refuses(job_of(table_source(source_format::csv, uri, "y")), {"%25"});
}

TEST_F(bad_input, csv_with_numbers_that_are_none) {
  refuses_csv("x,y\n1,0\nnan,1\n", {"row 2", "column 'x'", "NaN"});
  refuses_csv("x,y\n1,0\nNaN,1\n", {"row 2", "column 'x'", "NaN"});
  refuses_csv("x,y\ninf,0\n1,1\n", {"row 1", "column 'x'", "inf"});
  refuses_csv("x,y\n1,0\n1e39,1\n", {"row 2", "column 'x'", "1e+39"});
  refuses_csv("x,y\n1,0\n-1e999,1\n", {"row 2", "column 'x'", "float32"});
  refuses_csv("x,y\n1,2\n1,nan\n", {"row 2", "column 'y'", "NaN"}, "y", {},
              loss_kind::mse);
}

TEST_F(bad_input, csv_with_labels_that_are_no_classes) {
  refuses_csv("x,y\n1,0\n2,-1\n", {"row 2", "column 'y'", "label -1"});
  refuses_csv("x,y\n1,0\n2,1.5\n", {"row 2", "column 'y'", "label 1.5", "mse"});
  refuses_csv("x,y\n1,0\n2,dog\n", {"row 2", "column 'y'", "'dog'"});
  refuses_csv("x,y\n1,0\n2,65536\n", {"row 2", "label 65536", "65535"});
  refuses_csv("x,y\n1,nan\n2,1\n", {"row 1", "column 'y'", "label nan"});
  refuses_csv("x,y\n1,1\n2,1\n",
              {"every row has the same label", "two classes"});
}

TEST_F(bad_input, csv_whose_columns_do_not_fit_the_job) {
  refuses_csv("x,y\n1,0\n2,1\n", {"no column 'label'", "'x', 'y'"}, "label");
  refuses_csv("x,y\n1,0\n2,1\n", {"no column 'z'"}, "y", {"z"});
  refuses_csv("x,x,y\n1,1,0\n2,1,1\n", {"two columns named 'x'"});
  refuses_csv("n,y\na,0\nb,1\n", {"no column of numbers", "'n', 'y'"});
}

TEST_F(bad_input, csv_that_is_empty_or_breaks_off) {
  refuses_csv("", {"is empty"});
  refuses_csv("x,y\n", {"no rows", "empty"});
  refuses_csv("x,y\n1,0\n\"2,1\n", {"row 2", "line 3", "quote"});
}

TEST_F(bad_input, csv_that_is_not_there) {
  refuses(job_of(table_source(source_format::csv, (folder_ / "no.csv").string(),
                              "y")),
          {(folder_ / "no.csv").string(), "no such file"});
  refuses(job_of(table_source(source_format::csv, (folder_ / "*.csv").string(),
                              "y")),
          {"no file matches"});
  refuses(
      job_of(table_source(source_format::csv, folder_.path().string(), "y")),
      {"is a folder"});
  refuses(job_of(table_source(source_format::csv, "file://host/a.csv", "y")),
          {"file:///absolute/path"});
}

TEST_F(bad_input, idx_that_breaks_off) {
  const std::string images = idx_images(10);
  const std::string labels = idx_labels(10, 3);
  const std::string packed = gzip(images);
  const std::string path = (folder_ / "images").string();
  refuses_idx(images.substr(0, images.size() - 3), labels, {path, "truncated"});
  refuses_idx(images.substr(0, 7), labels, {path, "truncated"});
  refuses_idx("", labels, {path, "truncated"});
  for (size_t keep :
       {packed.size() - 1, packed.size() - 9, packed.size() / 2, size_t{12}})
    refuses_idx(packed.substr(0, keep), labels, {path, "truncated"});
  refuses_idx(images, gzip(labels).substr(0, 20),
              {(folder_ / "labels").string(), "truncated"});
}

TEST_F(bad_input, idx_that_is_damaged) {
  std::string packed = gzip(idx_images(10));
  packed[packed.size() - 6] ^= 1; // its check sum
  refuses_idx(packed, idx_labels(10, 3),
              {(folder_ / "images").string(), "cannot be read"});
  refuses_idx(idx_images(10) + "x", idx_labels(10, 3), {"more bytes"});
  refuses_idx("PNG.....", idx_labels(10, 3), {"no IDX file", "504e472e"});
  // Claims 4 billion rows of 4 billion values.
  refuses_idx(idx_bytes(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "abc"),
              idx_bytes(8, {0xFFFFFFFF}, "abc"), {"values"});
  refuses_idx(idx_bytes(8, {0xFFFFFFFF, 1}, "abc"),
              idx_bytes(8, {0xFFFFFFFF}, "abc"),
              {"truncated", "claims 4294967295 rows"});
}

TEST_F(bad_input, idx_whose_counts_or_shapes_differ) {
  refuses_idx(idx_images(10), idx_labels(9, 3),
              {"9 labels", "10 rows", "must agree"});
  refuses_idx(idx_labels(10, 3), idx_images(10), {"exchanged"});
  refuses_idx(idx_bytes(8, {10, 0, 3}, ""), idx_labels(10, 3),
              {"rows of 0 values"});
}

TEST_F(bad_input, idx_with_bad_values) {
  refuses_idx(idx_images(4), idx_bytes(9, {4}, std::string("\0\1\xFF\1", 4)),
              {(folder_ / "labels").string(), "row 3", "out of range"});
  refuses_idx(idx_bytes(0x0D, {2, 1}, std::string("\x7F\xC0\0\0\0\0\0\0", 8)),
              idx_labels(2, 2), {"row 1", "value 1", "NaN"});
  refuses_idx(idx_images(4), idx_labels(4, 1),
              {"every row has the same label"});
  refuses_idx(idx_images(0), idx_labels(0, 1), {"empty"});
}

TEST_F(bad_input, idx_that_is_not_there) {
  refuses(job_of(idx_source((folder_ / "none").string(), "/nowhere")),
          {(folder_ / "none").string(), "no such file"});
}

TEST_F(bad_input, test_set_that_does_not_match) {
  job what = job_of(idx_source(folder_.write("images", idx_images(10)),
                               folder_.write("labels", idx_labels(10, 3))));
  const std::string images = folder_.write("test-images", idx_images(6));
  const std::string labels = folder_.write("test-labels", idx_labels(6, 4));
  what.data.test = idx_source(images, labels);
  refuses(what, {images, "row 4", "label 3", "out of range", "0 to 2"});
  what.data.test = idx_source(
      folder_.write("wide", idx_bytes(8, {6, 7}, std::string(42, 'x'))),
      folder_.write("three", idx_labels(6, 3)));
  refuses(what, {"7 values", "6"});
  what.data.test =
      table_source(source_format::csv, (folder_ / "no.csv").string(), "y");
  refuses(what, {"no such file"});

  job table = job_of(
      table_source(source_format::csv,
                   folder_.write("a.csv", "x,z,y\n1,2,0\n2,3,1\n"), "y"));
  table.data.test = table_source(
      source_format::csv, folder_.write("b.csv", "x,y\n1,0\n2,1\n"), "y");
  refuses(table, {(folder_ / "b.csv").string(), "no column 'z'"});
  table.data.test =
      table_source(source_format::csv,
                   folder_.write("b.csv", "x,z,y\n1,2,0\n\n1,2,9\n"), "y");
  refuses(table, {(folder_ / "b.csv").string() + ": row 2 (line 4), column 'y'",
                  "out of range", "0 to 1", "label 9"});
}

TEST_F(bad_input, parquet) {
  if (under_thread_sanitizer)
    GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
  refuses(job_of(table_source(source_format::parquet,
                              folder_.write("t.parquet", "no"), "y")),
          {(folder_ / "t.parquet").string(), "is no Parquet file"});
  arrow::DoubleBuilder x;
  arrow::Int32Builder y;
  arrow::StringBuilder name;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(x.Append(i == 3 ? NAN : i).ok());
    ASSERT_TRUE((i == 4 ? y.AppendNull() : y.Append(i % 2)).ok());
    ASSERT_TRUE(name.Append("n").ok());
  }
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("x", arrow::float64()),
                                        arrow::field("y", arrow::int32()),
                                        arrow::field("name", arrow::utf8())}),
                         {x.Finish().ValueOrDie(), y.Finish().ValueOrDie(),
                          name.Finish().ValueOrDie()});
  const std::string path = (folder_ / "p.parquet").string();
  auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  ASSERT_TRUE(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 2)
          .ok());
  ASSERT_TRUE(file->Close().ok());
  refuses(job_of(table_source(source_format::parquet, path, "y")),
          {path, "row 4", "column 'x'", "NaN"});
  refuses(job_of(table_source(source_format::parquet, path, "x", {"y"})),
          {path, "row 4", "column 'x'", "label nan"});
  refuses(job_of(table_source(source_format::parquet, path, "y", {"name"})),
          {path, "column 'name'", "string"});
  refuses(job_of(table_source(source_format::parquet, path, "z")),
          {path, "no column 'z'"});
}

TEST_F(bad_input, parquet_with_a_missing_value) {
  if (under_thread_sanitizer)
    GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
  arrow::Int32Builder x;
  arrow::Int32Builder y;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE((i == 4 ? x.AppendNull() : x.Append(i)).ok());
    ASSERT_TRUE(y.Append(i % 2).ok());
  }
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("x", arrow::int32()),
                                        arrow::field("y", arrow::int32())}),
                         {x.Finish().ValueOrDie(), y.Finish().ValueOrDie()});
  const std::string path = (folder_ / "p.parquet").string();
  auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  ASSERT_TRUE(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 2)
          .ok());
  ASSERT_TRUE(file->Close().ok());
  refuses(job_of(table_source(source_format::parquet, path, "y")),
          {path, "row 5", "column 'x'", "missing"});
}

} // namespace
} // namespace ballast::data
