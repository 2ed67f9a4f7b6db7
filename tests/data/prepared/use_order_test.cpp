#include "data/prepared/prepared_set.hpp"
#include "data/prepared/set_notes.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/source/row_faults.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/ledger/epoch_uses.hpp"
#include "tests/data/source_builders.hpp"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::data {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t rows = 90;

/// Row i has class i % 9 == 4, weight i % 3, score (7 i) % 90.
std::string table() {
  std::string out = "x,kind,w,s\n";
  for (uint64_t i = 0; i < rows; ++i)
    out += std::to_string(i) + "," + (i % 9 == 4 ? "1" : "0") + "," +
           std::to_string(i % 3) + "," + std::to_string(7 * i % 90) + "\n";
  return out;
}

job job_with(const temporary_folder& folder, sampling_kind kind,
             const std::string& column = "") {
  source_spec source;
  source.format = source_format::csv;
  source.uri = folder.write("rows.csv", table());
  source.label = "kind";
  source.features = {"x"};
  job out = job_of(std::move(source));
  out.elastic.workers = 2;
  out.data.chunk_rows = 15;
  out.data.test_fraction = 0;
  out.data.placement.kind = placement_kind::iid;
  out.train.sampling.kind = kind;
  out.train.sampling.column = column;
  return out;
}

bool is_rare(uint64_t sample) {
  return sample % 9 == 4;
}

TEST(order_for_uses,
     puts_the_rows_of_a_chunk_by_class_and_says_what_each_weighs) {
  temporary_folder folder;
  const auto set =
      prepare(job_with(folder, sampling_kind::weighted, "w"), folder / "cache");
  const ledger::manifest& about = set->about();
  EXPECT_EQ(about.order, ledger::row_layout::by_class);
  for (const ledger::chunk_info& one : about.train) {
    uint32_t row = 0;
    for (const ledger::weight_run& run : one.weights)
      for (uint32_t i = 0; i < run.rows; ++i, ++row)
        EXPECT_EQ(run.weight, double(value(sample_at(one, row)) % 3));
    EXPECT_EQ(row, one.rows);
    for (row = 1; row < one.rows; ++row) {
      const uint64_t before = value(sample_at(one, row - 1));
      const uint64_t here = value(sample_at(one, row));
      EXPECT_LE(std::pair(is_rare(before), before % 3),
                std::pair(is_rare(here), here % 3));
    }
  }
  // Of each class and weight a run.
  EXPECT_LE(about.train.at(0).weights.size(), 6u);
}

TEST(order_for_uses, weighs_a_class_by_how_rare_it_is_in_the_whole_set) {
  temporary_folder folder;
  const auto set = prepare(job_with(folder, sampling_kind::class_balanced),
                           folder / "cache");
  for (const ledger::chunk_info& one : set->about().train) {
    uint32_t row = 0;
    for (const ledger::weight_run& run : one.weights)
      for (uint32_t i = 0; i < run.rows; ++i, ++row)
        EXPECT_EQ(run.weight,
                  is_rare(value(sample_at(one, row))) ? 1.0 / 10 : 1.0 / 80);
  }
}

TEST(order_for_uses, gives_every_chunk_its_part_of_each_class_to_stratify) {
  temporary_folder folder;
  job what = job_with(folder, sampling_kind::stratified);
  what.data.placement.kind = placement_kind::sorted;
  what.elastic.workers = 1;
  const auto set = prepare(what, folder / "cache");
  ASSERT_EQ(set->about().train.size(), 6u);
  for (const ledger::chunk_info& one : set->about().train) {
    EXPECT_NEAR(double(one.label_histogram.at(1)), 10.0 / 6, 1);
    for (uint32_t row = 1; row < one.rows; ++row)
      EXPECT_LE(is_rare(value(sample_at(one, row - 1))),
                is_rare(value(sample_at(one, row))));
  }
}

