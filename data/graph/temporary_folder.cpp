#include "data/graph/temporary_folder.hpp"

#include "data/prepared/prepare_cache.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace ballast::data {

namespace fs = std::filesystem;

fs::path make_temporary_folder() {
  const char* told = std::getenv("TMPDIR");
  const fs::path under = told != nullptr && *told != '\0' ? told : "/tmp";
  std::string name = (under / "ballast-rows-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    refuse_write(name, errno);
  return name;
}

void remove_temporary_folder(const fs::path& folder) noexcept {
  std::error_code ignored;
  if (!folder.empty())
    fs::remove_all(folder, ignored);
}

} // namespace ballast::data
