#include "data/source/adbc_driver.hpp"

#include "runtime/base/errors.hpp"
#include "store/own_folders.hpp"

#include <arrow-adbc/adbc.h>

#include <array>
#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <mutex>

namespace ballast::data {

namespace {

namespace fs = std::filesystem;

// Its file is libadbc_driver_WORD.so, its wheel adbc-driver-WORD.
std::string driver_word(database_kind kind) {
  return kind == database_kind::postgresql ? "postgresql" : "sqlite";
}

std::string driver_remedy(database_kind kind) {
  return "run ./dev setup, or put the library of the wheel adbc-driver-" +
         driver_word(kind) + "==" BALLAST_ADBC_VERSION " beside the program";
}

[[noreturn]] void refuse_driver(database_kind kind, const std::string& why) {
  throw ballast_error(errc::not_in_build, std::string("the driver of ") +
                                              name_of(kind) + " " + why + "; " +
                                              driver_remedy(kind));
}

// The standard's name comes first; older drivers have only one of their own.
AdbcDriverInitFunc driver_entry(void* handle, database_kind kind) {
  for (const char* name : {"AdbcDriverInit", kind == database_kind::postgresql
                                                 ? "AdbcPostgresqlInit"
                                                 : "AdbcSqliteInit"})
    if (void* found = dlsym(handle, name))
      return reinterpret_cast<AdbcDriverInitFunc>(found);
  return nullptr;
}

} // namespace

const char* name_of(database_kind kind) {
  return kind == database_kind::postgresql ? "PostgreSQL" : "SQLite";
}

std::vector<std::string> driver_folders(database_kind kind) {
  std::vector<std::string> out;
  for (const fs::path& folder : store::own_folders())
    out.push_back(folder.string());
  out.push_back(
      (fs::path(BALLAST_ADBC_FOLDER) / ("adbc_driver_" + driver_word(kind)))
          .string());
  return out;
}

AdbcDriver& open_driver(database_kind kind,
                        const std::vector<std::string>& folders) {
  const std::string name = "libadbc_driver_" + driver_word(kind) + ".so";
  std::string looked_in;
  for (const std::string& folder : folders) {
    looked_in += (looked_in.empty() ? "" : ", ") + folder;
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    if (!fs::exists(path, error))
      continue;
    // Local: a driver brings a TLS library of its own, which the program's must
    // not meet.
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      refuse_driver(kind, "cannot be loaded: " + std::string(dlerror()));
    const AdbcDriverInitFunc entry = driver_entry(handle, kind);
    if (!entry)
      refuse_driver(kind, path.string() + " has no entry point of ADBC");
    auto driver = std::make_unique<AdbcDriver>();
    AdbcError said = ADBC_ERROR_INIT;
    if (entry(ADBC_VERSION_1_1_0, driver.get(), &said) != ADBC_STATUS_OK) {
      const std::string why = said.message ? said.message : "no reason given";
      if (said.release)
        said.release(&said);
      refuse_driver(kind, path.string() + " does not speak ADBC 1.1: " + why);
    }
    return *driver.release(); // as long as the library: for ever
  }
  refuse_driver(kind, "is missing: " + name + " is in none of " + looked_in);
}

AdbcDriver& driver_of(database_kind kind) {
  static std::mutex mutex;
  static std::array<AdbcDriver*, 2> drivers{};
  const std::lock_guard lock(mutex);
  AdbcDriver*& driver = drivers[size_t(kind)];
  if (!driver)
    driver = &open_driver(kind, driver_folders(kind));
  return *driver;
}

} // namespace ballast::data
