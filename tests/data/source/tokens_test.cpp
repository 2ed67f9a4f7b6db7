/// Rows of tokens, which have no label, from files to batches; and what is
/// refused. Method: small tables, read and prepared.
#include "data/loader/batch.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/source/source_table.hpp"
#include "data/store/chunk_store.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <cmath>
#include <gmock/gmock.h>
#include <map>
#include <numeric>
#include <parquet/arrow/writer.h>
#include <set>

namespace ballast::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

source_request of_tokens(uint64_t seed = 1) {
  source_request out;
  out.label = label_kind::none;
  out.seed = seed;
  return out;
}

source_spec csv_of(const temporary_folder& folder, const std::string& text,
                   const std::string& name = "t.csv") {
  return table_source(source_format::csv, folder.write(name, text), "");
}

job tokens_job(source_spec train) {
  job out = job_of(std::move(train));
  out.train.loss = loss_kind::next_token;
  return out;
}

std::vector<float> features_of(const prepared_set& set, data_part part) {
  std::vector<float> out;
  const std::vector<ledger::chunk_info>& chunks =
      part == data_part::train ? set.about().train : set.about().test;
  for (const ledger::chunk_info& info : chunks) {
    batch rows;
    gather_range(*set.read(part, info.id), set.about().row, 0, info.rows, rows);
    out.insert(out.end(), rows.features.begin(), rows.features.end());
  }
  return out;
}

TEST(tokens, of_a_csv_are_all_columns_and_know_their_vocabulary) {
  temporary_folder folder;
  const source_table table =
      read_source(csv_of(folder, "a,b,c\n0,7,1\n3,300,2\n"), of_tokens());
  EXPECT_EQ(table.rows, 2u);
  EXPECT_EQ(table.row.features, 3u);
  EXPECT_EQ(table.row.vocabulary, 301u);
  EXPECT_EQ(table.row.stored, ledger::stored_type::int16);
  EXPECT_EQ(table.row.classes, 1u);
  EXPECT_THAT(table.labels, ElementsAre(0, 0));
  EXPECT_EQ(table.label, "");
}

TEST(tokens, are_kept_in_the_smallest_type_that_holds_them) {
  temporary_folder folder;
  for (const auto& [largest, stored] :
       std::map<std::string, ledger::stored_type>{
           {"255", ledger::stored_type::uint8},
           {"32767", ledger::stored_type::int16},
           {"50256", ledger::stored_type::float32}}) {
    const source_table table =
        read_source(csv_of(folder, "a,b\n0," + largest + "\n"), of_tokens());
    EXPECT_EQ(table.row.stored, stored);
    EXPECT_EQ(table.row.vocabulary, std::stoul(largest) + 1);
  }
}

TEST(tokens, of_parquet_are_as_those_of_csv) {
  if (under_thread_sanitizer)
    GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
  temporary_folder folder;
  arrow::Int32Builder first;
  arrow::Int64Builder second;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(first.Append(i).ok());
    ASSERT_TRUE(second.Append(10 * i).ok());
  }
  const auto table = arrow::Table::Make(
      arrow::schema({arrow::field("a", arrow::int32()),
                     arrow::field("b", arrow::int64())}),
      {first.Finish().ValueOrDie(), second.Finish().ValueOrDie()});
  const std::string path = (folder / "t.parquet").string();
  auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  ASSERT_TRUE(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 2)
          .ok());
  ASSERT_TRUE(file->Close().ok());
  const source_table read =
      read_source(table_source(source_format::parquet, path, ""), of_tokens());
  EXPECT_EQ(read.rows, 5u);
  EXPECT_EQ(read.row.vocabulary, 41u);
  EXPECT_EQ(read.labels, std::vector<int32_t>(5, 0));
  EXPECT_THAT(read.features, ElementsAre(0, 0, 1, 10, 2, 20, 3, 30, 4, 40));
}

TEST(tokens, count_the_rows_of_several_files_one_after_another) {
  temporary_folder folder;
  folder.write("1.csv", "a,b\n1,2\n3,4\n");
  folder.write("2.csv", "a,b\n5,6\n");
  const source_table table = read_source(
      table_source(source_format::csv, (folder / "*.csv").string(), ""),
      of_tokens());
  EXPECT_EQ(table.rows, 3u);
  EXPECT_THAT(place_of(table, 2), HasSubstr("2.csv: row 1"));
}

TEST(tokens, that_are_synthetic_are_a_function_of_seed_and_row) {
  const source_table large =
      read_source(synthetic_source(60, 40, 9), of_tokens(3));
  const source_table small =
      read_source(synthetic_source(30, 40, 9), of_tokens(3));
  EXPECT_TRUE(std::equal(small.features.begin(), small.features.end(),
                         large.features.begin()));
  EXPECT_EQ(large.row.vocabulary, 40u);
  EXPECT_EQ(large.row.stored, ledger::stored_type::uint8);
  EXPECT_NE(read_source(synthetic_source(60, 40, 9), of_tokens(4)).features,
            large.features);
  source_request test = of_tokens(3);
  test.test = true;
  EXPECT_NE(read_source(synthetic_source(60, 40, 9), test).features,
            large.features);
}

