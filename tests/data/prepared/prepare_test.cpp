#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"
#include "tests/data/tiny_idx.hpp"
#include "tests/runtime/ledger/expanded.hpp"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

void expect_refused(const job& what, const temporary_folder& folder, errc code,
                    const std::string& pointer, const std::string& says) {
  try {
    prepare(what, folder / "cache");
    ADD_FAILURE() << "accepted; " << says;
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, code) << says;
    EXPECT_EQ(error.what_failed().pointer, pointer);
    EXPECT_THAT(error.what(), HasSubstr(says));
  }
}

TEST(prepare, cuts_each_workers_rows_into_chunks) {
  tiny_idx tiny;
  tiny.what.data.pipeline = {{pipeline_op::scale, 0.5, {}},
                             {pipeline_op::scale, 0.25, {}}};
  const auto set = prepare(tiny.what, tiny.cache);
  const ledger::manifest& about = set->about();
  EXPECT_EQ(about.train_rows, 11u);
  EXPECT_EQ(about.test_rows, 0u);
  EXPECT_EQ(about.row.features, 6u);
  EXPECT_EQ(about.row.shape, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(about.row.stored, ledger::stored_type::uint8);
  EXPECT_EQ(about.row.scale, 0.125);
  EXPECT_EQ(about.row.classes, 3u);
  EXPECT_EQ(about.sources,
            (std::vector<std::string>{tiny.what.data.train.images,
                                      tiny.what.data.train.labels}));
  // 6 rows: 4 + 2; 5 rows: 4 + 1.
  std::vector<uint32_t> rows;
  for (const ledger::chunk_info& chunk : about.train)
    rows.push_back(chunk.rows);
  EXPECT_EQ(rows, (std::vector<uint32_t>{4, 2, 4, 1}));
  EXPECT_EQ(about.placement,
            (std::vector<std::vector<chunk_id>>{{chunk_id{0}, chunk_id{1}},
                                                {chunk_id{2}, chunk_id{3}}}));
  for (const ledger::chunk_info& info : about.train) {
    const chunk_ptr chunk = set->read(data_part::train, info.id);
    ASSERT_EQ(chunk->rows, info.rows);
    EXPECT_EQ(checksum(*chunk, about.row), info.checksum);
    EXPECT_EQ(info.bytes, chunk->bytes);
    std::vector<uint64_t> histogram(3);
    const auto* pixels = static_cast<const uint8_t*>(chunk->features);
    for (uint32_t i = 0; i < info.rows; ++i) {
      const uint64_t sample = value(sample_at(info, i));
      EXPECT_EQ(chunk->sample_ids[i], sample);
      EXPECT_EQ(chunk->labels[i], int32_t(sample % 3));
      EXPECT_EQ(pixels[i * 6 + 5], sample * 6 + 5);
      ++histogram[size_t(chunk->labels[i])];
    }
    EXPECT_EQ(info.label_histogram, histogram);
    EXPECT_EQ(info.source_rows, info.samples);
  }
}

// Every kind of placement and split: each source row is in exactly one chunk
// of train or test, with its own values, and sample ids are 0 to N - 1.
TEST(prepare, uses_every_source_row_exactly_once) {
  temporary_folder folder;
  for (const std::string_view kind : ballast::words_of<placement_kind>) {
    if (kind == "column" || kind == "continuous")
      continue; // go by a column of a table
    for (double fraction : {0.0, 0.3}) {
      job what = job_of(idx_source(folder.write("images", idx_images(40)),
                                   folder.write("labels", idx_labels(40, 3))));
      what.data.placement.kind = *parse_word<placement_kind>(kind);
      what.data.placement.shares = {5, 2, 1};
      what.data.placement.matrix = {{1, 1, 0}, {0, 1, 1}, {2, 1, 1}};
      what.elastic.workers = 3;
      what.data.test_fraction = fraction;
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(fraction));
      const auto set = prepare(what, folder / "cache");
      const ledger::manifest& about = set->about();
      EXPECT_EQ(about.test_rows, fraction > 0 ? 12u : 0u);
      std::set<uint64_t> sources;
      for (const data_part part : {data_part::train, data_part::test}) {
        std::set<uint64_t> samples;
        const auto& chunks =
            part == data_part::train ? about.train : about.test;
        for (const ledger::chunk_info& info : chunks) {
          const chunk_ptr chunk = set->read(part, info.id);
          const std::vector<uint64_t> lineage = expand(info.source_rows);
          ASSERT_EQ(lineage.size(), info.rows);
          for (uint32_t i = 0; i < info.rows; ++i) {
            EXPECT_TRUE(sources.insert(lineage[i]).second);
            EXPECT_TRUE(samples.insert(chunk->sample_ids[i]).second);
            EXPECT_EQ(static_cast<const uint8_t*>(chunk->features)[i * 6],
                      lineage[i] * 6);
            EXPECT_EQ(chunk->labels[i], int32_t(lineage[i] % 3));
          }
        }
        if (!samples.empty()) {
          EXPECT_EQ(*samples.rbegin(), samples.size() - 1);
        }
      }
      EXPECT_EQ(sources.size(), 40u);
    }
  }
}

