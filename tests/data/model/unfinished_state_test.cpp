// Goal: parts that several write make one file, and nobody writes into a file
// that is not the one that is meant. Method: a folder of the test's own.
#include "data/model/unfinished_state.hpp"

#include "data/base/growing_bytes.hpp"
#include "tests/store/expect_error.hpp"
#include "tests/store/small_disk.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

class unfinished_states : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "ballast-state-XXXXXX";
    ASSERT_TRUE(mkdtemp(pattern.data()));
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string content() const {
    std::ifstream in(folder / "state", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder;
};

TEST_F(unfinished_states, have_their_size_from_the_start) {
  const unfinished_state file(folder / "state", 10'000);
  EXPECT_EQ(content(), std::string(10'000, '\0'));
}

TEST_F(unfinished_states, hold_what_others_write_into_them) {
  constexpr size_t bytes = 3 * 4096 + 5;
  growing_bytes memory(bytes); // at whole pages, so past the page cache
  for (size_t i = 0; i < bytes; ++i)
    memory.data()[i] = static_cast<unsigned char>('a' + i % 23);
  const std::string_view text(reinterpret_cast<const char*>(memory.data()),
                              bytes);
  const unfinished_state file(folder / "state", 4096 + bytes);
  const shared_place place{file.file(), file.token()};
  ASSERT_TRUE(sees(place));
  write_synced(place, 4096, {text.data(), text.size()});
  file.write(0, text.substr(0, 4096));
  file.end();
  EXPECT_TRUE(content() ==
              std::string(text.substr(0, 4096)) + std::string(text));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1)
      << "no token is left";
}

TEST_F(unfinished_states, are_written_from_bytes_that_lie_anywhere) {
  const unfinished_state file(folder / "state", 9000);
  const std::string text(8990, 'x');
  write_synced({file.file(), file.token()}, 10, {text.data(), text.size()});
  EXPECT_EQ(content(), std::string(10, '\0') + text);
}

TEST_F(unfinished_states, are_written_by_one_in_many_parts) {
  constexpr size_t bytes = 2 * 4096;
  const unfinished_state file(folder / "state", 2 * bytes + 3);
  growing_bytes memory(bytes);
  std::fill(memory.data(), memory.data() + bytes, 'b');
  part_writer to({file.file(), file.token()});
  to.write(0, {reinterpret_cast<const char*>(memory.data()), bytes});
  to.write(bytes, std::string(bytes, 'a')); // not at a page, perhaps
  to.write(2 * bytes, std::string("end"));
  to.sync();
  EXPECT_EQ(content(),
            std::string(bytes, 'b') + std::string(bytes, 'a') + "end");
}

TEST_F(unfinished_states, are_seen_by_nobody_who_has_another_token) {
  const unfinished_state file(folder / "state", 10);
  EXPECT_FALSE(sees({file.file(), file.token() + "0"}));
  EXPECT_FALSE(sees({file.file(), ""}));
  EXPECT_FALSE(sees({folder / "elsewhere" / "state", file.token()}));
  file.end();
  EXPECT_FALSE(sees({file.file(), file.token()}));
}

TEST_F(unfinished_states, know_whose_writing_arrives) {
  const unfinished_state file(folder / "state", 10);
  const shared_place place{file.file(), file.token()};
  const std::string mark = new_mark();
  EXPECT_TRUE(is_mark(mark));
  EXPECT_FALSE(is_mark("../elsewhere"));
  EXPECT_FALSE(is_mark(""));
  EXPECT_FALSE(file.take_mark(mark)) << "nobody has left it";
  ASSERT_TRUE(leave_mark(place, mark));
  EXPECT_TRUE(file.take_mark(mark));
  EXPECT_FALSE(file.take_mark(mark)) << "it counts once";
  // All can be read in the copy, and nothing of what is written there arrives.
  const fs::path copy = folder / "copy";
  fs::create_directory(copy);
  for (const char* name : {"state", "token"})
    fs::copy(folder / name, copy / name);
  const shared_place elsewhere{copy / "state", file.token()};
  ASSERT_TRUE(leave_mark(elsewhere, mark));
  EXPECT_FALSE(file.take_mark(mark));
  EXPECT_TRUE(remove_mark(elsewhere, mark));
  EXPECT_FALSE(leave_mark({file.file(), "another"}, mark));
  fs::remove_all(copy);
  file.end();
  EXPECT_FALSE(leave_mark(place, mark)) << "it is written";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(unfinished_states, say_at_once_that_a_disk_is_full) {
  const store::small_disk full(4096);
  EXPECT_FAILURE(unfinished_state(folder / "state", 1 << 20), errc::disk_full,
                 "cannot write");
}

} // namespace
} // namespace ballast::data
