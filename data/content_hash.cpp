#include "data/content_hash.hpp"

#include "data/chunk.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ballast {

namespace {

constexpr uint64_t prime1 = 0x9E3779B185EBCA87;
constexpr uint64_t prime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t prime3 = 0x165667B19E3779F9;
constexpr uint64_t prime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t prime5 = 0x27D4EB2F165667C5;

static_assert(std::endian::native == std::endian::little,
              "Arrow buffers and this hash are read in place, little-endian");

template <class T>
T load(const unsigned char* at) {
  T out;
  std::memcpy(&out, at, sizeof(T));
  return out;
}

constexpr uint64_t round_of(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * prime2, 31) * prime1;
}

void take_stripe(std::array<uint64_t, 4>& lanes, const unsigned char* at) {
  for (size_t i = 0; i < 4; ++i)
    lanes[i] = round_of(lanes[i], load<uint64_t>(at + 8 * i));
}

uint64_t take_tail(uint64_t hash, const unsigned char* at, size_t bytes) {
  for (; bytes >= 8; at += 8, bytes -= 8)
    hash =
        std::rotl(hash ^ round_of(0, load<uint64_t>(at)), 27) * prime1 + prime4;
  if (bytes >= 4) {
    hash = std::rotl(hash ^ load<uint32_t>(at) * prime1, 23) * prime2 + prime3;
    at += 4;
    bytes -= 4;
  }
  for (; bytes > 0; ++at, --bytes)
    hash = std::rotl(hash ^ *at * prime5, 11) * prime1;
  return hash;
}

} // namespace

void content_hash::update(const void* data, size_t bytes) {
  if (bytes == 0)
    return;
  const unsigned char* at = static_cast<const unsigned char*>(data);
  total_bytes_ += bytes;
  if (pending_bytes_ > 0) {
    const size_t fill = std::min(bytes, pending_.size() - pending_bytes_);
    std::memcpy(pending_.data() + pending_bytes_, at, fill);
    pending_bytes_ += fill;
    at += fill;
    bytes -= fill;
    if (pending_bytes_ < pending_.size())
      return;
    take_stripe(lanes_, pending_.data());
    pending_bytes_ = 0;
  }
  std::array<uint64_t, 4> lanes = lanes_; // in registers
  for (; bytes >= 32; at += 32, bytes -= 32)
    take_stripe(lanes, at);
  lanes_ = lanes;
  std::memcpy(pending_.data(), at, bytes);
  pending_bytes_ = bytes;
}

uint64_t content_hash::digest() const {
  uint64_t hash = prime5;
  if (total_bytes_ >= 32) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) +
           std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (uint64_t lane : lanes_)
      hash = (hash ^ round_of(0, lane)) * prime1 + prime4;
  }
  hash = take_tail(hash + total_bytes_, pending_.data(), pending_bytes_);
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash ^ hash >> 32;
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

} // namespace ballast
