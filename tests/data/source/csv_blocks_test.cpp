#include "data/source/cell_number.hpp"
#include "data/source/csv_quick.hpp"
#include "data/source/csv_stream.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/random.hpp"

#include <arrow/api.h>
#include <bit>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::data {
namespace {

using ::testing::HasSubstr;

text_input input_of(const std::string& text) {
  return [text, at = size_t{0}](char* to, size_t bytes) mutable {
    const size_t got = text.copy(to, bytes, at);
    at += got;
    return got;
  };
}

csv_stream stream_of(const std::string& text, size_t block_bytes,
                     size_t threads = 2, text_cells* texts = nullptr) {
  csv_stream::terms how{"/data/train"};
  how.block_bytes = block_bytes;
  how.threads = threads;
  how.texts = texts;
  how.null_values = {"NA"};
  return {"t.csv", input_of(text), how};
}

/// Every cell with its row's place, and how the reading ended.
std::string all_of(const std::string& text, size_t block_bytes,
                   size_t threads = 2) {
  std::string out;
  try {
    text_cells texts;
    csv_stream from = stream_of(text, block_bytes, threads, &texts);
    std::vector<int> columns;
    for (int i = 0; i < from.schema()->num_fields(); ++i)
      columns.push_back(i);
    from.choose(columns);
    while (const auto batch = from.next())
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        out += from.place_of(row);
        for (int i = 0; i < batch->num_columns(); ++i) {
          out +=
              "|" + batch->column(i)->GetScalar(row).ValueOrDie()->ToString();
          out += "=" + std::string(from.text_of(i, row).value_or("?"));
        }
        out += "\n";
      }
  } catch (const ballast_error& error) {
    out += error.what();
  }
  return out;
}

/// Quotes, empty lines, missing cells, and ends of lines of all systems.
std::string odd_text(uint64_t seed) {
  const counter_random random(seed, 1);
  uint64_t at = 0;
  const auto below = [&](uint64_t most) { return random.below(most, at++); };
  const std::vector<std::string> ends = {"\n", "\r\n", "\n\n", "\r"};
  std::string out = "a,b,c\n";
  for (int row = 0; row < 60; ++row) {
    out += std::to_string(below(2000)) + "." + std::to_string(below(100));
    out += below(5) == 0 ? ",NA" : "," + std::to_string(below(9)) + "e-3";
    switch (below(6)) {
    case 0:
      out += ",\"two\nlines, and \"\"quotes\"\"\"";
      break;
    case 1:
      out += ",in\"side";
      break;
    case 2:
      out += ",\" x\"\",\" ";
      break;
    case 3:
      out += ",";
      break;
    default:
      out += ", word ";
    }
    out += ends[below(ends.size())];
  }
  return out;
}

TEST(csv_blocks, give_the_same_rows_wherever_the_text_is_cut) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = odd_text(seed);
    const std::string expected = all_of(text, 1 << 20);
    EXPECT_THAT(expected, HasSubstr("t.csv: row 60 (line "));
    for (size_t bytes : {1, 7, 16, 64, 100, 333})
      for (size_t threads : {1, 3})
        EXPECT_EQ(all_of(text, bytes, threads), expected)
            << seed << " in blocks of " << bytes;
  }
}

TEST(csv_blocks, find_the_same_mistake_wherever_the_text_is_cut) {
  std::string good = "a,b\n";
  for (int i = 0; i < 40; ++i)
    good += std::to_string(i) + ",\"" + std::to_string(i) + "\n\"\n";
  for (const std::string bad : {"1,2,3\n", "1\n", "x,2\n", "1,5,2\n"}) {
    const std::string text = good + bad + "1,2\n";
    const std::string expected = all_of(text, 1 << 20);
    EXPECT_THAT(expected, HasSubstr("row 41 (line 82)"));
    const std::string last = expected.substr(expected.rfind('\n') + 1);
    for (size_t bytes : {1, 50, 200}) {
      const std::string found = all_of(text, bytes);
      EXPECT_EQ(found.substr(found.rfind('\n') + 1), last) << bytes;
    }
  }
}

