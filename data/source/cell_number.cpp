#include "data/source/cell_number.hpp"

#include <charconv>
#include <limits>

namespace ballast::data {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

parsed parse_number(std::string_view text, double& out) {
  text = trimmed(text);
  if (text.empty())
    return parsed::empty;
  if (text.front() == '+')
    text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  if (rest != end ||
      (error != std::errc{} && error != std::errc::result_out_of_range))
    return parsed::text;
  if (error == std::errc::result_out_of_range) {
    // Out of range: 1e-400 counts as 0, 1e400 is an error.
    const bool tiny = text.find_first_of("eE") != std::string_view::npos
                          ? text.find("e-") != std::string_view::npos ||
                                text.find("E-") != std::string_view::npos
                          : text.starts_with("0.") || text.starts_with("-0.");
    out = tiny ? 0 : std::numeric_limits<double>::infinity();
  }
  return parsed::number;
}

} // namespace ballast::data
