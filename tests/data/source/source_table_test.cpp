#include "data/source/file_system.hpp"
#include "data/source/files_apart.hpp"
#include "data/source/source_table.hpp"
#include "data/source/table_values.hpp"

#include "runtime/base/errors.hpp"
#include "tests/data/source/stream_tester.hpp"
#include "tests/data/source_builders.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <cmath>
#include <gmock/gmock.h>
#include <parquet/arrow/writer.h>

namespace ballast::data {

using ledger::stored_type;
namespace {

using strings = std::vector<std::string>;

template <class T>
std::vector<T> values_of(const source_table& table) {
  std::vector<T> out(table.features.size() / sizeof(T));
  std::memcpy(out.data(), table.features.data(), table.features.size());
  return out;
}

/// Of rows that are made when they are asked for, some at a time.
std::vector<float> made_values(const source_table& table) {
  std::vector<float> out(table.rows * table.row.features);
  constexpr uint64_t at_once = 7;
  for (uint64_t first = 0; first < table.rows; first += at_once) {
    std::vector<uint64_t> rows;
    for (uint64_t row = first; row < std::min(first + at_once, table.rows);
         ++row)
      rows.push_back(row);
    table.made(rows, std::span(out).subspan(first * table.row.features,
                                            rows.size() * table.row.features));
  }
  return out;
}

void write_parquet(const std::string& path,
                   const std::shared_ptr<arrow::Table>& table) {
  auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  // Two rows a group: several groups also in small files.
  // With the types, as pandas and pyarrow do.
  ASSERT_TRUE(
      parquet::arrow::WriteTable(
          *table, arrow::default_memory_pool(), file, 2,
          parquet::default_writer_properties(),
          parquet::ArrowWriterProperties::Builder().store_schema()->build())
          .ok());
}

TEST(idx_source, reads_plain_and_gzipped_alike) {
  temporary_folder folder;
  const source_table plain =
      read_source(idx_source(folder.write("i", idx_images(10)),
                             folder.write("l", idx_labels(10, 3))),
                  {});
  const source_table packed =
      read_source(idx_source(folder.write("i.gz", gzip(idx_images(10))),
                             folder.write("l.gz", gzip(idx_labels(10, 3)))),
                  {});
  EXPECT_EQ(plain.rows, 10u);
  EXPECT_EQ(plain.row.stored, stored_type::uint8);
  EXPECT_EQ(plain.row.classes, 3u);
  EXPECT_EQ(plain.features, packed.features);
  EXPECT_EQ(plain.labels, packed.labels);
  EXPECT_EQ(plain.features[59], 59);
}

TEST(idx_source, reads_every_type_of_the_format) {
  temporary_folder folder;
  const std::string labels = folder.write("l", idx_labels(2, 2));
  struct {
    unsigned char type;
    std::string payload; // -2, 3 where signed
    stored_type stored;
  } const cases[] = {
      {0x09, std::string("\xFE\x03", 2), stored_type::int16},
      {0x0B, std::string("\xFF\xFE\x00\x03", 4), stored_type::int16},
      {0x0C, std::string("\xFF\xFF\xFF\xFE\x00\x00\x00\x03", 8),
       stored_type::int32},
      {0x0D, std::string("\xC0\x00\x00\x00\x40\x40\x00\x00", 8),
       stored_type::float32},
      {0x0E,
       std::string("\xC0\x00\x00\x00\x00\x00\x00\x00"
                   "\x40\x08\x00\x00\x00\x00\x00\x00",
                   16),
       stored_type::float32},
  };
  for (const auto& c : cases) {
    const source_table table = read_source(
        idx_source(folder.write("i", idx_bytes(c.type, {2, 1}, c.payload)),
                   labels),
        {});
    EXPECT_EQ(table.row.stored, c.stored) << int(c.type);
    if (c.stored == stored_type::int16)
      EXPECT_EQ(values_of<int16_t>(table), (std::vector<int16_t>{-2, 3}));
    else if (c.stored == stored_type::int32)
      EXPECT_EQ(values_of<int32_t>(table), (std::vector<int32_t>{-2, 3}));
    else
      EXPECT_EQ(values_of<float>(table), (std::vector<float>{-2, 3}));
  }
}

TEST(csv_source, takes_every_other_column_of_numbers) {
  temporary_folder folder;
  const source_table table = read_source(
      table_source(source_format::csv,
                   folder.write("t.csv", "name,x,label,\"z\"\n"
                                         "ann,1,0, 2\nbob,3,1,\"+4\"\n"),
                   "label"),
      {});
  EXPECT_EQ(table.columns, (std::vector<std::string>{"x", "z"}));
  EXPECT_EQ(table.row.stored, stored_type::uint8);
  EXPECT_EQ(values_of<uint8_t>(table), (std::vector<uint8_t>{1, 2, 3, 4}));
  EXPECT_EQ(table.labels, (std::vector<int32_t>{0, 1}));
}

TEST(csv_source, names_the_columns_of_text_that_it_leaves_out) {
  temporary_folder folder;
  // Some write "nan" where there is no text; no number is meant by it.
  const std::string path =
      folder.write("t.csv", "name,x,y,city\nann,1,0,\"a, b\"\nnan,3,1,\n");
  const auto left_out = [&](strings features) {
    return read_source(
               table_source(source_format::csv, path, "y", std::move(features)),
               {})
        .left_out;
  };
  EXPECT_EQ(left_out({}), (strings{"name", "city"}));
  EXPECT_EQ(left_out({"x"}), std::nullopt);
}

TEST(csv_source, keeps_the_smallest_exact_type) {
  temporary_folder folder;
  const std::vector<std::pair<std::string, stored_type>> cases{
      {"0", stored_type::uint8},        {"255", stored_type::uint8},
      {"256", stored_type::int16},      {"-1", stored_type::int16},
      {"-32768", stored_type::int16},   {"32768", stored_type::float32},
      {"0.5", stored_type::float32},    {"1e10", stored_type::float32},
      {"-32769", stored_type::float32}, {"2.0", stored_type::uint8},
      {"1e-400", stored_type::uint8}};
  for (const auto& [number, stored] : cases) {
    const source_table table = read_source(
        table_source(source_format::csv,
                     folder.write("t.csv", "x,y\n1,0\n" + number + ",1\n"),
                     "y"),
        {});
    EXPECT_EQ(table.row.stored, stored) << number;
    if (stored == stored_type::float32) {
      EXPECT_EQ(values_of<float>(table)[1], std::stof(number)) << number;
    }
  }
}

TEST(csv_source, reads_the_files_of_a_glob_as_one) {
  temporary_folder folder;
  folder.write("b.csv", "y,x\n1,30\n"); // columns in another order
  folder.write("a.csv", "x,y\n10,0\n20,1\n");
  for (const std::string& uri :
       {(folder / "*.csv").string(), "file://" + (folder / "*.csv").string()}) {
    const source_table table =
        read_source(table_source(source_format::csv, uri, "y"), {});
    EXPECT_EQ(values_of<uint8_t>(table), (std::vector<uint8_t>{10, 20, 30}));
    ASSERT_EQ(table.files.size(), 2u);
    EXPECT_EQ(place_of(table, 2), (folder / "b.csv").string() + ": row 1");
  }
}

/// Whether who reads the files reads the second one in its turn, or another
/// apart from the first.
TEST(jsonl_source, refuses_numbers_in_a_column_that_the_first_file_left_out) {
  for (const char* first : {"null", "\"x\""}) {
    temporary_folder folder;
    folder.write("p1.jsonl",
                 std::string("{\"a\":") + first + ",\"b\":1,\"y\":0}\n");
    folder.write("p2.jsonl", "{\"a\":3,\"b\":2,\"y\":1}\n");
    const source_spec spec =
        table_source(source_format::jsonl, (folder / "*.jsonl").string(), "y");
    const auto told =
        has_all({"p2.jsonl: column 'a' holds numbers", "\"features\""});
    EXPECT_THAT(refusal_of([&] { read_source(spec, {}); }), told) << first;
    const std::vector<stored_file> files =
        find_files(spec.uri, "/data/train/uri", {});
    EXPECT_THAT(refusal_of([&] {
                  read_fragment(spec, {}, files.at(1),
                                {{"b"}, false, {{"a", "", "", ""}}});
                }),
                told);
  }
}

TEST(csv_source, reads_gzipped_files) {
  temporary_folder folder;
  const source_table table = read_source(
      table_source(source_format::csv,
                   folder.write("t.csv.gz", gzip("x,y\n5,0\n6,1\n")), "y"),
      {});
  EXPECT_EQ(values_of<uint8_t>(table), (std::vector<uint8_t>{5, 6}));
}

TEST(parquet_source, reads_numbers_of_every_width) {
  if (under_thread_sanitizer)
    GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
  temporary_folder folder;
  arrow::Int64Builder label;
  arrow::DoubleBuilder x;
  arrow::UInt8Builder u;
  arrow::BooleanBuilder flag;
  arrow::StringBuilder name;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(label.Append(i % 2).ok());
    ASSERT_TRUE(x.Append(i + 0.25).ok());
    ASSERT_TRUE(u.Append(uint8_t(200 + i)).ok());
    ASSERT_TRUE(flag.Append(i == 3).ok());
    ASSERT_TRUE(name.Append("row").ok());
  }
  const auto table = arrow::Table::Make(
      arrow::schema({arrow::field("u", arrow::uint8()),
                     arrow::field("name", arrow::utf8()),
                     arrow::field("y", arrow::int64()),
                     arrow::field("x", arrow::float64()),
                     arrow::field("flag", arrow::boolean())}),
      {u.Finish().ValueOrDie(), name.Finish().ValueOrDie(),
       label.Finish().ValueOrDie(), x.Finish().ValueOrDie(),
       flag.Finish().ValueOrDie()});
  const std::string path = (folder / "t.parquet").string();
  write_parquet(path, table);
  const source_table all =
      read_source(table_source(source_format::parquet, path, "y"), {});
  EXPECT_EQ(all.columns, (std::vector<std::string>{"u", "x", "flag"}));
  EXPECT_EQ(all.left_out, strings{"name"});
  EXPECT_EQ(all.rows, 5u);
  EXPECT_EQ(all.labels, (std::vector<int32_t>{0, 1, 0, 1, 0}));
  const std::vector<float> values = values_of<float>(all);
  EXPECT_EQ(values[3 * 3], 203.0f);
  EXPECT_EQ(values[3 * 3 + 1], 3.25f);
  EXPECT_EQ(values[3 * 3 + 2], 1.0f);
  // In the order asked for, not that of the file.
  const source_table some = read_source(
      table_source(source_format::parquet, path, "y", {"flag", "u"}), {});
  EXPECT_EQ(values_of<uint8_t>(some),
            (std::vector<uint8_t>{0, 200, 0, 201, 0, 202, 1, 203, 0, 204}));
}

TEST(parquet_source, keeps_cells_of_text_for_balance) {
  if (under_thread_sanitizer)
    GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
  temporary_folder folder;
  arrow::StringBuilder site;
  arrow::Int64Builder x;
  ASSERT_TRUE(site.AppendValues({"berlin", "paris", "berlin"}).ok());
  ASSERT_TRUE(site.AppendNull().ok());
  ASSERT_TRUE(x.AppendValues({0, 1, 2, 1}).ok());
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("site", arrow::utf8()),
                                        arrow::field("x", arrow::int64())}),
                         {site.Finish().ValueOrDie(), x.Finish().ValueOrDie()});
  const std::string path = (folder / "t.parquet").string();
  write_parquet(path, table);
  source_request request;
  request.kept = {{"site", "/balance/by/0"}, {"x", "/balance/by/1"}};
  const source_table out = read_source(
      table_source(source_format::parquet, path, "x", {"x"}), request);
  ASSERT_EQ(out.kept.size(), 2u);
  EXPECT_EQ(out.kept[0].cells, (std::vector<uint32_t>{0, 1, 0, 2}));
  EXPECT_EQ(out.kept[0].texts,
            (std::vector<std::string>{"berlin", "paris", ""}));
  EXPECT_EQ(out.kept[1].texts, (std::vector<std::string>{"0", "1", "2"}));
}

