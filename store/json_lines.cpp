#include "store/json_lines.hpp"

#include "runtime/base/errors.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::store {

bool for_each_json_line(
    const std::filesystem::path& file,
    const std::function<void(const nlohmann::json&, uint64_t number)>& use,
    const std::function<void(uint64_t number, const std::string& why)>&
        broken) {
  std::error_code ignored;
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file, ignored))
    return false;
  std::string text;
  for (uint64_t number = 1; std::getline(in, text); ++number) {
    if (in.eof())
      break;
    try {
      use(nlohmann::json::parse(text), number);
    } catch (const nlohmann::json::exception& problem) {
      broken(number, problem.what());
    }
  }
  return true;
}

bool for_each_line_of(const std::filesystem::path& file,
                      const std::string& what,
                      const std::function<void(const nlohmann::json&)>& use) {
  return for_each_json_line(
      file, [&](const nlohmann::json& line, uint64_t) { use(line); },
      [&](uint64_t number, const std::string& why) {
        throw ballast_error(errc::run_dir_unusable,
                            file.string() + " line " + std::to_string(number) +
                                " is no " + what + ": " + why);
      });
}

} // namespace ballast::store
