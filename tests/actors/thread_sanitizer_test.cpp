/// What the thread sanitizer must know in this program: CAF comes from the
/// distribution and is not built for it, so that it does not see how a mailbox
/// hands a message from one thread to another. Arrow comes out of a wheel, and
/// likewise. What our threads do beside the actors is reported.
#include <gtest/gtest.h>

#ifdef __SANITIZE_THREAD__

extern "C" __attribute__((visibility("default"))) const char*
__tsan_default_suppressions() { // NOLINT(bugprone-reserved-identifier)
  return "race:libcaf_core.so\n"
         "race:caf::make_mailbox_element\n"
         "mutex:libcaf_core.so\n"
         "race:libarrow.so\n"
         "race:libarrow_flight.so\n"
         "mutex:libarrow.so\n";
}

#endif