TEST(parquet_source, keeps_the_values_of_a_dictionary_not_their_numbers) {
  if (under_thread_sanitizer)
    GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
  temporary_folder folder;
  // As pandas writes categories; "berlin" is number 0, then number 1.
  arrow::StringDictionaryBuilder site;
  arrow::Int64Builder x;
  for (const char* one : {"berlin", "paris", "rome", "berlin"})
    ASSERT_TRUE(site.Append(one).ok());
  ASSERT_TRUE(x.AppendValues({0, 1, 0, 1}).ok());
  const std::shared_ptr<arrow::Array> sites = site.Finish().ValueOrDie();
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("site", sites->type()),
                                        arrow::field("x", arrow::int64())}),
                         {sites, x.Finish().ValueOrDie()});
  const std::string path = (folder / "t.parquet").string();
  write_parquet(path, table);
  source_request request;
  request.kept = {{"site", "/balance/by/0"}};
  const source_table out = read_source(
      table_source(source_format::parquet, path, "x", {"x"}), request);
  EXPECT_EQ(out.kept.at(0).cells, (std::vector<uint32_t>{0, 1, 2, 0}));
  EXPECT_EQ(out.kept.at(0).texts,
            (std::vector<std::string>{"berlin", "paris", "rome"}));
}

TEST(synthetic_source, is_a_function_of_seed_and_row) {
  source_request request;
  request.seed = 3;
  const source_table large = read_source(synthetic_source(60, 3, 5), request);
  const std::vector<float> values = made_values(large);
  const std::vector<float> first =
      made_values(read_source(synthetic_source(30, 3, 5), request));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), values.begin()));
  std::vector<float> last(5);
  row_values(large, 59, last);
  EXPECT_TRUE(std::equal(last.begin(), last.end(), values.end() - 5));
  EXPECT_EQ(large.row.classes, 3u);
  request.test = true;
  EXPECT_NE(made_values(read_source(synthetic_source(60, 3, 5), request)),
            values);
  request.test = false;
  request.seed = 4;
  EXPECT_NE(made_values(read_source(synthetic_source(60, 3, 5), request)),
            values);
}