// Goal: a model can learn them. Method: after each token three of four times
// the same one, in train and test alike; all tokens occur.
TEST(tokens, that_are_synthetic_have_favourite_successors) {
  std::vector<std::map<int, int>> favourites;
  for (bool test : {false, true}) {
    source_request request = of_tokens(5);
    request.test = test;
    const source_table table =
        read_source(synthetic_source(2000, 20, 21), request);
    std::map<int, std::map<int, int>> after;
    for (uint64_t row = 0; row < table.rows; ++row)
      for (size_t at = 0; at < 20; ++at)
        ++after[table.features[row * 21 + at]]
               [table.features[row * 21 + at + 1]];
    EXPECT_EQ(after.size(), 20u);
    std::map<int, int>& favourite = favourites.emplace_back();
    for (const auto& [token, next] : after) {
      int all = 0, most = 0;
      for (const auto& [other, count] : next) {
        all += count;
        if (count > most) {
          most = count;
          favourite[token] = other;
        }
      }
      EXPECT_NEAR(double(most) / all, 0.75 + 0.25 / 20, 0.1) << token;
    }
  }
  EXPECT_EQ(favourites[0], favourites[1]);
}

TEST(tokens, are_counted_by_rows_that_look_alike) {
  temporary_folder folder;
  std::string text = "a,b,c,d\n"; // two languages, in turn
  for (int row = 0; row < 100; ++row)
    text += row % 2 == 0 ? "1,2,1,2\n" : "7,8,8,7\n";
  job what = tokens_job(csv_of(folder, text));
  what.data.placement.kind = placement_kind::sorted;
  what.elastic.workers = 2;
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.target_bins, 2u);
  for (const ledger::chunk_info& info : set->about().train)
    EXPECT_THAT(info.label_histogram, testing::Contains(info.rows));
}

TEST(tokens, are_prepared_split_and_read_back) {
  temporary_folder folder;
  job what = tokens_job(synthetic_source(50, 300, 8));
  what.data.test_fraction = 0.2;
  what.data.placement.kind = placement_kind::stratified;
  const auto set = prepare(what, folder / "cache");
  const ledger::row_shape& row = set->about().row;
  EXPECT_EQ(row.vocabulary, 300u);
  EXPECT_EQ(row.classes, 1u);
  EXPECT_EQ(set->about().train_rows, 40u);
  EXPECT_EQ(set->about().test_rows, 10u);
  for (const ledger::chunk_info& info : set->about().train) {
    EXPECT_EQ(info.label_histogram.size(), row.target_bins);
    EXPECT_EQ(
        std::reduce(info.label_histogram.begin(), info.label_histogram.end()),
        info.rows);
  }
  const source_table table = read_source(what.data.train, of_tokens(what.seed));
  std::multiset<float> read, expected;
  for (float token : features_of(*set, data_part::train))
    read.insert(token);
  for (float token : features_of(*set, data_part::test))
    read.insert(token);
  for (size_t i = 0; i < 50 * 8; ++i) {
    int16_t token = 0;
    std::memcpy(&token, table.features.data() + 2 * i, 2);
    expected.insert(token);
  }
  EXPECT_EQ(read, expected);
  // Again from the cache.
  EXPECT_EQ(prepare(what, folder / "cache")->about().row.vocabulary, 300u);
}

TEST(tokens, are_another_set_than_the_classes_of_the_same_source) {
  temporary_folder folder;
  job what = tokens_job(synthetic_source(30, 3, 4));
  const std::string name = prepare(what, folder / "cache")->about().content_id;
  what.train.loss = loss_kind::cross_entropy;
  EXPECT_NE(prepare(what, folder / "cache")->about().content_id, name);
}

TEST(tokens, may_be_met_in_the_test_set_for_the_first_time) {
  temporary_folder folder;
  job what = tokens_job(csv_of(folder, "a,b\n1,2\n2,1\n"));
  what.data.test = csv_of(folder, "b,a\n400,2\n", "test.csv");
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.vocabulary, 401u);
  // In the order of the training set's columns, in one type.
  EXPECT_THAT(features_of(*set, data_part::test), ElementsAre(2, 400));
  EXPECT_THAT(features_of(*set, data_part::train), ElementsAre(1, 2, 2, 1));
}

TEST(tokens, are_refused_with_file_row_and_column_where_they_are_none) {
  temporary_folder folder;
  auto says = [&](const std::string& text) -> std::string {
    try {
      prepare(tokens_job(csv_of(folder, text)), folder / "cache");
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().code, errc::invalid_data);
      EXPECT_EQ(error.what_failed().pointer.substr(0, 11), "/data/train");
      return error.what();
    }
    return "accepted";
  };
  for (const char* wrong : {"2.5", "-1", "16777216", "1e9", "nan"}) {
    const std::string text = says("a,b\n1,2\n3," + std::string(wrong) + "\n");
    EXPECT_THAT(text, HasSubstr("t.csv: row 2 (line 3), column 'b'")) << wrong;
  }
  EXPECT_THAT(says("a,b\n1,2.5\n"),
              AllOf(HasSubstr("tokens are whole numbers from 0 to 16777215"),
                    HasSubstr("(it is 2.5)")));
  EXPECT_THAT(says("a\n1\n2\n"), HasSubstr("has one token a row"));
  EXPECT_THAT(says("a,b\n0,0\n0,0\n"), HasSubstr("every token is 0"));
  EXPECT_THAT(says("a,b\nx,y\n"), HasSubstr("has no column of numbers (its "
                                            "columns are 'a', 'b')"));
}

} // namespace
} // namespace ballast::data
