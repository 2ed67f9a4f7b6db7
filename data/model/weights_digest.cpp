#include "data/model/weights_digest.hpp"

#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <atomic>
#include <future>

namespace ballast::data {

namespace {

constexpr uint64_t block_bytes = uint64_t{64} << 20;

/// All tensors' bytes, as if they lay one behind the other.
class joined {
public:
  explicit joined(std::vector<tensor_view> tensors)
      : tensors_(std::move(tensors)) {
    std::sort(tensors_.begin(), tensors_.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    for (const tensor_view& one : tensors_)
      bytes_ += one.values.size_bytes();
  }

  uint64_t blocks() const { return (bytes_ + block_bytes - 1) / block_bytes; }

  uint64_t hash_of(uint64_t block) const {
    content_hash out;
    uint64_t skip = block * block_bytes;
    uint64_t left = block_bytes;
    for (const tensor_view& one : tensors_) {
      const uint64_t has = one.values.size_bytes();
      if (skip >= has) {
        skip -= has;
        continue;
      }
      const uint64_t count = std::min(left, has - skip);
      out.update(reinterpret_cast<const char*>(one.values.data()) + skip,
                 count);
      skip = 0;
      left -= count;
      if (left == 0)
        break;
    }
    return out.digest();
  }

private:
  std::vector<tensor_view> tensors_;
  uint64_t bytes_ = 0;
};

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
  const joined all(tensors);
  std::vector<uint64_t> found(all.blocks());
  std::atomic<uint64_t> next{0};
  const auto some = [&] {
    for (uint64_t i = next++; i < found.size(); i = next++)
      found[i] = all.hash_of(i);
  };
  std::vector<std::future<void>> others;
  for (uint64_t i = 1; i < std::min<uint64_t>(threads, found.size()); ++i)
    others.push_back(std::async(std::launch::async, [&some] {
      name_this_thread("bl-digest");
      some();
    }));
  some();
  for (std::future<void>& one : others)
    one.get();
  content_hash out;
  for (const uint64_t one : found)
    out.update(hex16(one));
  return hex16(out.digest());
}

} // namespace ballast::data
