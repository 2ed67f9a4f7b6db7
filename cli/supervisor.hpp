/// `ballast run`: one machine, one job. Starts a coordinator and workers as
/// children of this process, reaps them and forwards signals. Links neither CAF
/// nor Arrow nor LibTorch.
#pragma once

#include "runtime/job/job.hpp"

#include <string>

namespace ballast::cli {

/// The parsed command line. The job is valid, with --set and --workers applied
/// and its paths absolute.
struct run_options {
  job what;
  std::string job_path; // as given, for messages
  std::string run_dir;  // empty: runs/NAME-N
  std::string http;     // HOST:PORT of the coordinator; empty: any free port
  std::string device = "auto"; // of every worker
  bool resume = false;         // continue the run in run_dir
  bool insecure = false;       // may bind other addresses than the loopback
  bool json = false;           // nothing on stdout but report.json, at the end
  bool progress = true;
};

/// Runs to the end. Returns the exit code: 0 done, 1 failed, 130 after a
/// signal. Throws ballast_error if it cannot begin.
int run_supervised(const run_options& options);

} // namespace ballast::cli
