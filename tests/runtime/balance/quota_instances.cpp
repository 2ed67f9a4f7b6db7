// Prints random requests for a quota and our answers, one JSON object a line,
// for quota_against_scipy.py.
//
// usage: quota_instances FIRST_SEED COUNT
#include "runtime/balance/moves_bound.hpp"
#include "tests/runtime/balance/quota_fixture.hpp"

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

namespace ballast::balance {
namespace {

using nlohmann::json;

json matrix(const label_counts& counts) {
  json out = json::array();
  for (size_t w = 0; w < counts.workers; ++w) {
    json row = json::array();
    for (size_t c = 0; c < counts.classes; ++c)
      row.push_back(counts.at(w, c));
    out.push_back(row);
  }
  return out;
}

json answer(const quota& found) {
  return {{"target", matrix(found.target)},
          {"moved", found.moved},
          {"bound", found.bound},
          {"exact", found.exact},
          {"covered", found.covered}};
}

void print(uint64_t seed) {
  quota_request what = testing::some_request(seed);
  std::cout << json{{"seed", seed},
                    {"held", matrix(what.held)},
                    {"sizes", what.sizes},
                    {"skew_tv", what.skew_tv},
                    {"holders_min", what.holders_min},
                    {"certificate",
                     certificate_json(what, prove_moves_bound(what))},
                    {"fast", answer(fast_quota(what))},
                    {"exact", answer(exact_quota(what))}}
            << "\n";
}

} // namespace
} // namespace ballast::balance

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: quota_instances FIRST_SEED COUNT\n";
    return 2;
  }
  uint64_t first = std::strtoull(argv[1], nullptr, 10);
  uint64_t count = std::strtoull(argv[2], nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed)
    ballast::balance::print(seed);
}
