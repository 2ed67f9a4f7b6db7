/// Every reason why Ballast refuses or ends something, in one table: its code,
/// its exit code, and what a user can do. docs/errors.md is generated from it.
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
  invalid_job,  // the job file breaks a rule; has a JSON pointer
  invalid_data, // a data source cannot be used; names file, row, column
  not_in_build, // asked for what a later version brings
  run_dir_in_use,
  run_dir_unusable, // not writable, not empty
  port_in_use,
  unreachable, // no coordinator answers there
  name_taken,  // two nodes with one name
  other_build, // a node of another version
  busy,        // the coordinator already runs a job
  disk_full,
  stale_generation, // a message of an earlier membership
  stale_term,       // a message of an earlier coordinator
  unknown_worker,
  bad_request, // a control message that is no valid one
  worker_lost,
  collective_failed,
  device_failed,
  non_finite_loss,
  non_finite_gradient,
  non_finite_parameter,
  poison_sample,   // whenever it is in flight a worker dies
  digest_mismatch, // two processes disagree on who consumed what
  stopped,         // by signal, before the end
  other_run,       // a worker of a run that this coordinator does not lead
  internal,
};

struct error_entry {
  errc code;
  std::string_view name; // stable, in JSON replies and metrics
  int exit_code;         // 1 failed, 2 wrong usage or invalid job
  std::string_view meaning;
  std::string_view what_to_do;
};

/// All of them, in the order of the enum.
std::span<const error_entry> error_catalogue();
const error_entry& describe(errc code);
std::string to_string(errc code);
/// docs/errors.md, generated.
std::string error_reference();

/// A failed operation: what happened, where, what was expected, what to do, in
/// one line. `pointer` is the JSON pointer of the field that asked for it.
struct failure {
  errc code = errc::none;
  std::string message;
  std::string pointer;
  explicit operator bool() const { return code != errc::none; }
};

/// The same as an exception, for data/, gpu/, monitor/ and cli/. runtime/
/// itself returns failures and never throws this.
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
