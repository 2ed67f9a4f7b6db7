#include "runtime/base/thread_name.hpp"

#include <pthread.h>

namespace ballast {

void set_thread_name(const char* name) {
  // For who looks on; without it everything goes as well.
  (void)pthread_setname_np(pthread_self(), name);
}

} // namespace ballast
