#include "data/sink/partial_path.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/refuse_file.hpp"
#include "store/sync_path.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view partial_end = ".partial";
constexpr std::string_view set_end = ".set.partial";

fs::path named_now(const fs::path& place, std::string_view end) {
  return place.string() + "." + std::to_string(::getpid()) + std::string(end);
}

fs::path folder_around(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Locked, and still under this name; nothing: its maker lives, or it is
/// another user's, or gone.
unique_fd lock_of_dead(const fs::path& path) {
  unique_fd out(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat held {};
  struct stat there {};
  if (!out || ::flock(out.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::fstat(out.get(), &held) != 0 || ::lstat(path.c_str(), &there) != 0 ||
      held.st_ino != there.st_ino || held.st_dev != there.st_dev ||
      held.st_uid != ::geteuid())
    return {};
  return out;
}

/// What tells a file from another one that has its name later.
nlohmann::json mark_of(const fs::path& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0)
    return nullptr;
  return {{"inode", uint64_t(about.st_ino)},
          {"device", uint64_t(about.st_dev)},
          {"size", uint64_t(about.st_size)},
          {"seconds", int64_t(about.st_mtim.tv_sec)},
          {"nanoseconds", int64_t(about.st_mtim.tv_nsec)}};
}

/// What a set of which only some have appeared says of them.
void remove_set(const fs::path& note) {
  std::ifstream in(note);
  const auto read = nlohmann::json::parse(in, nullptr, false);
  if (!read.is_array()) // it was killed before any appeared
    return;
  for (const nlohmann::json& one : read)
    for (const char* name : {"place", "partial"})
      if (const fs::path path = one.value(name, "");
          !path.empty() && mark_of(path) == one.value("mark", nlohmann::json()))
        fs::remove_all(path);
}

/// Names each file of a set while they appear.
class set_note {
public:
  explicit set_note(const std::vector<partial_path*>& all)
      : path_(named_now(all[0]->place(), set_end)), made_(path_) {
    nlohmann::json text = nlohmann::json::array();
    for (const partial_path* one : all)
      text.push_back({{"place", fs::absolute(one->place()).string()},
                      {"partial", fs::absolute(one->path()).string()},
                      {"mark", mark_of(one->path())}});
    lock_.reset(
        ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    const std::string bytes = json_text(text);
    if (!lock_ || (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) ||
        ::write(lock_.get(), bytes.data(), bytes.size()) !=
            ssize_t(bytes.size()))
      store::refuse_file(path_, "write", errno);
    store::sync_path(path_);
    store::sync_path(folder_around(path_));
  }
  ~set_note() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  set_note(const set_note&) = delete;

private:
  const fs::path path_;
  const store::unfinished made_;
  unique_fd lock_;
};

} // namespace

void check_free(const fs::path& place, partial_path::kind what) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(place, ignored)))
    throw ballast_error(
        errc::usage,
        printable(place.string()) + ": is there; remove it, or name another " +
            (what == partial_path::kind::file ? "file" : "folder"));
}

void partial_path::remove_left_over(const fs::path& place) {
  const std::string begin = place.filename().string() + ".";
  std::error_code ignored;
  std::vector<fs::path> sets;
  std::vector<fs::path> alone;
  for (fs::directory_iterator at(folder_around(place), ignored), end;
       !ignored && at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(partial_end))
      continue;
    const bool is_set = name.ends_with(set_end);
    const std::string_view number = std::string_view(name).substr(
        begin.size(),
        name.size() - begin.size() - (is_set ? set_end : partial_end).size());
    if (!number.empty() &&
        number.find_first_not_of("0123456789") == std::string_view::npos)
      (is_set ? sets : alone).push_back(at->path());
  }
  for (const std::vector<fs::path>* some : {&sets, &alone})
    for (const fs::path& one : *some)
      if (const unique_fd lock = lock_of_dead(one)) {
        if (some == &sets)
          remove_set(one);
        fs::remove_all(one, ignored);
      }
}

partial_path::partial_path(fs::path place, kind what)
    : place_(std::move(place)), path_(named_now(place_, partial_end)),
      what_(what) {
  remove_left_over(place_);
  const auto refuse = [this] {
    store::refuse_file(place_, "write", errno, "write where you may");
  };
  if (what_ == kind::folder) {
    std::error_code error;
    if (place_.has_parent_path())
      fs::create_directories(place_.parent_path(), error);
    if (::mkdir(path_.c_str(), 0777) != 0)
      refuse();
    lock_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  } else {
    lock_.reset(
        ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
  }
  if (!lock_)
    refuse();
  made_ = store::unfinished(path_);
  // Without locks (of some network file systems) nobody takes it for left over.
  ::flock(lock_.get(), LOCK_EX | LOCK_NB);
}

partial_path::~partial_path() {
  std::error_code ignored;
  if (lock_ && !published_)
    fs::remove_all(path_, ignored);
}

void partial_path::appear() {
  std::error_code error;
  check_free(place_, what_);
  if (what_ == kind::file) {
    // Unlike a rename, a link does not replace what came meanwhile.
    fs::create_hard_link(path_, place_, error);
    if (error == std::errc::file_exists)
      check_free(place_, what_);
  }
  const bool moved = what_ == kind::folder || bool(error);
  if (moved) // or of a file system without links
    fs::rename(path_, place_, error);
  if (error)
    store::refuse_file(place_, "write", error.value());
  shown_ = store::unfinished(place_);
  published_ = true;
  if (!moved)
    fs::remove(path_, error);
  store::sync_path(folder_around(place_));
}

void partial_path::disappear() noexcept {
  std::error_code ignored;
  if (published_)
    fs::remove_all(place_, ignored);
}

void partial_path::publish(const std::vector<partial_path*>& all) {
  std::optional<set_note> note;
  if (all.size() > 1)
    note.emplace(all);
  try {
    for (partial_path* one : all) {
      if (const int fault = fault_point("sink.appear"))
        store::refuse_file(one->place(), "write", fault);
      one->appear();
    }
  } catch (...) {
    for (partial_path* one : all)
      one->disappear();
    throw;
  }
  for (partial_path* one : all)
    one->shown_ = {};
}

} // namespace ballast::data