TEST(prepare, splits_each_class_by_the_test_fraction) {
  temporary_folder folder;
  job what = job_of(idx_source(folder.write("images", idx_images(40)),
                               folder.write("labels", idx_labels(40, 4))));
  what.data.test_fraction = 0.2;
  const auto set = prepare(what, folder / "cache");
  std::vector<uint64_t> histogram(4);
  for (const ledger::chunk_info& info : set->about().test)
    for (size_t label = 0; label < 4; ++label)
      histogram[label] += info.label_histogram[label];
  EXPECT_EQ(histogram, (std::vector<uint64_t>{2, 2, 2, 2}));
}

TEST(prepare, keeps_rows_of_one_value_on_one_worker) {
  temporary_folder folder;
  std::string text = "user,x,y\n";
  for (int row = 0; row < 60; ++row)
    text += std::to_string(row * row % 7) + "," + std::to_string(row) + "," +
            std::to_string(row % 2) + "\n";
  job what = job_of(
      table_source(source_format::csv, folder.write("t.csv", text), "y"));
  what.data.placement.kind = placement_kind::column;
  what.data.placement.column = "user";
  what.data.test_fraction = 0.2; // rows and samples differ
  const auto set = prepare(what, folder / "cache");
  std::map<int, std::set<size_t>> workers_of;
  for (size_t worker = 0; worker < 2; ++worker)
    for (const chunk_id id : set->about().placement[worker]) {
      const chunk_ptr chunk = set->read(data_part::train, id);
      for (uint32_t row = 0; row < chunk->rows; ++row)
        workers_of[static_cast<const uint8_t*>(chunk->features)[row * 2]]
            .insert(worker);
    }
  EXPECT_EQ(workers_of.size(), 4u); // squares modulo 7
  for (const auto& [user, workers] : workers_of)
    EXPECT_EQ(workers.size(), 1u) << user;
}

TEST(prepare, says_why_rows_cannot_be_placed_as_asked) {
  temporary_folder folder;
  job what = job_of(
      table_source(source_format::csv,
                   folder.write("t.csv", "user,y\n1,0\n1,1\n1,0\n2,1\n"), "y"));
  what.elastic.workers = 3;
  auto refuses = [&](const std::string& pointer, const std::string& says) {
    expect_refused(what, folder, errc::invalid_data, pointer, says);
  };
  what.data.placement.kind = placement_kind::column;
  what.data.placement.column = "name";
  refuses("/data/placement/column",
          "no column 'name' is loaded; expected the label or one of the "
          "features (they are 'y', 'user')");
  what.data.placement.column = "user";
  refuses("/data/placement/column", "2 different values");
  what.data.placement.kind = placement_kind::matrix;
  what.data.placement.matrix = {{1, 0}, {1, 0}, {1, 0}};
  refuses("/data/placement/matrix", "column 1 is all 0");
  what.data.placement.kind = placement_kind::classes;
  what.data.placement.classes_per_worker = 3;
  refuses("/data/placement/classes_per_worker", "3 different classes of 2");
}

