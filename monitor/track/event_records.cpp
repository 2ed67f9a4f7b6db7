#include "monitor/track/event_records.hpp"

#include "runtime/base/protobuf.hpp"

#include <array>

namespace ballast::monitor {

namespace {

constexpr std::array<uint32_t, 256> crc_table = [] {
  std::array<uint32_t, 256> out{};
  constexpr uint32_t polynomial = 0x82f63b78; // its bits in reverse
  for (uint32_t i = 0; i < out.size(); ++i) {
    uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? polynomial : 0);
    out[i] = rest;
  }
  return out;
}();

void append(std::string& to, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i)
    to.push_back(char(number >> (8 * i) & 0xff));
}

/// A CRC of data that hold CRCs says less; so it is rotated and moved.
uint32_t masked(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

std::string record(const protobuf& event) {
  const std::string& data = event.text();
  std::string out;
  append(out, data.size(), 8);
  append(out, masked(crc32c(out)), 4);
  out += data;
  append(out, masked(crc32c(data)), 4);
  return out;
}

} // namespace

uint32_t crc32c(std::string_view data) {
  uint32_t rest = UINT32_MAX;
  for (char c : data)
    rest = crc_table[(rest ^ uint8_t(c)) & 0xff] ^ (rest >> 8);
  return ~rest;
}

std::string event_file_head(double wall_s) {
  protobuf event;
  event.real64(1, wall_s);
  event.bytes(3, "brain.Event:2");
  return record(event);
}

std::string
event_record(double wall_s, uint64_t step,
             std::span<const std::pair<std::string, double>> scalars) {
  protobuf summary;
  for (const auto& [tag, number] : scalars) {
    protobuf value;
    value.bytes(1, tag);
    value.real(2, float(number));
    summary.message(1, value);
  }
  protobuf event;
  event.real64(1, wall_s);
  event.number(2, int64_t(step));
  event.message(5, summary);
  return record(event);
}

} // namespace ballast::monitor
