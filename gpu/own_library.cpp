#include "gpu/own_library.hpp"

#include "store/own_folders.hpp"

#include <dlfcn.h>
#include <filesystem>

namespace ballast::gpu {

namespace fs = std::filesystem;

own_library open_own_library(const std::string& name) {
  std::string looked_in;
  for (const fs::path& folder : store::own_folders()) {
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
