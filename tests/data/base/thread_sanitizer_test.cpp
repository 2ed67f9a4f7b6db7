/// What the thread sanitizer must know in this program. Arrow comes out of a
/// wheel and is not built for it, so what Arrow's own threads do is not to be
/// reported; our code is, everywhere.
#include <gtest/gtest.h>

#ifdef __SANITIZE_THREAD__

extern "C" {

__attribute__((visibility("default"))) const char*
__tsan_default_suppressions() { // NOLINT(bugprone-reserved-identifier)
  return "race:libarrow.so\n"
         "mutex:libarrow.so\n";
}

// Some tests fork; their children open files by Arrow, which starts threads.
__attribute__((visibility("default"))) const char*
__tsan_default_options() { // NOLINT(bugprone-reserved-identifier)
  return "die_after_fork=0";
}
}

#endif
