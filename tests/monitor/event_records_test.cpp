/// Goal: event files are as TensorBoard reads them. Method: the check values of
/// RFC 3720, and a record byte by byte.
#include "monitor/track/event_records.hpp"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace ballast::monitor {
namespace {

uint64_t number_at(const std::string& text, size_t at, size_t bytes) {
  uint64_t out = 0;
  for (size_t i = 0; i < bytes; ++i)
    out |= uint64_t(uint8_t(text[at + i])) << (8 * i);
  return out;
}

uint32_t unmasked(uint64_t masked) {
  const auto rotated = uint32_t(masked) - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

TEST(event_records, have_the_checksum_of_castagnoli) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(event_records, are_a_length_data_and_their_checksums) {
  const std::vector<std::pair<std::string, double>> scalars{{"a", 0.5}};
  const std::string record = event_record(2, 300, scalars);
  const uint64_t length = number_at(record, 0, 8);
  ASSERT_EQ(record.size(), 8 + 4 + length + 4);
  EXPECT_EQ(unmasked(number_at(record, 8, 4)), crc32c(record.substr(0, 8)));
  const std::string data = record.substr(12, length);
  EXPECT_EQ(unmasked(number_at(record, 12 + length, 4)), crc32c(data));
  // wall_time 2, step 300, summary {value {tag "a", simple_value 0.5}}
  const std::string expected("\x09\0\0\0\0\0\0\0\x40"
                             "\x10\xac\x02"
                             "\x2a\x0a\x0a\x08\x0a\x01"
                             "a\x15\0\0\0\x3f",
                             9 + 3 + 6 + 6);
  EXPECT_EQ(data, expected);
}

TEST(event_records, begin_with_the_version_of_the_format) {
  EXPECT_NE(event_file_head(1).find("brain.Event:2"), std::string::npos);
}

} // namespace
} // namespace ballast::monitor
