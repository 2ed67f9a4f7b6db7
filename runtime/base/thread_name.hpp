/// Names the calling thread after its task, as shown by `top -H` and
/// /proc/PID/task/TID/comm. A thread without a name of its own inherits that of
/// its creator, and so do threads that a library starts. docs/cluster.md lists
/// the names.
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