// Goal: a model can learn it. Method: means of a class over train and test
// rows agree to sampling noise, 1 / sqrt(2000).
TEST(synthetic_source, draws_train_and_test_around_the_same_means) {
  source_request request;
  request.seed = 11;
  std::vector<std::vector<double>> means;
  for (bool test : {false, true}) {
    request.test = test;
    const source_table table =
        read_source(synthetic_source(4000, 2, 4), request);
    const std::vector<float> values = made_values(table);
    std::vector<double>& mean = means.emplace_back(8);
    for (uint64_t row = 0; row < table.rows; ++row)
      for (size_t j = 0; j < 4; ++j)
        mean[size_t(table.labels[row]) * 4 + j] += values[row * 4 + j] / 2000.0;
  }
  for (size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(means[0][i], means[1][i], 0.15);
  double distance = 0;
  for (size_t j = 0; j < 4; ++j)
    distance += std::fabs(means[0][j] - means[0][4 + j]);
  EXPECT_GT(distance, 0.5) << "the classes cannot be told apart";
}

TEST(source_table, widens_without_changing_a_value) {
  for (const stored_type wide : {stored_type::uint8, stored_type::int16,
                                 stored_type::int32, stored_type::float32}) {
    source_table table;
    table.row.stored = stored_type::uint8;
    table.features = {0, 1, 128, 255};
    widen(table, wide);
    EXPECT_EQ(table.row.stored, wide);
    for (size_t i = 0; i < 4; ++i) {
      const double expected = std::vector<double>{0, 1, 128, 255}[i];
      const double got =
          wide == stored_type::uint8   ? table.features[i]
          : wide == stored_type::int16 ? values_of<int16_t>(table)[i]
          : wide == stored_type::int32 ? values_of<int32_t>(table)[i]
                                       : values_of<float>(table)[i];
      EXPECT_EQ(got, expected) << ballast::to_string(wide);
    }
  }
  EXPECT_EQ(wider_type(stored_type::int16, stored_type::uint8),
            stored_type::int16);
  EXPECT_EQ(wider_type(stored_type::int16, stored_type::float32),
            stored_type::float32);
}

TEST(column_values, gives_features_as_they_are_stored_and_the_label) {
  temporary_folder folder;
  for (const auto& [number, stored] :
       std::vector<std::pair<std::string, stored_type>>{
           {"7", stored_type::uint8},
           {"-7", stored_type::int16},
           {"0.5", stored_type::float32}}) {
    const source_table table = read_source(
        table_source(
            source_format::csv,
            folder.write("t.csv", "x,y,z\n1,0,2\n3,1," + number + "\n"), "y"),
        {});
    ASSERT_EQ(table.row.stored, stored);
    EXPECT_EQ(column_values(table, "x", ""), (std::vector<double>{1, 3}));
    EXPECT_EQ(column_values(table, "z", ""),
              (std::vector<double>{2, std::stod(number)}));
    EXPECT_EQ(column_values(table, "y", ""), (std::vector<double>{0, 1}));
  }
  source_request request;
  request.label = label_kind::target;
  const source_table table = read_source(
      table_source(source_format::csv,
                   folder.write("t.csv", "x,y\n1,0.5\n2,-3\n"), "y"),
      request);
  EXPECT_EQ(column_values(table, "y", ""), (std::vector<double>{0.5, -3}));
}

} // namespace
} // namespace ballast::data
