/// Fault injection in the shipped code. A test arms named points through the
/// environment variable BALLAST_FAULT_POINTS (child processes inherit it); the
/// process then dies there, sleeps, or sees a system call fail. An unarmed
/// point costs one relaxed load.
///
///   NAME=ACTION[@FIRST[-LAST]][?PATH|!PATH][;...]
///
///   kill, abort, stop   signals this process: SIGKILL, SIGABRT, SIGSTOP
///   delay:MS            sleeps
///   enospc, edquot, eio, eacces
///                       fault_point() returns it: the caller acts as if the
///                       system call beside it had failed with this errno
///   @3  @1-5            only the third hit in this process, hits 1 to 5
///   ?PATH               only while that file exists; other hits do not count
///   !PATH               the same, and removes the file: once in all processes
///
/// Example: "checkpoint.rename=kill@2;steps.append=enospc?/tmp/full". The build
/// option BALLAST_FAULT_POINTS=OFF compiles all points to nothing.
#pragma once

namespace ballast {

#ifdef BALLAST_NO_FAULT_POINTS
constexpr int fault_point(const char*) {
  return 0;
}
#else
/// Returns 0, or the errno value to fail with. Callable from any thread.
int fault_point(const char* name);

/// Replaces the armed points; for tests within this process. Returns a
/// description of the error in `text`, in which case nothing is armed, or an
/// empty string.
const char* arm_fault_points(const char* text);
#endif

} // namespace ballast