TEST(prepare, gives_rows_the_shape_that_the_job_asks_for) {
  temporary_folder folder;
  job what = job_of(synthetic_source(8, 2, 24));
  const std::string before =
      prepare(what, folder / "cache")->about().content_id;
  what.data.pipeline = {{pipeline_op::scale, 2, {}},
                        {pipeline_op::reshape, 1, {2, 3, 4}}};
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.shape, (std::vector<uint32_t>{2, 3, 4}));
  EXPECT_EQ(set->about().row.features, 24u);
  EXPECT_EQ(set->about().row.scale, 2);
  EXPECT_NE(set->about().content_id, before);
  for (const std::vector<uint32_t>& wrong :
       {std::vector<uint32_t>{5, 5}, {1000000, 1000000, 1000000, 1000000}}) {
    what.data.pipeline[1].shape = wrong;
    expect_refused(what, folder, errc::invalid_job, "/data/pipeline/1/shape",
                   "24 values");
  }
}

TEST(prepare, keeps_regression_targets_as_numbers) {
  temporary_folder folder;
  job what = job_of(
      table_source(source_format::csv,
                   folder.write("t.csv", "x,y\n1,0.5\n2,-1.5\n3,2\n"), "y"));
  what.train.loss = loss_kind::mse;
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.classes, 0u);
  const chunk_ptr chunk = set->read(data_part::train, chunk_id{0});
  EXPECT_EQ(chunk->labels, nullptr);
  EXPECT_EQ(chunk->targets[1], -1.5f);
}

TEST(prepare, counts_regression_targets_by_bins) {
  temporary_folder folder;
  std::string text = "x,y\n";
  for (int row = 0; row < 100; ++row)
    text += "1," + std::to_string(row * 37 % 100 / 2.0) + "\n";
  job what = job_of(
      table_source(source_format::csv, folder.write("t.csv", text), "y"));
  what.train.loss = loss_kind::mse;
  what.data.placement.kind = placement_kind::sorted;
  what.data.test_fraction = 0.2;
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.target_bins, 16u);
  std::vector<uint64_t> sums(16);
  float highest_of_first = 0;
  float lowest_of_second = 100;
  for (const ledger::chunk_info& info : set->about().train) {
    ASSERT_EQ(info.label_histogram.size(), 16u);
    for (size_t bin = 0; bin < 16; ++bin)
      sums[bin] += info.label_histogram[bin];
    const chunk_ptr chunk = set->read(data_part::train, info.id);
    for (uint32_t row = 0; row < info.rows; ++row)
      if (value(info.id) < set->about().placement[0].size())
        highest_of_first = std::max(highest_of_first, chunk->targets[row]);
      else
        lowest_of_second = std::min(lowest_of_second, chunk->targets[row]);
  }
  EXPECT_EQ(sums, std::vector<uint64_t>(16, 5));
  EXPECT_LT(highest_of_first, lowest_of_second);
  uint64_t test_rows = 0;
  for (const ledger::chunk_info& info : set->about().test)
    for (uint64_t rows : info.label_histogram)
      test_rows += rows;
  EXPECT_EQ(test_rows, 20u);
}

/// 240 rows of 3 sites and 40 patients, in the order of sites.
std::string hospital_rows() {
  std::string text = "site,patient,length,x,y\n";
  for (int row = 0; row < 240; ++row)
    text += std::string(row < 120   ? "berlin"
                        : row < 200 ? "paris"
                                    : "") +
            ",p" + std::to_string(row * 11 % 40) + "," +
            std::to_string(row * 7 % 100) + ",1," + std::to_string(row % 2) +
            "\n";
  return text;
}

