// What a draw costs: alias table, sum tree of 10^7 weights of which batches of
// 256 are drawn and changed, reservoirs. For
// bench/operators.py. Prints a JSON object.
#include "runtime/sampling/alias_table.hpp"
#include "runtime/sampling/reservoir.hpp"
#include "runtime/sampling/sum_tree.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

namespace ballast::bench {
namespace {

/// Seconds; the median of five.
double seconds(const std::function<void()>& work) {
  std::vector<double> all(5);
  for (double& one : all) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    one =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
  }
  std::nth_element(all.begin(), all.begin() + 2, all.end());
  return all[2];
}

std::vector<double> weights(size_t count) {
  const counter_random random(1, 1);
  std::vector<double> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = random.unit(i);
  return out;
}

double alias_draws(size_t count) {
  constexpr size_t draws = 10'000'000;
  const sampling::alias_table table(weights(count));
  std::vector<uint32_t> out(draws);
  return draws / seconds([&] { table.draw(counter_random(1, 2), 0, out); });
}

double tree_changes(size_t count) {
  constexpr size_t batches = 8000, batch = 256;
  sampling::sum_tree tree(weights(count));
  const std::vector<double> units = weights(batches * batch);
  std::vector<size_t> at(batch);
  return batches * batch / seconds([&] {
           for (size_t i = 0; i < batches; ++i) {
             const std::span now(&units[i * batch], batch);
             tree.draw(now, at);
             tree.set(at, now);
           }
         });
}

/// Vitter's R: a number for each row.
double reservoir_r(uint64_t rows, uint64_t stream, std::vector<uint64_t>& out) {
  const counter_random random(1, 4);
  return seconds([&] {
    for (uint64_t i = 0; i < rows; ++i)
      out[i] = i;
    for (uint64_t i = rows; i < stream; ++i)
      if (const uint64_t place = random.below(i + 1, i); place < rows)
        out[place] = i;
  });
}

double reservoir_l(uint64_t rows, uint64_t stream, std::vector<uint64_t>& out) {
  return seconds([&] {
    sampling::uniform_reservoir from(rows, counter_random(1, 5));
    while (from.next_row() < stream) {
      out[from.next_place()] = from.next_row();
      from.take();
    }
  });
}

} // namespace
} // namespace ballast::bench

int main() {
  using namespace ballast::bench;
  constexpr uint64_t rows = 10'000, stream = 1000 * rows;
  std::vector<uint64_t> sample(rows);
  const double r = reservoir_r(rows, stream, sample);
  const double l = reservoir_l(rows, stream, sample);
  std::printf("{\"alias_1000_per_s\": %.0f, \"alias_10000000_per_s\": %.0f, "
              "\"tree_10000000_per_s\": %.0f, \"reservoir_r_s\": %.6f, "
              "\"reservoir_l_s\": %.6f}\n",
              alias_draws(1000), alias_draws(10'000'000),
              tree_changes(10'000'000), r, l);
}