TEST(csv_blocks, end_behind_whole_records) {
  EXPECT_EQ(whole_records("a,b\nc,d", ',', false), 4u);
  EXPECT_EQ(whole_records("a,b\nc,d", ',', true), 7u);
  EXPECT_EQ(whole_records("a,\"b\nc,d", ',', false), 0u);
  EXPECT_EQ(whole_records("a,\"b\n\"\nc,d", ',', false), 7u);
  EXPECT_EQ(whole_records("a,b\"\nc,d", ',', false), 5u); // within a cell
  EXPECT_EQ(whole_records("a\n\"\"\"\n", ',', false), 2u);
  EXPECT_EQ(whole_records("a\n\"b\"", ',', false), 2u); // it may go on
  EXPECT_EQ(whole_records("no end", ',', false), 0u);
}

TEST(csv_blocks, watch_texts_in_every_block) {
  std::string text = "x,y,word\n";
  for (int i = 0; i < 50; ++i)
    text += "1,0,red\n";
  text_cells texts;
  csv_stream from = stream_of(text + "1,0,7\n", 32, 2, &texts);
  from.leave_out({2}, false);
  from.choose({0, 1});
  try {
    while (from.next())
      ;
    ADD_FAILURE() << "a number in a column of text";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("t.csv: row 1 (line 2), column 'word': expected a "
                          "number as in row 51 (line 52)"));
  }
}

std::string padded(const std::string& text) {
  return text + "\n" + std::string(csv_block::behind, '\0');
}

TEST(quick_number, is_what_the_careful_one_reads) {
  const counter_random random(3, 1);
  uint64_t at = 0;
  size_t read = 0;
  for (int i = 0; i < 200000; ++i) {
    char text[64];
    const uint64_t bits = random.at(at++);
    const double some = double(int64_t(bits)) / 9.2e18;
    switch (bits % 5) {
    case 0:
      std::snprintf(text, sizeof(text), "%.*f", int(bits / 8 % 12), some * 1e4);
      break;
    case 1:
      std::snprintf(text, sizeof(text), "%.*g", int(bits / 8 % 18), some);
      break;
    case 2:
      std::snprintf(text, sizeof(text), "%lld",
                    static_cast<long long>(int64_t(bits) >> (bits / 8 % 60)));
      break;
    case 3:
      std::snprintf(text, sizeof(text), "%.17g", std::bit_cast<double>(bits));
      break;
    default:
      std::snprintf(text, sizeof(text), "%s%llu.%0*d", bits & 8 ? "-" : "",
                    static_cast<unsigned long long>(bits % 1000), 9,
                    int(bits / 1024 % 1000000000));
    }
    const std::string cell = padded(text);
    const char* end = cell.data();
    double quick = 0;
    double careful = 0;
    if (!quick_number(end, quick) || *end != '\n')
      continue;
    ++read;
    ASSERT_EQ(parse_number(text, careful), parsed::number) << text;
    ASSERT_EQ(std::bit_cast<uint64_t>(quick), std::bit_cast<uint64_t>(careful))
        << text;
  }
  EXPECT_GT(read, 90000u);
}

TEST(quick_number, leaves_other_ways_of_writing_to_the_careful_one) {
  for (const char* text : {"", "-", ".5", "5.", "+5", "nan", "inf", "x", "-.",
                           "9007199254740993", "1234567890123456789012"}) {
    const std::string cell = padded(text);
    const char* at = cell.data();
    double found = 0;
    EXPECT_FALSE(quick_number(at, found)) << text;
  }
  const std::string half = padded("1e5");
  const char* at = half.data();
  double found = 0;
  EXPECT_TRUE(quick_number(at, found) && *at == 'e');
}

} // namespace
} // namespace ballast::data
