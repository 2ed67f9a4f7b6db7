/// What the manifest.json of a copied checkpoint says. It comes from a place
/// that others may write to: nothing of it is believed that is not checked.
/// Pure.
#pragma once

#include "runtime/base/ids.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

struct copied_file {
  std::string name; // in the copy; letters, digits and "/._-", no ".."
  uint64_t bytes = 0;
  std::string xxh64; // 16 hex digits
};

struct found_copy {
  step_number step{};
  std::string folder; // in the place: "step-40"
  std::string run;
  std::string identity;
  std::vector<copied_file> files;
  std::string problem; // why it cannot be used; empty: it may be
};

/// Of the text; `out` has its step already, which must be the same.
void read_copy(const std::string& text, found_copy& out);
/// The step in "step-N"; 0: it is no such name.
step_number step_of_copy(std::string_view folder);

} // namespace ballast::data
