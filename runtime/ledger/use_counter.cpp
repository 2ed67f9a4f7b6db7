#include "runtime/ledger/use_counter.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>

namespace ballast::ledger {

sample_counts& sample_counts::operator+=(const sample_counts& more) {
  expected += more.expected;
  once += more.once;
  lost += more.lost;
  repeated += more.repeated;
  return *this;
}

use_counter::use_counter(uint64_t size, bool once)
    : size_(size), once_(once ? size : 0), again_(once ? size : 0),
      times_(once ? 0 : size) {}

void use_counter::add(uint64_t which) {
  if (!times_.empty()) {
    ++times_[which];
    return;
  }
  if (!once_[which]) {
    once_[which] = true;
    ++distinct_;
    return;
  }
  ++repeated_;
  if (!again_[which]) {
    again_[which] = true;
    ++met_again_;
  }
}

void use_counter::clear() {
  *this = use_counter(size_, times_.empty());
}

sample_counts use_counter::compared(const std::vector<uint32_t>& expected,
                                    bool over) const {
  sample_counts out;
  if (times_.empty()) {
    out.expected = over ? size_ : distinct_;
    out.once = distinct_ - met_again_;
    out.lost = out.expected - distinct_;
    out.repeated = repeated_;
    return out;
  }
  BALLAST_CHECK(expected.size() == size_, "uses are expected of each");
  for (uint64_t i = 0; i < size_; ++i) {
    const uint64_t made = times_[i];
    const uint64_t wanted =
        over ? expected[i] : std::min<uint64_t>(made, expected[i]);
    out.expected += wanted;
    out.once += made <= wanted ? made : 0;
    out.lost += wanted - std::min(made, wanted);
    out.repeated += made - std::min(made, wanted);
  }
  return out;
}

} // namespace ballast::ledger
