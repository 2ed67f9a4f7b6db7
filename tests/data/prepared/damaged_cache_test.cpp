/// Goal: no damage of the cache, and nobody else's folder, changes what a run
/// trains on or keeps it from training. Method: bytes of prepared sets are
/// changed in place; every chunk is read and compared.
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"
#include "tests/data/tiny_idx.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using strings = std::vector<std::string>;

void flip_bit(const fs::path& path, uint64_t at, int bit = 0) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(std::streamoff(at));
  char byte = char(file.get());
  file.seekp(std::streamoff(at));
  file.put(char(byte ^ (1 << bit)));
}

/// Hits a sample id in a chunk, not Arrow's own metadata.
void flip_a_value(const fs::path& path, uint64_t sample) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::string wanted;
  for (uint64_t id : {sample, sample + 1, sample + 2})
    for (int i = 0; i < 8; ++i)
      wanted += char(id >> (8 * i));
  const size_t at = bytes.find(wanted);
  ASSERT_NE(at, std::string::npos);
  flip_bit(path, at);
}

/// What the chunks hold, read anew.
strings content_of(const prepared_set& set) {
  strings out;
  for (data_part part : {data_part::train, data_part::test})
    for (const ledger::chunk_info& one :
         part == data_part::train ? set.about().train : set.about().test)
      out.push_back(checksum(*set.read(part, one.id), set.about().row));
  return out;
}

strings damaged_in(const fs::path& cache) {
  strings out;
  for (const auto& entry : fs::directory_iterator(cache))
    if (entry.path().filename().string().find(".damaged-") != std::string::npos)
      out.push_back(entry.path().filename().string());
  return out;
}

struct cached_table {
  temporary_folder folder;
  fs::path cache = folder / "cache";
  job what = job_of(synthetic_source(200, 3, 4), 16);
  strings warnings;
  std::shared_ptr<prepared_set> open() {
    return prepare(what, cache, {.warn = [this](const std::string& text) {
                     warnings.push_back(text);
                   }});
  }
};

TEST(damaged_cache, is_prepared_again_when_a_chunk_is_read) {
  cached_table its;
  auto set = its.open();
  const strings right = content_of(*set);
  const fs::path file = its.cache / set->about().content_id / "train.arrow";
  set.reset();
  flip_a_value(file, 1);
  set = its.open();
  EXPECT_EQ(content_of(*set), right);
  ASSERT_EQ(its.warnings.size(), 1U);
  EXPECT_THAT(its.warnings[0], HasSubstr(file.string() + ": chunk "));
  EXPECT_THAT(its.warnings[0], HasSubstr(".damaged-1"));
  EXPECT_EQ(damaged_in(its.cache),
            strings{set->about().content_id + ".damaged-1"});
  // The next run finds a whole one.
  EXPECT_EQ(content_of(*its.open()), right);
  EXPECT_EQ(its.warnings.size(), 1U);
}

TEST(damaged_cache, is_found_whichever_byte_is_hit) {
  cached_table its;
  const auto first = its.open();
  const strings right = content_of(*first);
  const std::string key = first->about().content_id;
  for (const char* name : {"manifest.json", "train.arrow"}) {
    const fs::path file = its.cache / key / name;
    const uint64_t bytes = fs::file_size(file);
    for (uint64_t at = 0; at < bytes; at += bytes / 40 + 1) {
      flip_bit(file, at, int(at % 7));
      EXPECT_EQ(content_of(*its.open()), right) << name << " at " << at;
    }
  }
  EXPECT_LE(damaged_in(its.cache).size(), 3U);
}

// Otherwise this would wait for the end of the other run.
TEST(damaged_cache, is_prepared_again_while_another_run_uses_it) {
  cached_table its;
  auto in_use = its.open();
  const strings right = content_of(*in_use);
  const fs::path folder = its.cache / in_use->about().content_id;
  flip_bit(folder / "manifest.json", 40);
  EXPECT_EQ(content_of(*its.open()), right);
  // The other one goes on with its own copy, which was not damaged.
  EXPECT_EQ(content_of(*in_use), right);
  ASSERT_EQ(damaged_in(its.cache).size(), 1U);
  prepare_cache(its.cache).clear();
  EXPECT_EQ(damaged_in(its.cache).size(), 1U); // still in use
}

// A map of it would end the process with SIGBUS.
TEST(damaged_cache, is_prepared_again_when_it_is_cut_while_it_is_open) {
  for (uint64_t bytes : {0, 100, 4096}) {
    cached_table its;
    auto set = its.open();
    const strings right = content_of(*set);
    const fs::path file = its.cache / set->about().content_id / "train.arrow";
    ASSERT_GT(fs::file_size(file), bytes);
    fs::resize_file(file, bytes);
    EXPECT_EQ(content_of(*set), right) << bytes;
    ASSERT_EQ(its.warnings.size(), 1U) << bytes;
    EXPECT_THAT(its.warnings[0], HasSubstr(file.string()));
  }
}

