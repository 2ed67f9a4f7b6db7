// Runs tests of which some need a GPU. Where every one that was chosen skipped
// itself, the exit code is 77, which ctest shows as skipped, and one line says
// why.
#include "gpu/cuda_library.hpp"

#include <csignal>
#include <cstdio>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN); // a process of a test that died fails it
  testing::InitGoogleTest(&argc, argv);
  const int code = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  const std::string reason =
      ballast::gpu::why_no_gpu(ballast::gpu::probe_cuda());
  if (code != 0 || all.skipped_test_count() == 0 ||
      all.skipped_test_count() < all.test_to_run_count())
    return code;
  std::printf("skipped %d tests: %s\n", all.skipped_test_count(),
              reason.empty() ? "see above" : reason.c_str());
  return 77;
}
