/// Goal: what a power cut leaves of a file of lines is used as far as it is
/// whole, and nothing of it is lost. Method: tables of files.
#include "store/damaged_tail.hpp"

#include "tests/store/expect_error.hpp"
#include "tests/store/temp_folder.hpp"

namespace ballast::store {
namespace {

using namespace std::string_literals;

const std::string one = "{\"step\":1}\n";
const std::string two = "{\"step\":2}\n";
const std::string three = "{\"step\":3}\n";

TEST(damaged_tail, is_cut_off_and_kept_beside_the_file) {
  struct {
    std::string whole, damaged;
    uint64_t line;
    std::string why;
  } table[] = {
      {one + two, "{\"step\":3,\"ep", 3, "does not end"},
      {one + two, "\0\0\0\0"s, 3, "zero bytes"},
      {one, "{\"st\0\0\0\0}\n"s + three, 2, "zero bytes"},
      {one, "\0\0\n"s, 2, "zero bytes"},
      {one, "{step:2}\n" + three, 2, "no JSON object"},
      {one, three, 2, "its step is not 2"},
      {one + two, two, 3, "its step is not 3"},
      {"", "hello", 1, "does not end"},
      {"", "[]\n", 1, "no JSON object"},
      {one, "\n", 2, "no JSON object"},
  };
  int number = 0;
  temp_folder folder;
  for (const auto& row : table) {
    SCOPED_TRACE(row.why + " " + std::to_string(number));
    auto file = folder / ("s" + std::to_string(++number));
    write_content(file, row.whole + row.damaged);
    auto cut = cut_damaged_tail(file, "step");
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->line, row.line);
    EXPECT_EQ(cut->bytes, row.damaged.size());
    EXPECT_NE(cut->why.find(row.why), std::string::npos) << cut->why;
    EXPECT_EQ(content_of(file), row.whole);
    EXPECT_EQ(cut->kept, file.string() + ".damaged-1");
    EXPECT_EQ(content_of(cut->kept), row.damaged);
    EXPECT_FALSE(cut_damaged_tail(file, "step")) << "once";
  }
}

TEST(damaged_tail, is_not_seen_where_there_is_none) {
  temp_folder folder;
  EXPECT_FALSE(cut_damaged_tail(folder / "absent", "step"));
  write_content(folder / "empty", "");
  EXPECT_FALSE(cut_damaged_tail(folder / "empty", "step"));
  write_content(folder / "whole", one + two + three);
  EXPECT_FALSE(cut_damaged_tail(folder / "whole", "step"));
}

TEST(damaged_tail, replaces_none_of_before) {
  temp_folder folder;
  for (int time : {1, 2}) {
    write_content(folder / "s", one + std::to_string(time));
    EXPECT_EQ(cut_damaged_tail(folder / "s", "step")->kept,
              folder / ("s.damaged-" + std::to_string(time)));
  }
  EXPECT_EQ(content_of(folder / "s.damaged-1"), "1");
}

} // namespace
} // namespace ballast::store
