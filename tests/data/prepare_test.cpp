#include "data/content_hash.hpp"
#include "data/prepare_cache.hpp"
#include "data/prepared_set.hpp"
#include "runtime/errors.hpp"
#include "tests/data/source_builders.hpp"

#include <algorithm>
#include <csignal>
#include <gmock/gmock.h>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>

namespace ballast {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Names in the cache folder that are neither complete sets nor housekeeping.
std::vector<std::string> leftovers(const fs::path& cache) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(cache, ignored))
    if (entry.path().filename().string().ends_with(".tmp"))
      out.push_back(entry.path().string());
  return out;
}

std::vector<std::string> sets_in(const fs::path& cache) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(cache))
    if (fs::exists(entry.path() / "manifest.json"))
      out.push_back(entry.path().filename().string());
  return out;
}

/// 11 images of 2 x 3 pixels, 3 classes.
struct tiny_idx {
  temporary_folder folder;
  fs::path cache = folder / "cache";
  job what = job_of(idx_source(folder.write("images", idx_images(11)),
                               folder.write("labels", idx_labels(11, 3))));
};

TEST(prepare, cuts_each_workers_rows_into_chunks) {
  tiny_idx tiny;
  tiny.what.data.pipeline = {{"scale", 0.5, {}}, {"scale", 0.25, {}}};
  const auto set = prepare(tiny.what, tiny.cache);
  const manifest& about = set->about();
  EXPECT_EQ(about.train_rows, 11u);
  EXPECT_EQ(about.test_rows, 0u);
  EXPECT_EQ(about.row.features, 6u);
  EXPECT_EQ(about.row.shape, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(about.row.stored, "uint8");
  EXPECT_EQ(about.row.scale, 0.125);
  EXPECT_EQ(about.row.classes, 3u);
  EXPECT_EQ(about.sources,
            (std::vector<std::string>{tiny.what.data.train.images,
                                      tiny.what.data.train.labels}));
  // 6 rows: 4 + 2; 5 rows: 4 + 1.
  std::vector<uint32_t> rows;
  for (const chunk_info& chunk : about.train)
    rows.push_back(chunk.rows);
  EXPECT_EQ(rows, (std::vector<uint32_t>{4, 2, 4, 1}));
  EXPECT_EQ(about.placement,
            (std::vector<std::vector<chunk_id>>{{chunk_id{0}, chunk_id{1}},
                                                {chunk_id{2}, chunk_id{3}}}));
  for (const chunk_info& info : about.train) {
    const chunk_ptr chunk = set->read(data_part::train, info.id);
    ASSERT_EQ(chunk->rows, info.rows);
    EXPECT_EQ(checksum(*chunk, about.row), info.checksum);
    EXPECT_GT(info.bytes, chunk->bytes);
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
  for (const char* kind :
       {"contiguous", "iid", "stratified", "sorted", "dirichlet", "sizes",
        "lognormal", "linear", "square", "exponential", "inner_dirichlet",
        "shards", "classes", "matrix"}) {
    for (double fraction : {0.0, 0.3}) {
      job what = job_of(idx_source(folder.write("images", idx_images(40)),
                                   folder.write("labels", idx_labels(40, 3))));
      what.data.placement.kind = kind;
      what.data.placement.shares = {5, 2, 1};
      what.data.placement.matrix = {{1, 1, 0}, {0, 1, 1}, {2, 1, 1}};
      what.elastic.workers = 3;
      what.data.test_fraction = fraction;
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(fraction));
      const auto set = prepare(what, folder / "cache");
      const manifest& about = set->about();
      EXPECT_EQ(about.test_rows, fraction > 0 ? 12u : 0u);
      std::set<uint64_t> sources;
      for (const data_part part : {data_part::train, data_part::test}) {
        std::set<uint64_t> samples;
        const auto& chunks =
            part == data_part::train ? about.train : about.test;
        for (const chunk_info& info : chunks) {
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
  for (const chunk_info& info : set->about().test)
    for (size_t label = 0; label < 4; ++label)
      histogram[label] += info.label_histogram[label];
  EXPECT_EQ(histogram, (std::vector<uint64_t>{2, 2, 2, 2}));
}

TEST(prepare, finds_equal_content_again_wherever_it_lies) {
  tiny_idx tiny;
  const std::string id = prepare(tiny.what, tiny.cache)->about().content_id;
  const auto written = fs::last_write_time(tiny.cache / id / "train.arrow");
  job again = tiny.what;
  again.model.kind = "cnn"; // does not matter to the data
  again.seed = 8;           // nor does the seed of contiguous rows
  again.data.train.images = tiny.folder.write("copy", idx_images(11));
  const auto set = prepare(again, tiny.cache);
  EXPECT_EQ(set->about().content_id, id);
  EXPECT_EQ(set->about().sources[0], again.data.train.images);
  EXPECT_EQ(fs::last_write_time(tiny.cache / id / "train.arrow"), written);
  EXPECT_EQ(sets_in(tiny.cache).size(), 1u);
}

TEST(prepare, makes_another_set_for_whatever_changes_it) {
  tiny_idx tiny;
  std::set<std::string> ids{prepare(tiny.what, tiny.cache)->about().content_id};
  auto expect_new = [&](const char* change, auto edit) {
    job other = tiny.what;
    edit(other);
    EXPECT_TRUE(
        ids.insert(prepare(other, tiny.cache)->about().content_id).second)
        << change;
  };
  expect_new("chunk_rows", [](job& j) { j.data.chunk_rows = 5; });
  expect_new("workers", [](job& j) { j.elastic.workers = 3; });
  expect_new("pipeline", [](job& j) { j.data.pipeline = {{"scale", 2, {}}}; });
  expect_new("placement", [](job& j) { j.data.placement.kind = "iid"; });
  expect_new("seed of iid", [](job& j) {
    j.data.placement.kind = "iid";
    j.seed = 8;
  });
  placement_spec random;
  random.kind = "dirichlet";
  auto expect_new_placement = [&](const char* change, auto edit) {
    expect_new(change, [&](job& j) {
      j.data.placement = random;
      edit(j.data.placement);
    });
  };
  expect_new_placement("dirichlet", [](placement_spec&) {});
  expect_new_placement("alpha", [](placement_spec& p) { p.alpha = 2; });
  expect_new_placement("min_rows", [](placement_spec& p) { p.min_rows = 3; });
  expect_new_placement("balanced",
                       [](placement_spec& p) { p.balanced = true; });
  random.kind = "inner_dirichlet";
  expect_new_placement("inner_dirichlet", [](placement_spec&) {});
  expect_new_placement("its shares", [](placement_spec& p) {
    p.shares = {1, 2};
  });
  random.kind = "shards";
  expect_new_placement("shards", [](placement_spec&) {});
  expect_new_placement("shards_per_worker",
                       [](placement_spec& p) { p.shards_per_worker = 1; });
  random.kind = "matrix";
  random.matrix = {{1, 1, 1}, {1, 1, 1}};
  expect_new_placement("matrix", [](placement_spec&) {});
  expect_new_placement("a weight",
                       [](placement_spec& p) { p.matrix[1][2] = 0.5; });
  expect_new("fraction", [](job& j) { j.data.test_fraction = 0.5; });
  expect_new("regression", [](job& j) { j.train.loss = "mse"; });
  expect_new("test", [](job& j) { j.data.test = j.data.train; });
  expect_new("content", [&](job& j) {
    std::string bytes = idx_images(11);
    bytes.back() ^= 1;
    j.data.train.images = tiny.folder.write("other", bytes);
  });
}

// Sets that older builds prepared are found again. Method: the identity of
// such a set, written down here.
TEST(prepare, keeps_the_names_of_sets_when_placements_get_options) {
  temporary_folder folder;
  job what = job_of(synthetic_source(30, 3, 2));
  what.data.placement.kind = "dirichlet";
  content_hash hash;
  hash.update(R"({"alpha":0.5,"chunk_rows":4,"format":2,)"
              R"("placement":"dirichlet","regression":false,"seed":7,)"
              R"("test_fraction":0.0,)"
              R"("train":{"classes":3,"rows":30,"width":2},"workers":2})");
  EXPECT_EQ(prepare(what, folder / "cache")->about().content_id,
            hex16(hash.digest()));
}

TEST(prepare, keeps_rows_of_one_value_on_one_worker) {
  temporary_folder folder;
  std::string text = "user,x,y\n";
  for (int row = 0; row < 60; ++row)
    text += std::to_string(row * row % 7) + "," + std::to_string(row) + "," +
            std::to_string(row % 2) + "\n";
  job what = job_of(table_source("csv", folder.write("t.csv", text), "y"));
  what.data.placement.kind = "column";
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
  job what = job_of(table_source(
      "csv", folder.write("t.csv", "user,y\n1,0\n1,1\n1,0\n2,1\n"), "y"));
  what.elastic.workers = 3;
  auto refuses = [&](const std::string& pointer, const std::string& says) {
    try {
      prepare(what, folder / "cache");
      ADD_FAILURE() << says;
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().code, errc::invalid_data);
      EXPECT_EQ(error.what_failed().pointer, pointer);
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  };
  what.data.placement.kind = "column";
  what.data.placement.column = "name";
  refuses("/data/placement/column",
          "no column 'name' is loaded; expected the label or one of the "
          "features: 'y', 'user'");
  what.data.placement.column = "user";
  refuses("/data/placement/column", "2 different values");
  what.data.placement.kind = "matrix";
  what.data.placement.matrix = {{1, 0}, {1, 0}, {1, 0}};
  refuses("/data/placement/matrix", "column 1 is all 0");
  what.data.placement.kind = "classes";
  what.data.placement.classes_per_worker = 3;
  refuses("/data/placement/classes_per_worker", "3 different classes of 2");
}

// Goal: a memoised hash never hides a change. Method: rewrite in place, same
// size, at once.
TEST(prepare, sees_a_source_that_changed_under_its_name) {
  tiny_idx tiny;
  const std::string before = prepare(tiny.what, tiny.cache)->about().content_id;
  std::string bytes = idx_images(11);
  bytes.back() ^= 1;
  tiny.folder.write("images", bytes);
  EXPECT_NE(prepare(tiny.what, tiny.cache)->about().content_id, before);
}

TEST(prepare, gives_rows_the_shape_that_the_job_asks_for) {
  temporary_folder folder;
  job what = job_of(synthetic_source(8, 2, 24));
  const std::string before =
      prepare(what, folder / "cache")->about().content_id;
  what.data.pipeline = {{"scale", 2, {}}, {"reshape", 1, {2, 3, 4}}};
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.shape, (std::vector<uint32_t>{2, 3, 4}));
  EXPECT_EQ(set->about().row.features, 24u);
  EXPECT_EQ(set->about().row.scale, 2);
  EXPECT_NE(set->about().content_id, before);
  for (const std::vector<uint32_t>& wrong :
       {std::vector<uint32_t>{5, 5}, {1000000, 1000000, 1000000, 1000000}}) {
    what.data.pipeline[1].shape = wrong;
    try {
      prepare(what, folder / "cache");
      ADD_FAILURE() << "accepted";
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().code, errc::invalid_job);
      EXPECT_EQ(error.what_failed().pointer, "/data/pipeline/1/shape");
      EXPECT_THAT(error.what(), HasSubstr("24 values"));
    }
  }
}

TEST(prepare, keeps_regression_targets_as_numbers) {
  temporary_folder folder;
  job what = job_of(table_source(
      "csv", folder.write("t.csv", "x,y\n1,0.5\n2,-1.5\n3,2\n"), "y"));
  what.train.loss = "mse";
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
  job what = job_of(table_source("csv", folder.write("t.csv", text), "y"));
  what.train.loss = "mse";
  what.data.placement.kind = "sorted";
  what.data.test_fraction = 0.2;
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.target_bins, 16u);
  std::vector<uint64_t> sums(16);
  float highest_of_first = 0;
  float lowest_of_second = 100;
  for (const chunk_info& info : set->about().train) {
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
  for (const chunk_info& info : set->about().test)
    for (uint64_t rows : info.label_histogram)
      test_rows += rows;
  EXPECT_EQ(test_rows, 20u);
}

TEST(prepare, stores_train_and_test_alike) {
  temporary_folder folder;
  job what = job_of(
      table_source("csv", folder.write("a.csv", "x,z,y\n1,7,0\n2,8,1\n"), "y"));
  what.data.test = table_source(
      "csv", folder.write("b.csv", "y,note,z,x\n1,hello,0.5,-4\n"), "y");
  const auto set = prepare(what, folder / "cache");
  EXPECT_EQ(set->about().row.stored, "float32");
  const chunk_ptr test = set->read(data_part::test, chunk_id{0});
  // By name, in the order of the training set.
  EXPECT_EQ(static_cast<const float*>(test->features)[0], -4.0f);
  EXPECT_EQ(static_cast<const float*>(test->features)[1], 0.5f);
  const chunk_ptr train = set->read(data_part::train, chunk_id{0});
  EXPECT_EQ(static_cast<const float*>(train->features)[1], 7.0f);
}

TEST(prepare, makes_a_damaged_set_again) {
  tiny_idx tiny;
  const std::string id = prepare(tiny.what, tiny.cache)->about().content_id;
  for (const char* name : {"manifest.json", "train.arrow", "test.arrow"}) {
    fs::resize_file(tiny.cache / id / name, 20);
    EXPECT_THROW(prepared_set::open(tiny.cache / id), ballast_error) << name;
    EXPECT_EQ(prepare(tiny.what, tiny.cache)->about().train_rows, 11u) << name;
    fs::remove(tiny.cache / id / name);
    EXPECT_EQ(prepare(tiny.what, tiny.cache)->about().train_rows, 11u) << name;
  }
  EXPECT_TRUE(leftovers(tiny.cache).empty());
}

TEST(prepare, clears_away_what_a_killed_process_left) {
  tiny_idx tiny;
  const std::string id = prepare(tiny.what, tiny.cache)->about().content_id;
  fs::remove_all(tiny.cache / id);
  fs::create_directories(tiny.cache / (id + ".tmp"));
  std::ofstream(tiny.cache / (id + ".tmp") / "train.arrow") << "half";
  const std::string other = "00112233aabbccdd.tmp";
  fs::create_directories(tiny.cache / other);
  EXPECT_EQ(prepare(tiny.what, tiny.cache)->about().train_rows, 11u);
  EXPECT_TRUE(leftovers(tiny.cache).empty());
}

// Method: many processes prepare the same set at once; each must end with a
// whole one, and nobody with an error.
TEST(prepare, is_safe_for_many_processes_at_once) {
  temporary_folder folder;
  job what = job_of(synthetic_source(5000, 4, 16), 64);
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      int code = 1;
      try {
        code =
            prepare(what, folder / "cache")->about().train_rows == 5000 ? 0 : 2;
      } catch (const std::exception& error) {
        fprintf(stderr, "%s\n", error.what());
      }
      _exit(code);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(sets_in(folder / "cache").size(), 1u);
  EXPECT_TRUE(leftovers(folder / "cache").empty());
}

TEST(prepare, evicts_the_least_recently_used_but_none_in_use) {
  temporary_folder folder;
  const fs::path cache = folder / "cache";
  auto prepared = [&](uint64_t rows) {
    return prepare(job_of(synthetic_source(rows, 2, 8), 64), cache);
  };
  auto used = prepared(1000);
  const std::string in_use = used->about().content_id;
  const std::string old = prepared(1001)->about().content_id;
  const std::string young = prepared(1002)->about().content_id;
  // In use and longest unused; then `old`; then `young`.
  auto age = [&](const std::string& id, int hours) {
    fs::last_write_time(cache / id / "manifest.json",
                        fs::file_time_type::clock::now() -
                            std::chrono::hours(hours));
  };
  age(in_use, 3);
  age(old, 2);
  age(young, 1);
  uint64_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(cache))
    bytes += file.is_regular_file() ? file.file_size() : 0;
  prepare_cache(cache).evict(bytes * 9 / 10);
  EXPECT_TRUE(fs::exists(cache / in_use));
  EXPECT_FALSE(fs::exists(cache / old));
  EXPECT_TRUE(fs::exists(cache / young));
  prepare_cache(cache).evict(0);
  EXPECT_EQ(sets_in(cache), std::vector<std::string>{in_use});
  EXPECT_EQ(used->read(data_part::train, chunk_id{3})->rows, 64u);
  used.reset();
  prepare_cache(cache).evict(0);
  EXPECT_TRUE(sets_in(cache).empty());
}

TEST(prepare, keeps_the_cache_within_its_limit) {
  temporary_folder folder;
  setenv("BALLAST_CACHE_LIMIT_GB", "0.00005", 1); // 50 kB: one set
  for (uint64_t rows : {1000, 1001, 1002}) {
    const auto set =
        prepare(job_of(synthetic_source(rows, 2, 8), 64), folder / "cache");
    EXPECT_EQ(sets_in(folder / "cache"),
              std::vector<std::string>{set->about().content_id});
  }
  setenv("BALLAST_CACHE_LIMIT_GB", "lots", 1);
  EXPECT_THROW(cache_limit_bytes(), ballast_error);
  unsetenv("BALLAST_CACHE_LIMIT_GB");
  EXPECT_EQ(cache_limit_bytes(), 20'000'000'000u);
}

TEST(prepare, refuses_a_cache_that_cannot_be_written) {
  tiny_idx tiny;
  const std::string file = tiny.folder.write("file", "x");
  try {
    prepare(tiny.what, fs::path(file) / "cache");
    FAIL();
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::run_dir_unusable);
    EXPECT_THAT(error.what(), HasSubstr(file));
    EXPECT_THAT(error.what(), HasSubstr("$BALLAST_CACHE"));
  }
}

// Method: a child whose files may not grow beyond 64 KiB stands for a disk
// that is full halfway.
TEST(prepare, leaves_nothing_half_written_on_a_full_disk) {
  temporary_folder folder;
  const job what = job_of(synthetic_source(20000, 4, 16), 64);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{65536, 65536};
    setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      prepare(what, folder / "cache");
    } catch (const ballast_error& error) {
      code = error.what_failed().code == errc::disk_full ? 0 : 2;
      if (code != 0)
        fprintf(stderr, "%s\n", error.what());
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(sets_in(folder / "cache").empty());
  EXPECT_TRUE(leftovers(folder / "cache").empty());
  EXPECT_EQ(prepare(what, folder / "cache")->about().train_rows, 20000u);
}

TEST(prepare, reads_chunks_from_many_threads) {
  temporary_folder folder;
  const auto set =
      prepare(job_of(synthetic_source(1000, 3, 8), 16), folder / "cache");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (const chunk_info& info : set->about().train)
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
} // namespace ballast
