/// Names the calling thread by what it does: `top -H` and
/// /proc/PID/task/TID/comm show it. Without a name of its own a thread bears
/// that of the one that made it; so do the threads that a library makes for it.
/// docs/cluster.md lists the names.
#pragma once

#include <cstddef>

namespace ballast {

void set_thread_name(const char* name);

/// The kernel keeps 15 characters.
template <size_t Size>
void name_this_thread(const char (&name)[Size]) {
  static_assert(Size <= 16, "a thread's name has at most 15 characters");
  set_thread_name(name);
}

} // namespace ballast
