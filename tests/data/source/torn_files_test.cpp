// Goal: a file that was cut off or damaged is told in one line: which file,
// what is wrong, what to do, and only then the words of a library. Method:
// files of each format with bytes missing or changed.
#include "data/source/source_table.hpp"
#include "tests/data/source/table_files.hpp"

#include <fstream>
#include <sstream>

namespace ballast::data {
namespace {

class torn_files : public ::testing::Test {
protected:
  std::string path(source_format format) const {
    return (folder_ / ("t." + to_string(format))).string();
  }
  /// Of 200 rows.
  std::string whole(source_format format) const {
    std::string rows;
    for (int i = 0; i < 200; ++i)
      rows += (rows.empty() ? "" : ",") +
              ("{\"a\":" + std::to_string(i * 0.7)) +
              ",\"y\":" + std::to_string(i % 2) + "}";
    write_rows(path(format),
               arrow::schema({arrow::field("a", arrow::float64()),
                              arrow::field("y", arrow::int64())}),
               "[" + rows + "]");
    std::ostringstream out;
    out << std::ifstream(path(format), std::ios::binary).rdbuf();
    return out.str();
  }
  std::string refusal_with(source_format format, const std::string& bytes) {
    folder_.write("t." + to_string(format), bytes);
    return refusal_of(
        [&] { read_source(table_source(format, path(format), "y"), {}); });
  }

  temporary_folder folder_;
};

TEST_F(torn_files, that_were_cut_off_are_truncated) {
  for (source_format format :
       {source_format::parquet, source_format::arrow, source_format::orc}) {
    const std::string bytes = whole(format);
    for (size_t kept : {bytes.size() / 2, bytes.size() - 5})
      EXPECT_THAT(refusal_with(format, bytes.substr(0, kept)),
                  has_all({path(format) + ": is truncated", "fetch or write"}));
  }
}

TEST_F(torn_files, with_other_bytes_are_damaged) {
  for (source_format format :
       {source_format::parquet, source_format::arrow, source_format::orc}) {
    std::string bytes = whole(format);
    const size_t footer = bytes.size() - 60;
    bytes.replace(footer, 40, std::string(40, '\xFF'));
    EXPECT_THAT(refusal_with(format, bytes),
                has_all({path(format) + ": is damaged: it cannot be read as",
                         "; fetch or write it again ("}));
  }
}

TEST_F(torn_files, that_are_none_at_all_are_named_for_what_they_are) {
  EXPECT_THAT(refusal_with(source_format::parquet, ""), has_all({"is empty"}));
  EXPECT_THAT(refusal_with(source_format::parquet, "a,y\n1,2\n"),
              has_all({"is no Parquet file"}));
  EXPECT_THAT(refusal_with(source_format::parquet, "ARROW1\n"),
              has_all({"this is Arrow IPC (Feather); set format to arrow"}));
}

TEST_F(torn_files, of_text_in_utf_16_are_named_as_that) {
  const auto utf_16 = [](const std::string& text, bool little) {
    std::string out;
    for (char one : text)
      out += little ? std::string{one, '\0'} : std::string{'\0', one};
    return out;
  };
  for (source_format format : {source_format::csv, source_format::jsonl}) {
    const std::string text = format == source_format::csv
                                 ? "a,y\n1,0\n2,1\n"
                                 : "{\"a\":1,\"y\":0}\n";
    EXPECT_THAT(refusal_with(format, "\xFF\xFE" + utf_16(text, true)),
                has_all({path(format), "text in UTF-16",
                         "`iconv -f UTF-16 -t UTF-8`"}));
    EXPECT_THAT(refusal_with(format, utf_16(text, true)),
                has_all({"text in UTF-16", "`iconv -f UTF-16LE -t UTF-8`"}));
    EXPECT_THAT(refusal_with(format, utf_16(text, false)),
                has_all({"text in UTF-16", "`iconv -f UTF-16BE -t UTF-8`"}));
  }
}

} // namespace
} // namespace ballast::data