TEST(order_for_uses, puts_the_rows_of_a_chunk_by_score_for_a_curriculum) {
  temporary_folder folder;
  const auto set = prepare(job_with(folder, sampling_kind::curriculum, "s"),
                           folder / "cache");
  EXPECT_EQ(set->about().order, ledger::row_layout::by_score);
  for (const ledger::chunk_info& one : set->about().train) {
    EXPECT_TRUE(one.weights.empty());
    for (uint32_t row = 1; row < one.rows; ++row)
      EXPECT_LT(7 * value(sample_at(one, row - 1)) % 90,
                7 * value(sample_at(one, row)) % 90);
  }
}

TEST(order_for_uses, prepares_another_set_for_other_weights) {
  temporary_folder folder;
  const auto id = [&](const job& what) {
    return prepare(what, folder / "cache")->about().content_id;
  };
  job what = job_with(folder, sampling_kind::class_balanced);
  const std::string balanced = id(what);
  EXPECT_NE(balanced, id(job_with(folder, sampling_kind::once)));
  what.train.sampling.rows = 7; // of a run, not of a set
  EXPECT_EQ(balanced, id(what));
  what.train.sampling.beta = 0.9;
  EXPECT_NE(balanced, id(what));
}

TEST(order_for_uses, keeps_weights_in_json_and_in_tables) {
  temporary_folder folder;
  const auto set =
      prepare(job_with(folder, sampling_kind::weighted, "w"), folder / "cache");
  const ledger::manifest& about = set->about();
  const auto again = nlohmann::json(about).get<ledger::manifest>();
  const ledger::manifest read = read_chunk_table(
      chunk_table(about, chunk_columns_wanted::no_labels), "table");
  EXPECT_EQ(again.order, about.order);
  EXPECT_EQ(read.order, about.order);
  for (size_t i = 0; i < about.train.size(); ++i) {
    EXPECT_EQ(again.train[i].weights, about.train[i].weights);
    EXPECT_EQ(read.train[i].weights, about.train[i].weights);
  }
  ledger::manifest wrong = about;
  wrong.train[0].weights.pop_back();
  EXPECT_THROW(read_chunk_table(chunk_table(wrong), "table"), ballast_error);
  EXPECT_THROW(nlohmann::json(wrong).get<ledger::manifest>(),
               nlohmann::json::exception);
}

TEST(order_for_uses, names_the_row_that_has_no_weight) {
  temporary_folder folder;
  job what = job_with(folder, sampling_kind::weighted, "w");
  what.data.train.uri =
      folder.write("holes.csv", "x,kind,w\n1,0,1\n2,1,\n3,0,2\n");
  try {
    prepare(what, folder / "cache");
    FAIL() << "accepted";
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::invalid_data);
    EXPECT_EQ(error.what_failed().pointer, "/train/sampling/column");
    EXPECT_THAT(error.what(), HasSubstr("holes.csv: row 2, column \"w\" has no "
                                        "value; expected a number from 0"));
  }
}

TEST(order_for_uses, leaves_rows_without_a_weight_out_if_the_job_says_so) {
  temporary_folder folder;
  std::string text = "x,kind,w\n";
  for (int i = 0; i < 40; ++i)
    text += std::to_string(i) + "," + std::to_string(i % 2) + "," +
            (i == 3    ? "nan"
             : i == 8  ? "-5"
             : i == 13 ? ""
             : i == 20 ? "inf"
                       : "1") +
            "\n";
  job what = job_with(folder, sampling_kind::weighted, "w");
  what.data.train.uri = folder.write("holes.csv", text);
  what.data.on_error = error_policy::quarantine;
  what.data.errors_max = 0.2;
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().train_rows, 36u);
  ASSERT_TRUE(set->about().rejected);
  EXPECT_EQ(*set->about().rejected, (ledger::rejected_rows{40, 4, 4}));
  std::ifstream in(set->folder() / quarantine_name);
  const std::string lines(std::istreambuf_iterator<char>(in), {});
  EXPECT_THAT(lines, HasSubstr("holes.csv\",\"row\":9,\"column\":\"w\""));
  EXPECT_THAT(lines, HasSubstr("expected a number from 0"));
  what.data.errors_max = 0.05;
  EXPECT_THROW(prepare(what, folder / "cache"), ballast_error);
  // Who does not look at that column has the other rows, too.
  what.data.errors_max = 0.2;
  what.train.sampling = {};
  EXPECT_EQ(prepare(what, folder / "cache")->about().train_rows, 40u);
}

