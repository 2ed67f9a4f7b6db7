#include "runtime/ledger/permutation.hpp"

#include "runtime/ledger/sequence.hpp"

#include <numeric>

namespace ballast::ledger {

std::vector<uint32_t> random_permutation(uint64_t seed, uint64_t stream,
                                         uint32_t n) {
  __extension__ using wide = unsigned __int128;
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  auto swap_last = [&order](uint32_t size, uint64_t random) {
    uint32_t pick = uint32_t(wide(random) * size >> 64);
    std::swap(order[size - 1], order[pick]);
  };
  uint64_t counter = 0;
  for (uint32_t size = n; size > 1; size -= size > 2 ? 2 : 1) {
    philox_block block = philox4x32({uint32_t(counter), uint32_t(counter >> 32),
                                     uint32_t(stream), uint32_t(stream >> 32)},
                                    uint32_t(seed), uint32_t(seed >> 32));
    ++counter;
    swap_last(size, uint64_t{block[1]} << 32 | block[0]);
    if (size > 2)
      swap_last(size - 1, uint64_t{block[3]} << 32 | block[2]);
  }
  return order;
}

std::vector<uint32_t> epoch_permutation(uint64_t seed, epoch_number epoch,
                                        chunk_id chunk, uint32_t chunk_rows) {
  uint64_t stream = mix(
      mix(uint64_t(stream_purpose::chunk_order), value(epoch)), value(chunk));
  return random_permutation(seed, stream, chunk_rows);
}

} // namespace ballast::ledger
