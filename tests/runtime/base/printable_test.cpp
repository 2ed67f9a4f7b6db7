/// Goal: whatever bytes others send, what is shown is UTF-8 on one line.
/// Method: tables.
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

TEST(printable, leaves_text_of_every_language_as_it_is) {
  for (const char* text : {"", "plain", "na\u00efve", "\u65e5\u672c\u8a9e",
                           "\U0001F600", "a\\b 'c' \"d\"", "\uFFFD"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_TRUE(is_utf8(text)) << text;
  }
}

TEST(printable, shows_bytes_that_are_no_utf8_as_hex) {
  struct {
    std::string text, shown;
  } table[] = {
      {"caf\xe9", "caf\\xe9"},                      // Latin-1
      {"caf\xc3", "caf\\xc3"},                      // cut inside a character
      {"\xe6\x97", "\\xe6\\x97"},                   // likewise
      {"\xc0\xaf", "\\xc0\\xaf"},                   // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          // a surrogate
      {"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"}, // beyond Unicode
      {"\xff\xfe"
       "a",
       "\\xff\\xfea"},
  };
  for (const auto& row : table) {
    EXPECT_EQ(printable(row.text), row.shown);
    EXPECT_FALSE(is_utf8(row.text)) << row.shown;
    EXPECT_TRUE(is_utf8(printable(row.text)));
  }
}

TEST(printable, shows_control_characters_as_hex) {
  EXPECT_EQ(printable(std::string("1\0002", 3)), "1\\x002");
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\nb\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\u0085"), "\\xc2\\x85");
}

TEST(printable, cuts_between_characters) {
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc...");
  EXPECT_EQ(printable("\u00e4\u00f6\u00fc", 2), "\u00e4\u00f6...");
  EXPECT_EQ(printable("\xe9\xe9\xe9", 2), "\\xe9\\xe9...");
  EXPECT_EQ(count_characters("\u00e4\u00f6\u00fc"), 3U);
  EXPECT_EQ(count_characters("\xe9"
                             "a"),
            2U);
}

TEST(json_text, never_throws_whatever_the_text_is) {
  nlohmann::json value{{"reason", "'caf\xe9' is no number"}};
  EXPECT_EQ(json_text(value), "{\"reason\":\"'caf\uFFFD' is no number\"}");
  EXPECT_EQ(json_lines_text(nlohmann::ordered_json{{"b", "\xff"}, {"a", 1}}),
            "{\n  \"b\": \"\uFFFD\",\n  \"a\": 1\n}");
}

} // namespace
} // namespace ballast
