#include "gpu/first_touch.hpp"

#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

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
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i; (i = next.fetch_add(1)) < pieces.size();)
      touch(pieces[i]);
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(threads, pieces.size()); ++i)
    try {
      others.emplace_back([&run] {
        name_this_thread("bl-touch");
        run();
      });
    } catch (const std::system_error&) {
      break; // fewer do the same work
    }
  run();
  for (std::thread& one : others)
    one.join();
}

} // namespace ballast::gpu
