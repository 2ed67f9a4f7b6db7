/// States of checkpoints for tests of what becomes of their files.
#pragma once

#include "data/base/content_hash.hpp"
#include "data/model/checkpoint_store.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

/// A state that is nothing but its header.
inline std::string state_of(uint64_t step) {
  const std::string header =
      R"({"__metadata__":{"step":")" + std::to_string(step) + "\"}}";
  std::string out(8, '\0');
  out[0] = char(header.size());
  return out + header;
}

/// A state that comes in two parts.
inline state_source all_of(const std::string& text) {
  return {text.size(), [text](const unfinished_state& into) {
            std::vector<state_part> out;
            for (const size_t at : {size_t{0}, text.size() / 2}) {
              const std::string part = text.substr(
                  at, at == 0 ? text.size() / 2 : std::string::npos);
              into.write(at, part);
              content_hash hash;
              hash.update(part);
              out.push_back({part.size(), hex16(hash.digest())});
            }
            return out;
          }};
}

} // namespace ballast::data
