#include "data/base/content_hash.hpp"

#include "data/store/chunk.hpp"
#include "runtime/base/check.hpp"

#include <bit>
#include <xxhash.h>

namespace ballast::data {

static_assert(std::endian::native == std::endian::little,
              "Arrow buffers are hashed in place, little-endian");

content_hash::content_hash() : state_(XXH64_createState()) {
  BALLAST_CHECK(state_ && XXH64_reset(state_.get(), 0) == XXH_OK,
                "memory for a hash");
}

void content_hash::release::operator()(XXH64_state_s* state) const {
  XXH64_freeState(state);
}

void content_hash::update(const void* data, size_t bytes) {
  if (bytes > 0)
    BALLAST_CHECK(XXH64_update(state_.get(), data, bytes) == XXH_OK,
                  "xxHash takes any bytes");
}

uint64_t content_hash::digest() const {
  return XXH64_digest(state_.get());
}

std::string hex16(uint64_t number) {
  std::string out(16, '0');
  for (size_t i = 16; i-- > 0; number >>= 4)
    out[i] = "0123456789abcdef"[number & 15];
  return out;
}

std::string checksum(const void* data, size_t bytes) {
  content_hash hash;
  hash.update(data, bytes);
  return hex16(hash.digest());
}

} // namespace ballast::data
