/// Messages in the wire format of Protocol Buffers, as far as ONNX and
/// TensorBoard need it
/// (https://protobuf.dev/programming-guides/encoding). Pure; a value.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace ballast {

class protobuf {
public:
  void number(uint32_t field, int64_t value) {
    varint(uint64_t{field} << 3);
    varint(uint64_t(value));
  }
  void real(uint32_t field, float value) {
    varint(uint64_t{field} << 3 | fixed_32);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8)
      bytes_.push_back(char(bits >> shift & 0xff));
  }
  void real64(uint32_t field, double value) {
    varint(uint64_t{field} << 3 | fixed_64);
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8)
      bytes_.push_back(char(bits >> shift & 0xff));
  }
  /// A text, bytes, or another message.
  void bytes(uint32_t field, std::string_view value) {
    varint(uint64_t{field} << 3 | length_first);
    varint(value.size());
    bytes_ += value;
  }
  void message(uint32_t field, const protobuf& value) {
    bytes(field, value.bytes_);
  }

  const std::string& text() const { return bytes_; }

private:
  static constexpr uint64_t length_first = 2;
  static constexpr uint64_t fixed_32 = 5;
  static constexpr uint64_t fixed_64 = 1;

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_.push_back(char(value | 0x80));
    bytes_.push_back(char(value));
  }

  std::string bytes_;
};

} // namespace ballast