TEST(prepare, counts_rows_by_the_columns_that_balance_goes_by) {
  temporary_folder folder;
  job what = job_of(table_source(
      source_format::csv, folder.write("t.csv", hospital_rows()), "y", {"x"}));
  what.data.test_fraction = 0;
  what.balance.by = {"site", "y"};
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.classes, 2u); // of the model
  EXPECT_EQ(set->about().row.features, 1u);
  EXPECT_EQ(histogram_bins(set->about().row), 6u);
  std::multiset<uint64_t> sums;
  for (size_t bin = 0; bin < 6; ++bin) {
    uint64_t rows = 0;
    for (const ledger::chunk_info& info : set->about().train)
      rows += info.label_histogram.at(bin);
    sums.insert(rows);
  }
  EXPECT_THAT(sums, testing::ElementsAre(20, 20, 40, 40, 60, 60));
  what.balance.by = {"length"};
  EXPECT_EQ(histogram_bins(prepare(what, folder / "cache")->about().row), 16u);
  what.balance.by = {"sight"};
  expect_refused(what, folder, errc::invalid_data, "/balance/by/0",
                 "has no column 'sight'");
}

TEST(prepare, cuts_chunks_by_the_size_of_a_share_where_the_job_leaves_it_open) {
  temporary_folder folder;
  job what = job_of(synthetic_source(640, 2, 3));
  what.data.chunk_rows.reset();
  const auto set = prepare(what, folder / "cache");
  for (const ledger::chunk_info& chunk : set->about().train)
    EXPECT_EQ(chunk.rows, 10u) << "32 of 320 rows";
}

TEST(prepare, refuses_columns_with_too_many_combinations) {
  temporary_folder folder;
  std::string text = "a,b,x,y\n";
  for (int row = 0; row < 8000; ++row)
    text += "a" + std::to_string(row / 2 % 60) + ",b" +
            std::to_string(row / 120) + ",1," + std::to_string(row % 2) + "\n";
  job what = job_of(table_source(source_format::csv,
                                 folder.write("t.csv", text), "y", {"x"}));
  what.balance.by = {"a", "b", "y"};
  expect_refused(what, folder, errc::invalid_data, "/balance/by",
                 "different combinations");
}

TEST(prepare, counts_a_test_set_of_its_own_by_the_same_columns) {
  temporary_folder folder;
  const std::string file = folder.write("t.csv", hospital_rows());
  job what = job_of(table_source(source_format::csv, file, "y", {"x"}));
  what.data.test = table_source(
      source_format::csv,
      folder.write("v.csv", "y,x,site\n0,1,paris\n1,1,rome\n1,1,paris\n"), "y");
  what.balance.by = {"site"};
  what.balance.group = "patient"; // which the test set does not have
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(histogram_bins(set->about().row), 4u); // rome is beside the others
  EXPECT_THAT(set->about().test.at(0).label_histogram,
              testing::UnorderedElementsAre(0, 0, 1, 2));
}

TEST(prepare, keeps_groups_in_one_chunk_of_one_worker) {
  temporary_folder folder;
  job what = job_of(table_source(
      source_format::csv, folder.write("t.csv", hospital_rows()), "y", {"x"}));
  what.data.test_fraction = 0;
  what.data.chunk_rows = 20;
  what.data.placement.kind = placement_kind::iid;
  what.balance.group = "patient";
  const auto set = prepare(what, folder / "cache");
  EXPECT_TRUE(set->about().whole_chunks);
  std::map<uint64_t, std::set<chunk_id>> chunks_of_patient;
  for (const ledger::chunk_info& info : set->about().train) {
    EXPECT_LE(info.rows, 20u);
    for (uint32_t row = 0; row < info.rows; ++row)
      chunks_of_patient[value(sample_at(info, row)) * 11 % 40].insert(info.id);
  }
  EXPECT_EQ(chunks_of_patient.size(), 40u);
  for (const auto& [patient, chunks] : chunks_of_patient)
    EXPECT_EQ(chunks.size(), 1u) << "patient " << patient;
}

