/// The catalogue of error codes: each reason why Ballast refuses or ends
/// something, with its exit code and the remedy for the user. docs/errors.md is
/// generated from it.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ballast {

enum class errc : uint8_t {
  none = 0,
  usage,        // wrong command line
  invalid_job,  // the job file breaks a rule; carries a JSON pointer
  invalid_data, // a data source is unusable; names file, row, column
  not_in_build, // the job needs a feature of a later version
  run_dir_in_use,
  run_dir_unusable, // not writable, not empty
  port_in_use,
  unreachable, // no coordinator answers at the address
  name_taken,  // two nodes have the same name
  other_build, // a node runs another version
  busy,        // the coordinator already runs a job
  disk_full,
  stale_generation, // a message from an earlier membership
  unknown_worker,
  bad_request, // an invalid control message
  worker_lost,
  collective_failed,
  device_failed,
  non_finite_loss,
  non_finite_gradient,
  non_finite_parameter,
  poison_sample,   // workers die whenever this sample is in flight
  digest_mismatch, // two processes disagree on consumed samples
  unlike_workers,  // workers of a reproducible run do not compute alike
  other_bits,      // found while it trains: one erred
  stopped,         // ended by a signal
  other_run,       // a worker of a run that this coordinator does not lead
  internal,
};

struct error_entry {
  errc code;
  std::string_view name; // stable; used in JSON replies and metrics
  int exit_code;         // 1 failed, 2 wrong usage or invalid job
  std::string_view meaning;
  std::string_view what_to_do;
};

/// All entries, in the order of the enum.
std::span<const error_entry> error_catalogue();
const error_entry& describe(errc code);
std::string to_string(errc code);
/// The text of docs/errors.md.
std::string error_reference();

/// A failed operation as a value: one line that says what happened, where, what
/// was expected and how to fix it. `pointer` is the JSON pointer of the job
/// field that caused it.
struct failure {
  errc code = errc::none;
  std::string message;
  std::string pointer;
  explicit operator bool() const { return code != errc::none; }
};

/// A `failure` as an exception, for data/, gpu/, monitor/ and cli/. Code in
/// runtime/ returns failures and never throws this.
class ballast_error : public std::runtime_error {
public:
  explicit ballast_error(failure f)
      : std::runtime_error(f.message), failure_(std::move(f)) {}
  ballast_error(errc code, std::string message, std::string pointer = {})
      : ballast_error(failure{code, std::move(message), std::move(pointer)}) {}
  const failure& what_failed() const { return failure_; }

private:
  failure failure_;
};

} // namespace ballast
