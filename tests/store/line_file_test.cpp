/// Goal: whatever happens, a line file consists of whole lines.
#include "store/line_file.hpp"

#include "tests/store/expect_error.hpp"
#include "tests/store/small_disk.hpp"
#include "tests/store/temp_folder.hpp"

namespace ballast::store {
namespace {

TEST(line_file, appends_whole_lines_and_counts_bytes) {
  temp_folder folder;
  line_file file(folder / "a.jsonl");
  EXPECT_EQ(file.last_line(), "");
  file.append("one");
  file.append("two\nthree\n");
  file.append("");
  EXPECT_EQ(content_of(file.path()), "one\ntwo\nthree\n");
  EXPECT_EQ(file.bytes(), 14u);
  EXPECT_EQ(file.last_line(), "three");
}

TEST(line_file, continues_an_earlier_file_and_cuts_a_torn_line_off) {
  temp_folder folder;
  struct {
    std::string before, last, kept;
  } table[] = {
      {"", "", ""},
      {"torn", "", ""},
      {"\n", "", "\n"},
      {"one\n", "one", "one\n"},
      {"one\ntorn", "one", "one\n"},
      {"one\ntwo\nto", "two", "one\ntwo\n"},
      {"one\n\n", "", "one\n\n"},
  };
  for (const auto& row : table) {
    write_content(folder / "a", row.before);
    line_file file(folder / "a");
    EXPECT_EQ(file.last_line(), row.last) << row.before;
    EXPECT_EQ(content_of(folder / "a"), row.kept);
    file.append("next");
    EXPECT_EQ(content_of(folder / "a"), row.kept + "next\n");
  }
}

TEST(line_file, finds_the_last_line_of_a_file_longer_than_a_block) {
  temp_folder folder;
  for (size_t length : {1u, 65535u, 65536u, 65537u, 200000u}) {
    std::string line(length, 'x');
    write_content(folder / "a", "first\n" + line + "\n" + line.substr(1));
    EXPECT_EQ(line_file(folder / "a").last_line(), line) << length;
    write_content(folder / "a", line + "\n");
    EXPECT_EQ(line_file(folder / "a").last_line(), line) << length;
  }
}

TEST(line_file, leaves_no_torn_line_on_a_full_disk) {
  temp_folder folder;
  line_file file(folder / "a.jsonl");
  file.append("0123456789");
  {
    small_disk disk(16);
    EXPECT_FAILURE(file.append("0123456789"), errc::disk_full, "a.jsonl");
    EXPECT_EQ(content_of(file.path()), "0123456789\n");
    EXPECT_FAILURE(file.append("0123456789"), errc::disk_full, "make space");
  }
  file.append("fits again");
  EXPECT_EQ(content_of(file.path()), "0123456789\nfits again\n");
}

TEST(line_file, says_which_file_cannot_be_opened) {
  temp_folder folder;
  EXPECT_FAILURE(line_file(folder / "absent/a"), errc::run_dir_unusable,
                 "absent/a");
}

TEST(line_file, moves_with_its_descriptor) {
  temp_folder folder;
  line_file first(folder / "a");
  line_file second = std::move(first);
  second.append("x");
  line_file third(folder / "b");
  third = std::move(second);
  third.append("y");
  EXPECT_EQ(content_of(folder / "a"), "x\ny\n");
  EXPECT_EQ(third.path(), folder / "a");
}

} // namespace
} // namespace ballast::store
