/// XXH64 (seed 0), by libxxhash: the checksum of chunks and the identity of
/// sources. Finds damage, not malice. One owner; not thread-safe while it is
/// fed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct XXH64_state_s;

namespace ballast::data {

class content_hash {
public:
  content_hash();
  void update(const void* data, size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  /// The hash of all bytes so far; more may follow.
  uint64_t digest() const;

private:
  struct release {
    void operator()(XXH64_state_s* state) const;
  };
  std::unique_ptr<XXH64_state_s, release> state_;
};

/// 16 lower-case hex digits.
std::string hex16(uint64_t number);

} // namespace ballast::data
