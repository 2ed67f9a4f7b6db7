/// The library checks of `ballast doctor`: the version that Ballast was
/// compiled with, and the file that the process really loads.
#include "cli/commands/doctor_checks.hpp"

#include "gpu/torch/factory.hpp"
#include "monitor/http/http_server.hpp"

#include <arrow/config.h>
#include <caf/config.hpp>
#include <dlfcn.h>
#include <filesystem>
#include <gloo/config.h>
#include <link.h>
#include <nlohmann/json.hpp>
#include <spdlog/version.h>
#include <sqlite3.h>
#include <system_error>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch);
}

struct search {
  std::string name;
  std::string found;
};

/// The real file of the loaded library whose name starts with `name`; it
/// usually contains the version. Empty if none is loaded.
std::string loaded_file(const std::string& name) {
  search wanted{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* sought = static_cast<search*>(context);
        fs::path file = info->dlpi_name ? info->dlpi_name : "";
        if (file.filename().string().compare(0, sought->name.size(),
                                             sought->name) != 0)
          return 0;
        std::error_code error;
        fs::path real = fs::canonical(file, error);
        sought->found = error ? file.string() : real.string();
        return 1;
      },
      &wanted);
  return wanted.found;
}

check library(const std::string& name, const std::string& version,
              const std::string& file) {
  check out{"libraries", name, finding::fine, version, {}};
  std::string where = file.empty() ? "" : loaded_file(file);
  if (!where.empty())
    out.found += (out.found.empty() ? "" : ", ") + where;
  if (out.found.empty()) {
    out.result = finding::missing;
    out.found = "not loaded by this program";
    out.what_to_do = "./dev setup && ./dev build";
  }
  return out;
}

/// The version of the headers and the one at run time.
check library(const std::string& name, const std::string& compiled,
              const std::string& running, const std::string& file) {
  check out = library(name, running, file);
  if (compiled != running) {
    out.result = finding::note;
    out.what_to_do = "Ballast was compiled with " + compiled +
                     "; build again after changing libraries";
  }
  return out;
}

/// Opens the libraries that a worker opens; they stay open, because LibTorch
/// cannot be unloaded.
check torch() {
  check out{"libraries", "LibTorch", finding::missing, {}, {}};
  Dl_info here{};
  dladdr(reinterpret_cast<const void*>(&loaded_file), &here);
  fs::path file = fs::path(here.dli_fname ? here.dli_fname : "").parent_path() /
                  gpu::torch_library_name;
  std::error_code error;
  if (!fs::exists(file, error)) {
    out.found = "not in this build (" + file.string() + " is absent)";
    out.what_to_do = "./dev build; until then only the emulated model works";
  } else if (!dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    out.found = dlerror();
    out.what_to_do = "./dev setup && ./dev build";
  } else {
    out.result = finding::fine;
    out.found = loaded_file("libtorch_cpu.so");
  }
  return out;
}

} // namespace

void check_libraries(std::vector<check>& out) {
  out.push_back(library(
      "CAF", dotted(CAF_MAJOR_VERSION, CAF_MINOR_VERSION, CAF_PATCH_VERSION),
      "libcaf_core"));
  out.push_back(library("Arrow", ARROW_VERSION_STRING,
                        arrow::GetBuildInfo().version_string, "libarrow.so"));
  out.push_back(library("Arrow Flight", "", "libarrow_flight"));
  out.push_back(torch());
  out.push_back(library(
      "Gloo",
      dotted(GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH) +
          ", inside the program",
      ""));
  out.push_back(
      library("SQLite", SQLITE_VERSION, sqlite3_libversion(), "libsqlite3"));
  out.push_back(library("prometheus-cpp", "", "libprometheus-cpp-core"));
  out.push_back(library("cpp-httplib", monitor::http_library_version(),
                        "libcpp-httplib"));
  out.push_back(library(
      "spdlog", dotted(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH),
      "libspdlog"));
  out.push_back(library("libjpeg-turbo", "", "libturbojpeg"));
  out.push_back(library("libspng", "", "libspng"));
  out.push_back(library("libarchive", "", "libarchive"));
  out.push_back(
      library("nlohmann-json",
              dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                     NLOHMANN_JSON_VERSION_PATCH),
              ""));
}

} // namespace ballast::cli
