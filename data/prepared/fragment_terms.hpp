/// How the files of a job's sources are read apart from each other
/// (fragment_pool.hpp), as whoever has a set prepared wants it. A value.
#pragma once

#include "data/prepared/fragment_helpers.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ballast::data {

/// Files of fewer bytes in all are read one after another.
constexpr uint64_t fragments_worth_bytes = uint64_t{64} << 20;

struct fragment_terms {
  std::shared_ptr<fragment_helpers> helpers = nullptr; // null: nobody helps
  std::string token = {};                              // of their data
  ballast::term term = {};
  uint64_t worth_bytes = fragments_worth_bytes;
  /// Told what was read by whom, on any thread; may be empty.
  std::function<void(const std::string&)> note = {};
};

} // namespace ballast::data
