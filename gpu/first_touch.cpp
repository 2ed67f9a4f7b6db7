#include "gpu/first_touch.hpp"

#include "runtime/base/on_threads.hpp"

#include <algorithm>

namespace ballast::gpu {

namespace {

constexpr size_t page_floats = 4096 / sizeof(float); // the smallest there are
/// What a thread takes at a time: several huge pages.
constexpr size_t piece_floats = size_t{16 << 20} / sizeof(float);

/// The compiler must not see that nothing changes.
void touch(std::span<float> piece) {
  for (size_t i = 0; i < piece.size(); i += page_floats)
    *static_cast<volatile float*>(piece.data() + i) = 0;
  if (!piece.empty())
    *static_cast<volatile float*>(&piece.back()) = 0;
}

} // namespace

void touch_first(const std::vector<std::span<float>>& memory,
                 uint32_t threads) {
  std::vector<std::span<float>> pieces;
  for (std::span<float> rest : memory)
    while (!rest.empty()) {
      const size_t count = std::min(rest.size(), piece_floats);
      pieces.push_back(rest.first(count));
      rest = rest.subspan(count);
    }
  for_each_piece(pieces.size(), threads, "bl-touch",
                 [&](size_t i) { touch(pieces[i]); });
}

} // namespace ballast::gpu
