#include "gpu/own_library.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <vector>

namespace ballast::gpu {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> library_folders() {
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
    out.push_back(program.parent_path());
    out.push_back(program.parent_path().parent_path() / "lib" / "ballast");
  }
  return out;
}

} // namespace

own_library open_own_library(const std::string& name) {
  std::string looked_in;
  for (const fs::path& folder : library_folders()) {
    std::error_code error;
    const fs::path path = folder / name;
    looked_in += (looked_in.empty() ? "" : ", ") + folder.string();
    if (!fs::exists(path, error))
      continue;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return {nullptr, false,
              path.string() + " cannot be loaded: " + dlerror()};
    return {handle, false, {}};
  }
  return {nullptr, true, name + " is in none of: " + looked_in};
}

void* function_of(own_library& library, const char* name) {
  if (!library.handle)
    return nullptr;
  void* found = dlsym(library.handle, name);
  if (!found) {
    const char* why = dlerror();
    library.why_not =
        "it is of another version: " + std::string(why ? why : name);
  }
  return found;
}

} // namespace ballast::gpu
