/// int8: blocks of 256 values. Two ranks send each other everything. More send
/// each slice to one rank, which adds up and rounds once more; what that leaves
/// out is its own to keep: 2 (n-1)/n of a quarter of the bytes for n ranks.
#include "gpu/reduction/codec.hpp"
#include "gpu/reduction/int8_block.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <vector>

namespace ballast::gpu {

namespace {

size_t blocks_of(size_t count) {
  return (count + int8_block::values - 1) / int8_block::values;
}

class int8_codec final : public codec {
public:
  void exchange(size_t, float* values, float* left, size_t count,
                const exchange_among& how) override {
    if (how.group.size() == 2)
      everything(values, left, count, how);
    else
      by_slices(values, left, count, how);
  }

private:
  void gather(std::vector<int8_block>& blocks, const exchange_among& how) {
    how.group.all_gather(blocks.data(),
                         blocks.size() * sizeof(int8_block) / sizeof(float),
                         collectives::element_type::float32, how.until);
  }

  void everything(float* values, float* left, size_t count,
                  const exchange_among& how) {
    const size_t each = blocks_of(count);
    const auto me = size_t(how.group.rank());
    gathered_.resize(2 * each);
    encode_int8(values, count, mix(how.key, me), &gathered_[me * each], left);
    gather(gathered_, how);
    decode_int8(gathered_.data(), values, count);
    add_int8(&gathered_[each], values, count);
  }

  void by_slices(float* values, float* left, size_t count,
                 const exchange_among& how) {
    const auto ranks = size_t(how.group.size());
    const auto me = size_t(how.group.rank());
    const size_t each = (blocks_of(count) + ranks - 1) / ranks; // of a slice
    sent_.assign(ranks * each, {});
    gathered_.resize(ranks * each);
    encode_int8(values, count, mix(how.key, me), sent_.data(), left);
    how.group.all_to_all(sent_.data(), gathered_.data(),
                         each * sizeof(int8_block), how.until);
    const size_t begin = std::min(count, me * each * int8_block::values);
    const size_t own = std::min(count - begin, each * int8_block::values);
    sum_.assign(own, 0.0F);
    for (size_t r = 0; r < ranks; ++r)
      add_int8(&gathered_[r * each], sum_.data(), own);
    again_.resize(own);
    encode_int8(sum_.data(), own, mix(how.key, ranks + me),
                &gathered_[me * each], again_.data());
    for (size_t i = 0; i < own; ++i)
      left[begin + i] += again_[i];
    gather(gathered_, how);
    decode_int8(gathered_.data(), values, count);
  }

  std::vector<int8_block> sent_;
  std::vector<int8_block> gathered_; // by rank
  std::vector<float> sum_;
  std::vector<float> again_;
};

} // namespace

std::unique_ptr<codec> make_int8_codec() {
  return std::make_unique<int8_codec>();
}

} // namespace ballast::gpu
