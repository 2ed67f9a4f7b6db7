/// What the thread sanitizer must know in this program: Gloo comes from the
/// distribution and is not built for it. When a pair breaks off, its thread
/// touches the buffer of an operation (`UnboundBuffer`) whose destructor runs
/// in ours, synchronised by locks that the sanitizer does not see released
/// there, if at all. Our own code is reported everywhere.
#include <gtest/gtest.h>

#ifdef __SANITIZE_THREAD__

extern "C" __attribute__((visibility("default"))) const char*
__tsan_default_suppressions() { // NOLINT(bugprone-reserved-identifier)
  return "race:libgloo.so\n"
         "race:gloo::AllreduceOptions::~AllreduceOptions\n"
         "mutex:libgloo.so\n"
         "race:libparquet.so\n"; // whose OpenSSL is the one that is found
}

// Some tests fork; their children start threads.
extern "C" __attribute__((visibility("default"))) const char*
__tsan_default_options() { // NOLINT(bugprone-reserved-identifier)
  return "die_after_fork=0";
}

#endif
