#include "runtime/base/thread_name.hpp"

#include <pthread.h>

namespace ballast {

void set_thread_name(const char* name) {
  // The name only helps observers; a failure does not matter.
  (void)pthread_setname_np(pthread_self(), name);
}

} // namespace ballast
