/// A quick fingerprint of parameters, by which ranks find out whether they have
/// the same: the XXH64 of the XXH64 of each 64 MiB of them, so that several
/// threads can make it. Finds damage, not malice; what a run publishes is named
/// by weights_sha256().
#pragma once

#include "data/base/content_hash.hpp"
#include "data/model/safetensors.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// Of bytes as they come, those of all tensors one behind the other. A value,
/// one owner, one thread.
class weights_digest {
public:
  void update(std::string_view bytes);
  /// 16 hex digits. The last call.
  std::string hex_digest();

private:
  void end_block();

  content_hash block_;
  uint64_t in_block_ = 0;
  content_hash all_;
};

/// Of tensors in the order of their names, by so many threads.
std::string digest_of(const std::vector<tensor_view>& tensors,
                      uint32_t threads);

} // namespace ballast::data
