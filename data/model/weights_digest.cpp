#include "data/model/weights_digest.hpp"

#include "runtime/base/on_threads.hpp"

#include <algorithm>

namespace ballast::data {

namespace {

constexpr uint64_t block_bytes = uint64_t{64} << 20;

} // namespace

void weights_digest::end_block() {
  all_.update(hex16(block_.digest()));
  block_ = {};
  in_block_ = 0;
}

void weights_digest::update(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t count =
        std::min<uint64_t>(bytes.size(), block_bytes - in_block_);
    block_.update(bytes.substr(0, count));
    in_block_ += count;
    bytes.remove_prefix(count);
    if (in_block_ == block_bytes)
      end_block();
  }
}

std::string weights_digest::hex_digest() {
  if (in_block_ > 0)
    end_block();
  return hex16(all_.digest());
}

std::string digest_of(const std::vector<tensor_view>& tensors,
                      uint32_t threads) {
  safetensors_image all{{}, tensors};
  std::sort(all.tensors.begin(), all.tensors.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::vector<uint64_t> found((all.bytes() + block_bytes - 1) / block_bytes);
  for_each_piece(found.size(), threads, "bl-digest", [&](size_t i) {
    content_hash block;
    all.visit(i * block_bytes, block_bytes,
              [&](std::string_view bytes) { block.update(bytes); });
    found[i] = block.digest();
  });
  content_hash out;
  for (const uint64_t one : found)
    out.update(hex16(one));
  return hex16(out.digest());
}

} // namespace ballast::data
