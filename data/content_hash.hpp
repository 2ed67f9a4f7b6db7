/// XXH64 (Yann Collet's xxHash specification, seed 0), own code: the checksum
/// of chunks and the identity of sources. Detects damage, not attacks. A value;
/// not thread-safe during updates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ballast {

class content_hash {
public:
  void update(const void* data, size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  /// The hash of all bytes so far; more may follow.
  uint64_t digest() const;

private:
  std::array<uint64_t, 4> lanes_{0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0,
                                 0x61C8864E7A143579};
  std::array<unsigned char, 32> pending_{};
  size_t pending_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

/// 16 lower-case hex digits.
std::string hex16(uint64_t number);

} // namespace ballast
