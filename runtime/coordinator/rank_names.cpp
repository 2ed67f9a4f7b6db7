#include "runtime/coordinator/rank_names.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace ballast::coordinator {

std::string with_names(const std::string& text,
                       std::span<const std::string> names) {
  constexpr std::string_view word = "rank ";
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t found = text.find(word, at);
    if (found == std::string::npos)
      break;
    const char* digits = text.data() + found + word.size();
    size_t rank = 0;
    auto [end, wrong] =
        std::from_chars(digits, text.data() + text.size(), rank);
    out.append(text, at, found - at);
    if (wrong == std::errc() && rank < names.size())
      out += names[rank];
    else
      out.append(text.data() + found, end);
    at = size_t(end - text.data());
  }
  return out + text.substr(std::min(at, text.size()));
}

} // namespace ballast::coordinator
