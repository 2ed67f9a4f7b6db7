/// SHA-256 and HMAC (FIPS 180-4, RFC 2104), by OpenSSL: the fingerprint of
/// final weights, and the proof that a rank knows the token of its run. A
/// value, one owner, one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace ballast::data {

class sha256 {
public:
  sha256();
  void update(std::span<const std::byte> bytes);
  /// 64 lower-case hex digits. Ends the hash: call it once.
  std::string hex_digest();

private:
  struct release {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, release> context_;
};

std::array<uint8_t, 32> hmac_sha256(std::string_view key,
                                    std::string_view message);

} // namespace ballast::data
