#include "runtime/base/fault_point.hpp"

#ifndef BALLAST_NO_FAULT_POINTS

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace ballast {
namespace {

enum class deed { signal, delay, fail };

struct armed_point {
  std::string name;
  deed what = deed::fail;
  int number = 0; // the signal, the delay in ms, or the errno
  uint64_t first = 1;
  uint64_t last = UINT64_MAX;
  std::string path; // empty: always
  bool once = false;
  uint64_t hits = 0;
};

std::atomic<bool> any_armed = false;
std::mutex mutex;
std::vector<armed_point> points; // guarded by mutex

template <class Number>
bool read_number(std::string_view text, Number& out) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

const char* read_action(std::string_view text, armed_point& out) {
  struct known {
    std::string_view word;
    deed what;
    int number;
  };
  constexpr known words[] = {
      {"kill", deed::signal, SIGKILL},  {"stop", deed::signal, SIGSTOP},
      {"abort", deed::signal, SIGABRT}, {"enospc", deed::fail, ENOSPC},
      {"edquot", deed::fail, EDQUOT},   {"eio", deed::fail, EIO},
      {"eacces", deed::fail, EACCES}};
  for (const known& one : words)
    if (text == one.word) {
      out.what = one.what;
      out.number = one.number;
      return "";
    }
  out.what = deed::delay;
  if (text.substr(0, 6) == "delay:" &&
      read_number(text.substr(6), out.number) && out.number >= 0)
    return "";
  return "an action is kill, stop, abort, delay:MS, enospc, edquot, eio or "
         "eacces";
}

/// NAME=ACTION[@FIRST[-LAST]][?PATH|!PATH]
const char* read_point(std::string_view text, armed_point& out) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos)
    return "a fault point is armed by NAME=ACTION";
  out.name = text.substr(0, equals);
  text.remove_prefix(equals + 1);
  if (size_t at = text.find_first_of("?!"); at != text.npos) {
    out.once = text[at] == '!';
    out.path = text.substr(at + 1);
    text = text.substr(0, at);
    if (out.path.empty())
      return "a path is missing after ? or !";
  }
  if (size_t at = text.find('@'); at != text.npos) {
    std::string_view range = text.substr(at + 1);
    text = text.substr(0, at);
    size_t dash = range.find('-');
    if (!read_number(range.substr(0, dash), out.first) ||
        !read_number(dash == range.npos ? range : range.substr(dash + 1),
                     out.last) ||
        out.first < 1 || out.last < out.first)
      return "hits are given as @FIRST or @FIRST-LAST, from 1";
  }
  return read_action(text, out);
}

/// Counts this hit and returns whether the point acts. The caller holds the
/// mutex.
bool acts(armed_point& point) {
  if (!point.path.empty() && ::access(point.path.c_str(), F_OK) != 0)
    return false;
  ++point.hits;
  if (point.hits < point.first || point.hits > point.last)
    return false;
  // unlink succeeds in exactly one of the processes that reach this point; only
  // that one acts.
  return !point.once || ::unlink(point.path.c_str()) == 0;
}

int reached(std::string_view name) {
  deed what = deed::fail;
  int number = 0;
  {
    std::lock_guard lock(mutex);
    for (armed_point& point : points)
      if (point.name == name && acts(point)) {
        what = point.what;
        number = point.number;
        break;
      }
  }
  if (what == deed::delay) {
    ::usleep(useconds_t(number) * 1000);
    return 0;
  }
  if (what == deed::signal) {
    // raise() signals the calling thread. A signal to the process could be
    // taken by another thread, and this one would run on for a moment.
    ::raise(number);
    if (number == SIGKILL || number == SIGABRT)
      for (;;)
        ::pause();
    return 0;
  }
  return number;
}

/// Runs before main, so that a typing error in the variable fails at once
/// instead of turning a test into one that injects nothing.
[[maybe_unused]] const bool from_environment = [] {
  const char* text = std::getenv("BALLAST_FAULT_POINTS");
  const char* wrong = text ? arm_fault_points(text) : "";
  if (*wrong == 0)
    return true;
  std::fprintf(stderr, "BALLAST_FAULT_POINTS=%s: %s\n", text, wrong);
  std::_Exit(2);
}();

} // namespace

const char* arm_fault_points(const char* text) {
  std::vector<armed_point> read;
  const char* wrong = "";
  for (std::string_view rest = text; !rest.empty() && *wrong == 0;) {
    size_t end = rest.find(';');
    armed_point point;
    if (end != 0) {
      wrong = read_point(rest.substr(0, end), point);
      read.push_back(std::move(point));
    }
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  if (*wrong != 0)
    read.clear();
  std::lock_guard lock(mutex);
  points = std::move(read);
  any_armed.store(!points.empty(), std::memory_order_relaxed);
  return wrong;
}

int fault_point(const char* name) {
  return any_armed.load(std::memory_order_relaxed) ? reached(name) : 0;
}

} // namespace ballast

#endif
