// Goal: prepared sets are found again, made again where they must be, and never
// half there, whatever happens to processes and disks. Method: a cache folder
// of each test's own; children that are killed, or whose files may not grow.
#include "data/base/content_hash.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_folder.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"
#include "tests/data/tiny_idx.hpp"

#include <chrono>
#include <csignal>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

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

TEST(prepare_cache, finds_equal_content_again_wherever_it_lies) {
  tiny_idx tiny;
  const std::string id = prepare(tiny.what, tiny.cache)->about().content_id;
  const auto written = fs::last_write_time(tiny.cache / id / "train.arrow");
  job again = tiny.what;
  again.model.kind = model_kind::cnn; // does not matter to the data
  again.seed = 8;                     // nor does the seed of contiguous rows
  again.data.train.images = tiny.folder.write("copy", idx_images(11));
  const auto set = prepare(again, tiny.cache);
  EXPECT_EQ(set->about().content_id, id);
  EXPECT_EQ(set->about().sources[0], again.data.train.images);
  EXPECT_EQ(fs::last_write_time(tiny.cache / id / "train.arrow"), written);
  EXPECT_EQ(sets_in(tiny.cache).size(), 1u);
}

TEST(prepare_cache, makes_another_set_for_whatever_changes_it) {
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
  expect_new("pipeline", [](job& j) {
    j.data.pipeline = {{pipeline_op::scale, 2, {}}};
  });
  expect_new("placement",
             [](job& j) { j.data.placement.kind = placement_kind::iid; });
  expect_new("seed of iid", [](job& j) {
    j.data.placement.kind = placement_kind::iid;
    j.seed = 8;
  });
  placement_spec random;
  random.kind = placement_kind::dirichlet;
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
  random.kind = placement_kind::inner_dirichlet;
  expect_new_placement("inner_dirichlet", [](placement_spec&) {});
  expect_new_placement("its shares", [](placement_spec& p) {
    p.shares = {1, 2};
  });
  random.kind = placement_kind::shards;
  expect_new_placement("shards", [](placement_spec&) {});
  expect_new_placement("shards_per_worker",
                       [](placement_spec& p) { p.shards_per_worker = 1; });
  random.kind = placement_kind::matrix;
  random.matrix = {{1, 1, 1}, {1, 1, 1}};
  expect_new_placement("matrix", [](placement_spec&) {});
  expect_new_placement("a weight",
                       [](placement_spec& p) { p.matrix[1][2] = 0.5; });
  expect_new("fraction", [](job& j) { j.data.test_fraction = 0.5; });
  expect_new("regression", [](job& j) { j.train.loss = loss_kind::mse; });
  expect_new("test", [](job& j) { j.data.test = j.data.train; });
  expect_new("content", [&](job& j) {
    std::string bytes = idx_images(11);
    bytes.back() ^= 1;
    j.data.train.images = tiny.folder.write("other", bytes);
  });
}

// Sets that older builds prepared are found again. Method: the identity of
// such a set, written down here.
TEST(prepare_cache, keeps_the_names_of_sets_when_placements_get_options) {
  temporary_folder folder;
  job what = job_of(synthetic_source(30, 3, 2));
  what.data.placement.kind = placement_kind::dirichlet;
  content_hash hash;
  hash.update(R"({"alpha":0.5,"chunk_rows":4,"format":3,)"
              R"("placement":"dirichlet","regression":false,"seed":7,)"
              R"("test_fraction":0.0,)"
              R"("train":{"classes":3,"generator":2,"rows":30,"width":2},)"
              R"("workers":2})");
  EXPECT_EQ(prepare(what, folder / "cache")->about().content_id,
            hex16(hash.digest()));
}

// Goal: a memoised hash never hides a change. Method: rewrite in place, same
// size, at once.
TEST(prepare_cache, sees_a_source_that_changed_under_its_name) {
  tiny_idx tiny;
  const std::string before = prepare(tiny.what, tiny.cache)->about().content_id;
  std::string bytes = idx_images(11);
  bytes.back() ^= 1;
  tiny.folder.write("images", bytes);
  EXPECT_NE(prepare(tiny.what, tiny.cache)->about().content_id, before);
}

