#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "tests/data/prepared/some_tables.hpp"

#include <gmock/gmock.h>
#include <set>

namespace ballast::data {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Everything that is said of a set.
std::string about(const job& what, const std::filesystem::path& cache,
                  std::optional<uint64_t> memory) {
  prepare_options options;
  options.rows_memory = memory;
  return description_of(*prepare(what, cache, options));
}

TEST(limited_memory, gives_the_same_set_for_every_placement) {
  temporary_folder folder;
  int caches = 0;
  for (const std::string_view kind : ballast::words_of<placement_kind>)
    for (double fraction : {0.0, 0.3}) {
      const job what = job_with(folder, "numbers",
                                *parse_word<placement_kind>(kind), fraction);
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(fraction));
      const auto cache = [&] {
        return folder / ("cache" + std::to_string(caches++));
      };
      const std::string all = about(what, cache(), UINT64_MAX);
      // One row, some chunks, and a third of the rows at a time.
      for (uint64_t memory : {1, 2000, 6000})
        EXPECT_EQ(about(what, cache(), memory), all) << memory;
    }
}

TEST(limited_memory, gives_the_same_set_for_every_kind_of_rows) {
  temporary_folder folder;
  int caches = 0;
  for (const char* kind : {"regression", "bytes", "words", "tokens"})
    for (const bool test : {false, true}) {
      job what = job_with(folder, kind, placement_kind::iid, 0.2);
      if (test)
        what.data.test = what.data.train;
      SCOPED_TRACE(std::string(kind) + (test ? " with a test set" : ""));
      const auto cache = [&] {
        return folder / ("cache" + std::to_string(caches++));
      };
      const std::string all = about(what, cache(), UINT64_MAX);
      for (uint64_t memory : {1, 3000})
        EXPECT_EQ(about(what, cache(), memory), all) << memory;
    }
}

TEST(limited_memory, keeps_rows_whole_in_batches_of_many_chunks) {
  temporary_folder folder;
  job what = job_with(folder, "numbers", placement_kind::sorted, 0);
  what.data.train.uri = folder.write("long.csv", table_of(20000, "numbers"));
  what.data.chunk_rows = 2;
  const std::string all = about(what, folder / "a", UINT64_MAX);
  EXPECT_EQ(about(what, folder / "b", 100000), all);
}

TEST(limited_memory, leaves_nothing_in_the_cache) {
  temporary_folder folder;
  const job what = job_with(folder, "numbers", placement_kind::stratified, 0);
  prepare_options options;
  options.rows_memory = 1;
  const auto set = prepare(what, folder / "cache", options);
  std::set<std::string> files;
  for (const auto& one : std::filesystem::directory_iterator(set->folder()))
    files.insert(one.path().filename());
  EXPECT_EQ(files, (std::set<std::string>{"manifest.json", "order.json",
                                          "test.arrow", "train.arrow"}));
}

TEST(limited_memory, says_that_the_disk_is_full) {
  temporary_folder folder;
  const job what = job_with(folder, "numbers", placement_kind::iid, 0);
  prepare_options options;
  options.rows_memory = 1;
  // The first writes beside the source's hash are those of its rows.
  for (const char* fault : {"cache.write=enospc@3", "cache.write=enospc@6"}) {
    ASSERT_STREQ(arm_fault_points(fault), "");
    try {
      prepare(what, folder / fault, options);
      ADD_FAILURE() << fault;
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().code, errc::disk_full);
      EXPECT_THAT(error.what(), HasSubstr("No space left"));
    }
    arm_fault_points("");
    EXPECT_THAT(prepare_cache(folder / fault).entries(), IsEmpty());
  }
}

} // namespace
} // namespace ballast::data
