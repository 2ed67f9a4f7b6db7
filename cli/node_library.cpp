#include "cli/node_library.hpp"

#include "runtime/base/errors.hpp"

#include <dlfcn.h>
#include <filesystem>

namespace ballast::cli {

namespace {

using main_function = int (*)(int, char**);

main_function find_main(const std::string& command) {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  auto path = self.parent_path() / "libballast_node.so";
  // Stays open until the process ends: threads of its libraries may still run.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    throw ballast_error(errc::internal,
                        "cannot open libballast_node.so, which belongs beside "
                        "the program: " +
                            std::string(why ? why : "unknown reason"));
  }
  std::string symbol = "ballast_" + command + "_main";
  void* found = dlsym(library, symbol.c_str());
  if (found == nullptr)
    throw ballast_error(errc::not_in_build,
                        "`ballast " + command + "` is not in this build");
  return reinterpret_cast<main_function>(found);
}

} // namespace

int call_node_library(const std::string& command,
                      const std::vector<std::string>& arguments) {
  main_function function = find_main(command);
  std::vector<std::string> copies = {command};
  copies.insert(copies.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(copies.size() + 1);
  for (std::string& copy : copies)
    argv.push_back(copy.data());
  argv.push_back(nullptr);
  return function(int(copies.size()), argv.data());
}

} // namespace ballast::cli
