#include "store/unfinished.hpp"

#include <chrono>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

namespace ballast::store {

namespace fs = std::filesystem;

namespace {

struct known_paths {
  std::timed_mutex mutex; // guards the following
  std::multiset<fs::path> paths;
};

known_paths& known() {
  static auto* out = new known_paths; // a thread may outlive main()
  return *out;
}

} // namespace

unfinished::unfinished(fs::path path) : path_(std::move(path)) {
  std::error_code error; // the working folder may be another by then
  if (fs::path whole = fs::absolute(path_, error); !error)
    path_ = std::move(whole);
  const std::lock_guard lock(known().mutex);
  known().paths.insert(path_);
}

unfinished::unfinished(unfinished&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

unfinished& unfinished::operator=(unfinished&& other) noexcept {
  if (this != &other) {
    forget();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

unfinished::~unfinished() {
  forget();
}

void unfinished::forget() noexcept {
  if (path_.empty())
    return;
  const std::lock_guard lock(known().mutex);
  if (const auto found = known().paths.find(path_);
      found != known().paths.end())
    known().paths.erase(found);
}

void remove_unfinished() noexcept {
  constexpr std::chrono::milliseconds moment{200};
  const std::unique_lock lock(known().mutex, moment);
  if (!lock.owns_lock())
    return;
  std::error_code ignored;
  for (const fs::path& one : known().paths)
    fs::remove_all(one, ignored);
}

} // namespace ballast::store
