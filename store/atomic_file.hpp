/// A file that others see whole or not at all: written under another name,
/// then renamed into its place. One thread; the unfinished file goes with the
/// object. Failures name the action and errno, since only the caller knows what
/// the file is for and what a user can do.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

namespace ballast::store {

/// What a file must outlive: this process, or a loss of power too.
enum class outlives { process, power };

class file_failure : public std::system_error {
public:
  file_failure(int number, std::string action)
      : system_error(number, std::generic_category(), action),
        action_(std::move(action)) {}
  /// "make", "write", "sync", "close" or "replace".
  const std::string& action() const { return action_; }
  int number() const { return code().value(); }

private:
  std::string action_;
};

class atomic_file {
public:
  struct options {
    outlives durability = outlives::power;
    /// Of the file, less the umask; `exact`: despite the umask.
    uint32_t permissions = 0666;
    bool exact = false;
    /// Where the unfinished file lies, on the same file system; empty: beside
    /// its place.
    std::filesystem::path unfinished_in = {};
    /// For tests: asked before each "write" and "replace"; the errno that is to
    /// be seen there, or 0.
    std::function<int(const char* action)> fault = {};
  };

  /// Makes the unfinished file. Throws file_failure, as all of it.
  explicit atomic_file(std::filesystem::path place);
  atomic_file(std::filesystem::path place, options how);
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file();

  void append(const void* data, size_t bytes);
  void append(std::string_view text) { append(text.data(), text.size()); }
  /// Replaces what is at the place, if anything is.
  void publish();

private:
  [[noreturn]] static void fail(const char* action, int number) {
    throw file_failure(number, action);
  }
  void reach(const char* action) const;

  std::filesystem::path place_;
  options how_;
  std::string unfinished_;
  unique_fd file_;
};

} // namespace ballast::store