TEST(prepare, stores_train_and_test_alike) {
  temporary_folder folder;
  job what = job_of(table_source(
      source_format::csv, folder.write("a.csv", "x,z,y\n1,7,0\n2,8,1\n"), "y"));
  what.data.test =
      table_source(source_format::csv,
                   folder.write("b.csv", "y,note,z,x\n1,hello,0.5,-4\n"), "y");
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.stored, ledger::stored_type::float32);
  const chunk_ptr test = set->read(data_part::test, chunk_id{0});
  // By name, in the order of the training set.
  EXPECT_EQ(static_cast<const float*>(test->features)[0], -4.0f);
  EXPECT_EQ(static_cast<const float*>(test->features)[1], 0.5f);
  const chunk_ptr train = set->read(data_part::train, chunk_id{0});
  EXPECT_EQ(static_cast<const float*>(train->features)[1], 7.0f);
}

TEST(prepare, says_once_which_columns_it_leaves_out) {
  temporary_folder folder;
  const std::string path =
      folder.write("t.csv", "name,x,y\nann,1,0\nbob,2,1\n");
  const job what = job_of(table_source(source_format::csv, path, "y"));
  std::vector<std::string> said;
  const prepare_options options{
      .warn = [&](const std::string& text) { said.push_back(text); }};
  for (int round = 0; round < 2; ++round) {
    const auto set = prepare(what, folder / "cache", options);
    EXPECT_EQ(set->about().left_out, std::vector<std::string>{"name"});
    ASSERT_EQ(said.size(), 1U);
    EXPECT_THAT(said[0], testing::HasSubstr(path + ": left out 'name'"));
  }
}

// What they left out need not have been text: they looked at the first row.
TEST(prepare, does_not_take_a_csv_set_of_an_earlier_build) {
  temporary_folder folder;
  const job what = job_of(table_source(
      source_format::csv, folder.write("t.csv", "x,y\n1,0\n2,1\n"), "y"));
  const std::string key = prepare(what, folder / "cache")->about().content_id;
  const fs::path file = folder / "cache" / key / "manifest.json";
  const auto read = [&] {
    std::ifstream in(file);
    return nlohmann::json::parse(in);
  };
  nlohmann::json content = read();
  content.erase("left_out");
  content.erase("checksum");
  std::ofstream(file) << content;
  EXPECT_EQ(prepare(what, folder / "cache")->about().content_id, key);
  EXPECT_TRUE(read().contains("left_out"));
}

TEST(prepare, reads_chunks_from_many_threads) {
  temporary_folder folder;
  const auto set =
      prepare(job_of(synthetic_source(1000, 3, 8), 16), folder / "cache");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (const ledger::chunk_info& info : set->about().train)
        EXPECT_EQ(
            checksum(*set->read(data_part::train, info.id), set->about().row),
            info.checksum);
    });
  for (std::thread& thread : threads)
    thread.join();
}

// An independent reader: pyarrow must see the same chunks.
TEST(prepare, writes_files_that_pyarrow_reads) {
  if (std::system("python3 -c 'import pyarrow' 2>/dev/null") != 0)
    GTEST_SKIP() << "no pyarrow in PYTHONPATH";
  tiny_idx tiny;
  const auto set = prepare(tiny.what, tiny.cache);
  const fs::path folder = tiny.cache / set->about().content_id;
  const std::string script = tiny.folder.write("check.py", R"(
import json, sys
import pyarrow as pa
folder = sys.argv[1]
about = json.load(open(folder + "/manifest.json"))
file = pa.ipc.open_file(pa.memory_map(folder + "/train.arrow"))
assert file.num_record_batches == len(about["train"]), file.num_record_batches
for number, chunk in enumerate(about["train"]):
    batch = file.get_batch(number)
    batch.validate(full=True)
    assert batch.num_rows == chunk["rows"]
    for pixels, label, sample in zip(batch["features"].to_pylist(),
                                     batch["label"].to_pylist(),
                                     batch["sample_id"].to_pylist()):
        assert pixels == [sample * 6 + j for j in range(6)], pixels
        assert label == sample % 3
assert batch.schema.field("features").type == pa.list_(
    pa.field("item", pa.uint8(), False), 6)
)");
  EXPECT_EQ(std::system(("python3 " + script + " " + folder.string()).c_str()),
            0);
}

} // namespace
} // namespace ballast::data
