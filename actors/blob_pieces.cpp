#include "actors/blob_pieces.hpp"

#include <charconv>

namespace ballast::actors {

std::string piece_name(std::string_view blob, uint64_t at) {
  return std::string(blob) + "@" + std::to_string(at);
}

bool read_piece_name(std::string_view name, std::string& blob, uint64_t& at) {
  const size_t sign = name.rfind('@');
  if (sign == std::string_view::npos)
    return false;
  const std::string_view number = name.substr(sign + 1);
  const auto end = number.data() + number.size();
  const auto found = std::from_chars(number.data(), end, at);
  blob = name.substr(0, sign);
  return found.ec == std::errc() && found.ptr == end;
}

} // namespace ballast::actors
