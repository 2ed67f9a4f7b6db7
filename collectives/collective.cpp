#include "collectives/collective.hpp"

#include "collectives/zeroed_memory.hpp"

#include <algorithm>

namespace ballast::collectives {

namespace {

[[noreturn]] void not_offered(const char* operation) {
  throw collective_error(collective_errc::unsupported,
                         std::string("this collective backend has no ") +
                             operation +
                             "; ask its capabilities before, or choose "
                             "another one with train.collective");
}

} // namespace

void collective::fill_lacking(void* data, size_t bytes,
                              std::span<const bytes_here> have,
                              deadline until) {
  const auto holder = std::ranges::find(have, bytes_here::all);
  if (have.size() != static_cast<size_t>(size()) || holder == have.end()) {
    throw collective_error(collective_errc::mismatch,
                           "no rank holds the bytes that others lack");
  }
  // Other holders receive equal bytes.
  broadcast(data, bytes, static_cast<int>(holder - have.begin()), until);
}

void collective::on_peer_lost(std::function<void(int)>) {}

void collective::reduce_scatter(void*, size_t, element_type, deadline) {
  not_offered("reduce_scatter");
}

void collective::all_gather(void*, size_t, element_type, deadline) {
  not_offered("all_gather");
}

void collective::sum_in_order(const ledger::fixed_sum&, const float*, size_t,
                              float*, size_t, deadline) {
  not_offered("sum_in_order");
}

void collective::all_to_all(const void*, void*, size_t, deadline) {
  not_offered("all_to_all");
}

void collective::send(const void*, size_t, int, deadline) {
  not_offered("send");
}

void collective::receive(void*, size_t, int, deadline) {
  not_offered("receive");
}

std::shared_ptr<float[]> collective_backend::allocate_arena(size_t floats) {
  return zeroed_floats(floats);
}

slice slice_of(size_t count, int rank, int size) {
  size_t ranks = static_cast<size_t>(size);
  size_t r = static_cast<size_t>(rank);
  size_t each = count / ranks;
  size_t more = count % ranks; // the first `more` slices get one extra element
  size_t begin = r * each + std::min(r, more);
  return {begin, begin + each + (r < more ? 1 : 0)};
}

} // namespace ballast::collectives
