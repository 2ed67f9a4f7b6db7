#include "data/operators/user_library.hpp"

#include "data/model/sha256.hpp"
#include "data/operators/crash_note.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/unique_fd.hpp"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

constexpr int64_t library_bytes_max = int64_t{1} << 30;
constexpr uint64_t operators_max = 4096;

/// Of the node's field `library`.
[[noreturn]] void refuse_library(const std::string& path,
                                 const std::string& pointer,
                                 const std::string& why) {
  const std::string field = pointer + "/library";
  throw ballast_error(errc::invalid_data,
                      field + ": " + printable(path) + " " + why, field);
}

std::string read_library(const std::string& path, const std::string& pointer) {
  const auto failed = [&] {
    refuse_library(path, pointer,
                   std::string("cannot be read (") + std::strerror(errno) +
                       "); expected the file of a library of operators");
  };
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC |
                                                O_NONBLOCK)); // not for a pipe
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0)
    failed();
  if (!S_ISREG(about.st_mode) || about.st_size > library_bytes_max)
    refuse_library(path, pointer,
                   "is no file of at most 1 GiB; expected a library of "
                   "operators");
  std::string out(size_t(about.st_size), '\0');
  for (size_t at = 0; at < out.size();) {
    const ssize_t got = ::read(file.get(), out.data() + at, out.size() - at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      failed();
    if (got == 0)
      refuse_library(path, pointer,
                     "became shorter while it was read; try again when it is "
                     "complete");
    at += size_t(got);
  }
  return out;
}

std::string hash_of_bytes(const std::string& bytes) {
  sha256 hash;
  hash.update(std::as_bytes(std::span(bytes)));
  return hash.hex_digest();
}

/// The bytes as a file that nobody else has. It stays open: the linker knows a
/// library by its name, here a number that must not become another's.
std::string file_of_bytes(const std::string& bytes, const std::string& path,
                          const std::string& pointer) {
  const std::string name =
      std::filesystem::path(path).filename().string().substr(0, 200);
  unique_fd file(::memfd_create(name.c_str(), MFD_CLOEXEC));
  for (size_t at = 0; file && at < bytes.size();) {
    const ssize_t put =
        ::write(file.get(), bytes.data() + at, bytes.size() - at);
    if (put < 0 && errno != EINTR)
      file.reset();
    at += put > 0 ? size_t(put) : 0;
  }
  if (!file)
    refuse_library(path, pointer,
                   std::string("cannot be put into memory (") +
                       std::strerror(errno) + ")");
  return "/proc/self/fd/" + std::to_string(file.release());
}

void* open_library(const std::string& bytes, const std::string& path,
                   const std::string& pointer) {
  const std::string file = file_of_bytes(bytes, path, pointer);
  const std::string loading =
      pointer + "/library: " + printable(path) + ", as it was loaded,";
  const crash_note note(loading.c_str());
  // Local: what it brings along must not take the place of anything here.
  if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
    return handle;
  const char* said = dlerror();
  std::string why = said != nullptr ? said : "no reason given";
  if (const size_t at = why.find(file); at != std::string::npos)
    why.replace(at, file.size(), "it");
  refuse_library(path, pointer,
                 "cannot be loaded (" + printable(why, 400) +
                     "); expected a library for this machine, built by g++ "
                     "-shared -fPIC");
}

const ballast_operator_library& operators_in(void* handle,
                                             const std::string& path,
                                             const std::string& pointer) {
  const auto* found = static_cast<const ballast_operator_library*>(
      dlsym(handle, BALLAST_OPERATORS_SYMBOL));
  if (found == nullptr)
    refuse_library(path, pointer,
                   "is no library of operators: it has no "
                   "'" BALLAST_OPERATORS_SYMBOL
                   "'; say BALLAST_OPERATORS(...) in it, as "
                   "include/ballast/operator.h does");
  if (found->abi != BALLAST_OPERATOR_ABI)
    refuse_library(path, pointer,
                   "was built for version " + std::to_string(found->abi) +
                       " of include/ballast/operator.h, this program has "
                       "version " +
                       std::to_string(BALLAST_OPERATOR_ABI) +
                       "; build it again with the header of this program");
  if (found->operator_bytes < sizeof(ballast_operator) ||
      found->count > operators_max || found->operators == nullptr)
    refuse_library(path, pointer,
                   "lists its operators wrongly; use BALLAST_OPERATORS of "
                   "include/ballast/operator.h");
  return *found;
}

/// Those of a later version of the header may be larger.
const ballast_operator& operator_at(const ballast_operator_library& all,
                                    uint64_t index) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(all.operators);
  return *reinterpret_cast<const ballast_operator*>(bytes +
                                                    index * all.operator_bytes);
}

} // namespace

const user_library& user_library::load(const std::string& path,
                                       const std::string& pointer) {
  static std::mutex mutex;
  // By content; for ever, as the libraries.
  static auto& loaded =
      *new std::map<std::string, std::unique_ptr<const user_library>>;
  const std::string bytes = read_library(path, pointer);
  const std::string hash = hash_of_bytes(bytes);
  const std::lock_guard lock(mutex);
  std::unique_ptr<const user_library>& out = loaded[hash];
  if (out == nullptr)
    out.reset(new user_library(
        operators_in(open_library(bytes, path, pointer), path, pointer)));
  return *out;
}

const ballast_operator& user_library::find(const std::string& name,
                                           const std::string& path,
                                           const std::string& pointer) const {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < what_->count; ++i) {
    const ballast_operator& one = operator_at(*what_, i);
    if (one.name == nullptr || one.open == nullptr || one.apply == nullptr)
      refuse_library(path, pointer,
                     "lists an operator without a name, open() or apply()");
    if (one.name == name)
      return one;
    names.emplace_back(printable(one.name, 64));
  }
  const std::string near = nearest_word(name, names);
  std::string all;
  for (const std::string& one : names)
    all += (all.empty() ? "'" : ", '") + one + "'";
  const std::string field = pointer + "/function";
  throw ballast_error(errc::invalid_data,
                      field + ": " + printable(path) + " has no operator '" +
                          printable(name, 64) + "'" +
                          (!near.empty() ? "; did you mean '" + near + "'?"
                           : names.empty()
                               ? "; it has none"
                               : "; it has " + printable(all, 1000)),
                      field);
}

std::string hash_of_library(const std::string& path,
                            const std::string& pointer) {
  return "sha256 " + hash_of_bytes(read_library(path, pointer));
}

} // namespace ballast::data
