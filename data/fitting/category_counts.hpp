/// How often each category occurs, as a value that can be put together of
/// parts. Text that is not UTF-8 counts by its bytes. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace ballast::data {

class category_counts {
public:
  /// More are no categories.
  static constexpr size_t most = 1'000'000;

  void add(std::string_view category, uint64_t times = 1) {
    const auto found = counts_.find(category);
    if (found != counts_.end())
      found->second += times;
    else
      counts_.emplace(std::string(category), times);
  }
  void merge(const category_counts& other) {
    for (const auto& [category, times] : other.counts_)
      add(category, times);
  }
  const std::map<std::string, uint64_t, std::less<>>& all() const {
    return counts_;
  }

private:
  std::map<std::string, uint64_t, std::less<>> counts_;
};

} // namespace ballast::data
