#include "data/model/sha256.hpp"

#include "runtime/base/check.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace ballast::data {

sha256::sha256() : context_(EVP_MD_CTX_new()) {
  BALLAST_CHECK(
      context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
      "OpenSSL has SHA-256");
}

void sha256::release::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

void sha256::update(std::span<const std::byte> bytes) {
  BALLAST_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) ==
                    1,
                "a hash takes bytes until its end");
}

std::string sha256::hex_digest() {
  std::array<unsigned char, 32> digest;
  BALLAST_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1,
                "a hash ends once");
  std::string out;
  for (unsigned char byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::array<uint8_t, 32> hmac_sha256(std::string_view key,
                                    std::string_view message) {
  std::array<uint8_t, 32> out;
  BALLAST_CHECK(HMAC(EVP_sha256(), key.data(), int(key.size()),
                     reinterpret_cast<const unsigned char*>(message.data()),
                     message.size(), out.data(), nullptr) != nullptr,
                "OpenSSL has HMAC");
  return out;
}

} // namespace ballast::data