TEST(damaged_cache, says_so_where_the_source_is_another_one_by_now) {
  tiny_idx tiny;
  auto set = prepare(tiny.what, tiny.cache);
  const fs::path file = tiny.cache / set->about().content_id / "train.arrow";
  flip_a_value(file, 1);
  flip_bit(tiny.folder / "images", 20);
  try {
    content_of(*set);
    FAIL();
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(file.string()));
    EXPECT_THAT(error.what(), HasSubstr((tiny.folder / "images").string() +
                                        " changed since the run began"));
    EXPECT_THAT(error.what(), Not(HasSubstr("manifest")));
  }
}

TEST(damaged_cache, says_so_where_the_source_is_gone) {
  tiny_idx tiny;
  auto set = prepare(tiny.what, tiny.cache);
  const fs::path file = tiny.cache / set->about().content_id / "train.arrow";
  flip_a_value(file, 1);
  fs::remove(tiny.folder / "images");
  try {
    content_of(*set);
    FAIL();
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(file.string()));
    EXPECT_THAT(error.what(), HasSubstr("cannot be prepared again"));
    EXPECT_THAT(error.what(), HasSubstr("no such file"));
  }
}

TEST(prepare_cache, clears_all_but_what_is_in_use) {
  temporary_folder folder;
  const fs::path cache = folder / "cache";
  auto used = prepare(job_of(synthetic_source(100, 2, 4)), cache);
  prepare(job_of(synthetic_source(101, 2, 4)), cache);
  fs::create_directories(cache / "00112233aabbccdd.tmp");
  fs::create_directories(cache / "00112233aabbccdd.damaged-1");
  EXPECT_EQ(prepare_cache(cache).entries().size(), 4U);
  const auto kept = prepare_cache(cache).clear();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].name, used->about().content_id);
  EXPECT_TRUE(kept[0].in_use);
  EXPECT_EQ(content_of(*used).size(),
            used->about().train.size() + used->about().test.size());
  used.reset();
  EXPECT_THAT(prepare_cache(cache).clear(), IsEmpty());
  EXPECT_THAT(prepare_cache(cache).entries(), IsEmpty());
}

TEST(prepare_cache, refuses_a_folder_that_others_can_write_to) {
  tiny_idx tiny;
  auto refused = [&](const char* why) {
    try {
      prepare(tiny.what, tiny.cache);
      ADD_FAILURE() << why;
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().code, errc::run_dir_unusable);
      EXPECT_THAT(error.what(), HasSubstr(tiny.cache.string()));
      EXPECT_THAT(error.what(), HasSubstr(why));
      EXPECT_THAT(error.what(), HasSubstr("$BALLAST_CACHE"));
    }
  };
  prepare(tiny.what, tiny.cache);
  struct stat about {};
  ASSERT_EQ(stat(tiny.cache.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700U);
  for (mode_t mode : {0770U, 0707U, 01777U}) {
    chmod(tiny.cache.c_str(), mode);
    refused("chmod go-w");
  }
  chmod(tiny.cache.c_str(), 0755);
  prepare(tiny.what, tiny.cache);
  if (geteuid() != 0)
    return; // only root gives files away
  ASSERT_EQ(chown(tiny.cache.c_str(), 12345, gid_t(-1)), 0);
  refused("belongs to user 12345");
}

TEST(prepare_cache, lies_in_the_folder_that_the_environment_names) {
  const char* names[] = {"BALLAST_CACHE", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::pair<const char*, std::optional<std::string>>> before;
  for (const char* name : names) {
    const char* value = getenv(name);
    before.emplace_back(name, value != nullptr
                                  ? std::optional<std::string>(value)
                                  : std::nullopt);
    unsetenv(name);
  }
  // Of the user's account, or named by the user's number: never shared.
  const std::string fallback = default_cache_folder().string();
  EXPECT_TRUE(fallback == "/tmp/ballast-" + std::to_string(geteuid()) ||
              fallback.ends_with("/.cache/ballast"))
      << fallback;
  EXPECT_NE(fallback, "/tmp/.cache/ballast");
  setenv("HOME", "/home/a", 1);
  EXPECT_EQ(default_cache_folder(), "/home/a/.cache/ballast");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_cache_folder(), "/home/a/.cache/ballast");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(default_cache_folder(), "/x/ballast");
  setenv("BALLAST_CACHE", "/b", 1);
  EXPECT_EQ(default_cache_folder(), "/b");
  for (const auto& [name, value] : before)
    if (value)
      setenv(name, value->c_str(), 1);
    else
      unsetenv(name);
}

TEST(prepare, ends_soon_once_it_is_stopped) {
  temporary_folder folder;
  std::string text = "x,y\n";
  for (int row = 0; row < 100; ++row)
    text += "1," + std::to_string(row % 2) + "\n";
  for (const job& what :
       {job_of(synthetic_source(1000, 3, 4)), tiny_idx().what,
        job_of(table_source(source_format::csv, folder.write("t.csv", text),
                            "y"))}) {
    std::stop_source stop;
    stop.request_stop();
    try {
      prepare(what, folder / "cache", {.stop = stop.get_token()});
      ADD_FAILURE() << "was prepared";
    } catch (const ballast_error& error) {
      // (One of them is not there any more.)
      EXPECT_TRUE(error.what_failed().code == errc::stopped ||
                  what.data.train.format == source_format::idx)
          << error.what();
    }
  }
  EXPECT_THAT(prepare_cache(folder / "cache").entries(), IsEmpty());
}

} // namespace
} // namespace ballast::data
