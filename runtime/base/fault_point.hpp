/// Named points in the real code where a test makes something go wrong: the
/// process dies there, sleeps, or sees a system call fail. Tests and
/// `./dev chaos` arm them by the environment variable BALLAST_FAULT_POINTS,
/// which child processes inherit; without it a point costs one relaxed load.
///
///   NAME=ACTION[@FIRST[-LAST]][?PATH|!PATH][;...]
///
///   kill, abort, stop   signals this process: SIGKILL, SIGABRT, SIGSTOP
///   delay:MS            sleeps
///   enospc, edquot, eio, eacces
///                       what fault_point() returns: the caller acts as if the
///                       system call beside it had failed with it
///   @3  @1-5            only the third hit in this process, hits 1 to 5
///   ?PATH               only while that file exists; other hits do not count
///   !PATH               the same, and removes the file: once in all processes
///
/// For example "checkpoint.rename=kill@2;steps.append=enospc?/tmp/full". The
/// build option BALLAST_FAULT_POINTS=OFF compiles all points to nothing.
#pragma once

namespace ballast {

#ifdef BALLAST_NO_FAULT_POINTS
constexpr int fault_point(const char*) {
  return 0;
}
#else
/// 0, or the errno value to fail with. Any thread.
int fault_point(const char* name);

/// Replaces what is armed; for tests of this process. Returns what is wrong
/// with `text`, then nothing is armed; empty if it was understood.
const char* arm_fault_points(const char* text);
#endif

} // namespace ballast