TEST(prepare_cache, makes_a_damaged_set_again) {
  tiny_idx tiny;
  const std::string id = prepare(tiny.what, tiny.cache)->about().content_id;
  for (const char* name : {"manifest.json", "train.arrow", "test.arrow"}) {
    fs::resize_file(tiny.cache / id / name, 20);
    EXPECT_THROW(open_held(tiny.cache / id, nullptr, {}), ballast_error)
        << name;
    EXPECT_EQ(prepare(tiny.what, tiny.cache)->about().train_rows, 11u) << name;
    fs::remove(tiny.cache / id / name);
    EXPECT_EQ(prepare(tiny.what, tiny.cache)->about().train_rows, 11u) << name;
  }
  EXPECT_TRUE(leftovers(tiny.cache).empty());
}

TEST(prepare_cache, clears_away_what_a_killed_process_left) {
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
TEST(prepare_cache, is_safe_for_many_processes_at_once) {
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

TEST(prepare_cache, evicts_the_least_recently_used_but_none_in_use) {
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

TEST(prepare_cache, keeps_the_cache_within_its_limit) {
  temporary_folder folder;
  setenv("BALLAST_CACHE_LIMIT_GB", "0.00005", 1); // 50 kB: one set
  for (uint64_t rows : {1000, 1001, 1002}) {
    const auto set =
        prepare(job_of(synthetic_source(rows, 2, 8), 64), folder / "cache");
    EXPECT_EQ(sets_in(folder / "cache"),
              std::vector<std::string>{set->about().content_id});
  }
  for (const char* wrong : {"lots", "-1", "20x", "nan"}) {
    setenv("BALLAST_CACHE_LIMIT_GB", wrong, 1);
    EXPECT_THROW(cache_limit_bytes(), ballast_error) << wrong;
  }
  unsetenv("BALLAST_CACHE_LIMIT_GB");
  EXPECT_EQ(cache_limit_bytes(), 20'000'000'000u);
}

TEST(prepare_cache, refuses_a_cache_that_cannot_be_written) {
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
TEST(prepare_cache, leaves_nothing_half_written_on_a_full_disk) {
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

/// Whoever hashed all of a folder is asked for its parts next.
TEST(prepare_cache, hashes_a_part_of_a_folder_as_if_it_had_not_seen_the_whole) {
  const temporary_folder folder;
  const auto anew = [&](const image_folder& what) {
    fs::remove_all(folder / "other");
    return prepare_cache(folder / "other").hash_of(what, "/data/train/uri");
  };
  image_folder all{.path = (folder / "images").string(),
                   .classes = {"a"},
                   .files = {},
                   .skipped = 0,
                   .first_skipped = {}};
  fs::create_directories(folder / "images" / "a");
  const auto look_again = [&] {
    for (image_file& one : all.files)
      one.stamp = stamp_of(all.path + "/" + one.name, "/data/train/uri");
  };
  for (const char* name : {"a/1.jpg", "a/2.jpg", "a/3.jpg"}) {
    folder.write(std::string("images/") + name, name);
    fs::last_write_time(fs::path(all.path) / name,
                        fs::file_time_type::clock::now() -
                            std::chrono::hours(1));
    all.files.push_back({name, 0, {}});
  }
  look_again();
  prepare_cache cache(folder / "cache");
  EXPECT_EQ(cache.hash_of(all, "/data/train/uri"), anew(all));
  image_folder part = all;
  part.part = "2-3";
  part.files.erase(part.files.begin());
  EXPECT_EQ(cache.hash_of(part, "/data/train/uri"), anew(part));
  // As long and, by its name, the same.
  folder.write("images/a/3.jpg", "A/3.jpg");
  fs::last_write_time(fs::path(all.path) / "a/3.jpg",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  const std::string before = cache.hash_of(part, "/data/train/uri");
  look_again();
  part.files = {all.files[1], all.files[2]};
  EXPECT_NE(cache.hash_of(part, "/data/train/uri"), before);
  EXPECT_EQ(cache.hash_of(part, "/data/train/uri"), anew(part));
}

} // namespace
} // namespace ballast::data
