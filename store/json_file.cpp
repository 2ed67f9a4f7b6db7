#include "store/json_file.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::store {

nlohmann::json read_json_file(const std::filesystem::path& file) {
  std::error_code ignored;
  // Reading a folder would throw.
  if (!std::filesystem::is_regular_file(file, ignored))
    return nlohmann::json(nlohmann::json::value_t::discarded);
  std::ifstream in(file);
  return nlohmann::json::parse(in, nullptr, false);
}

} // namespace ballast::store
