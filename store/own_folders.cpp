#include "store/own_folders.hpp"

#include <dlfcn.h>
#include <string>

namespace ballast::store {

namespace fs = std::filesystem;

std::vector<fs::path> own_folders() {
  std::vector<fs::path> out;
  std::error_code error;
  static const int anchor = 0;
  Dl_info info{};
  if (dladdr(&anchor, &info) != 0 && info.dli_fname &&
      std::string(info.dli_fname).find('/') != std::string::npos) {
    const fs::path file = fs::canonical(info.dli_fname, error);
    if (!error)
      out.push_back(file.parent_path());
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path beside = program.parent_path();
    if (out.empty() || out.back() != beside)
      out.push_back(beside);
    out.push_back(beside.parent_path() / "lib" / "ballast");
  }
  return out;
}

} // namespace ballast::store
