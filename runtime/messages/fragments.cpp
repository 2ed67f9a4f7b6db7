#include "runtime/messages/fragments.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

namespace ballast {

namespace {

constexpr std::string_view blob_prefix = "fragment/";
constexpr size_t key_length = 16;

} // namespace

std::string fragment_blob(const std::string& key, uint64_t at) {
  return std::string(blob_prefix) + key + "/" + std::to_string(at);
}

/// The name comes from the network: a key is no way out of a folder.
bool read_fragment_blob(const std::string& name, std::string& key,
                        uint64_t& at) {
  const size_t begin = blob_prefix.size();
  if (!name.starts_with(blob_prefix) || name.size() < begin + key_length + 2 ||
      name[begin + key_length] != '/')
    return false;
  key = name.substr(begin, key_length);
  if (key.find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  const char* const from = name.data() + begin + key_length + 1;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(from, end, at);
  return error == std::errc{} && rest == end;
}

} // namespace ballast
