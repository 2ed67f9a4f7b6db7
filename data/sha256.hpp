/// SHA-256 (FIPS 180-4), for the fingerprint of final weights. A plain value
/// with one owner; not used for secrets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ballast {

class sha256 {
public:
  void update(std::span<const std::byte> bytes);
  /// 64 lower-case hex digits. Ends the hash: call it once.
  std::string hex_digest();

private:
  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                 0xa54ff53a, 0x510e527f, 0x9b05688c,
                                 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  size_t pending_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

} // namespace ballast