TEST(order_for_uses, leaves_rows_of_texts_that_are_not_listed_out_likewise) {
  temporary_folder folder;
  std::string text = "x,kind,from\n";
  for (int i = 0; i < 40; ++i)
    text += std::to_string(i) + "," + std::to_string(i % 2) + "," +
            (i == 5       ? "c"
             : i % 2 == 0 ? "a"
                          : "b") +
            "\n";
  job what = job_with(folder, sampling_kind::sources, "from");
  what.data.train.uri = folder.write("sources.csv", text);
  what.train.sampling.values = {"a", "b"};
  what.train.sampling.repeat = {1, 2};
  EXPECT_THROW(prepare(what, folder / "cache"), ballast_error);
  what.data.on_error = error_policy::skip;
  what.data.errors_max = 0.2;
  EXPECT_EQ(prepare(what, folder / "cache")->about().train_rows, 39u);
}

TEST(order_for_uses, keeps_its_column_from_the_model_unless_it_is_a_feature) {
  temporary_folder folder;
  job what = job_with(folder, sampling_kind::weighted, "w");
  what.data.train.features = {};
  EXPECT_EQ(prepare(what, folder / "cache")->about().row.features, 2u);
  what.data.train.features = {"x", "w", "s"};
  EXPECT_EQ(prepare(what, folder / "cache")->about().row.features, 3u);
  // Another job does not take these rows for all columns.
  what.data.train.features = {};
  what.train.sampling = {};
  EXPECT_EQ(prepare(what, folder / "cache")->about().row.features, 3u);
}

TEST(order_for_uses, cuts_chunks_that_have_some_uses_each) {
  temporary_folder folder;
  const auto chunks = [&](const job& what) {
    return prepare(what, folder / "cache")->about().train.size();
  };
  job what = job_with(folder, sampling_kind::class_balanced);
  what.data.chunk_rows = std::nullopt;
  EXPECT_LE(chunks(what), 4u); // 45 rows of a worker; 32 uses a chunk
  EXPECT_GE(chunks(what), 4u);
  what.train.sampling.rows = 90 * 16; // 16 uses a row
  EXPECT_GE(chunks(what), 28u);
  what.train.sampling.rows = 10; // but two chunks for each worker
  EXPECT_GE(chunks(what), 4u);
  what.train.sampling = {};
  EXPECT_GE(chunks(what), 90u);
  what = job_with(folder, sampling_kind::sources, "w");
  what.data.chunk_rows = std::nullopt;
  what.train.sampling.values = {"0", "1", "2"};
  what.train.sampling.repeat = {8, 8, 8};
  EXPECT_GE(chunks(what), 16u);
}

TEST(order_for_uses, tells_of_chunks_that_are_never_used) {
  temporary_folder folder;
  job what = job_with(folder, sampling_kind::class_balanced);
  what.train.sampling.rows = 3;
  std::string told;
  const auto tell = [&] {
    told.clear();
    prepare(what, folder / "cache",
            {.warn = [&](const std::string& line) { told += line + "\n"; }});
    return told;
  };
  EXPECT_THAT(tell(), HasSubstr("will never be used"));
  EXPECT_THAT(tell(), HasSubstr("raise /train/sampling/rows")); // once more
  EXPECT_THAT(check_uses(what, {}), HasSubstr("will never be used"));
  what.train.sampling.rows = 3000;
  EXPECT_EQ(tell(), "");
  EXPECT_EQ(check_uses(what, {}), "");
}

} // namespace
} // namespace ballast::data
