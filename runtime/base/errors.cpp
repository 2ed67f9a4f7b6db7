#include "runtime/base/errors.hpp"

#include <array>

namespace ballast {

namespace {

constexpr std::array catalogue{
    error_entry{errc::none, "none", 0, "nothing went wrong", ""},
    error_entry{errc::usage, "usage", 2, "the command line is wrong",
                "see `ballast COMMAND --help`"},
    error_entry{errc::invalid_job, "invalid_job", 2,
                "the job breaks a rule; the message names the JSON pointer of "
                "the field and what is allowed there",
                "correct the field; `ballast validate JOB.json` lists every "
                "mistake, docs/job.md describes every field"},
    error_entry{errc::invalid_data, "invalid_data", 2,
                "a data source cannot be used; the message names the file and, "
                "where they exist, row and column",
                "correct the file, or the part of the job that names it"},
    error_entry{errc::not_in_build, "not_in_build", 2,
                "the contract knows it, this build does not have it yet",
                "choose what the message offers instead"},
    error_entry{errc::run_dir_in_use, "run_dir_in_use", 2,
                "another run works in this run directory",
                "wait for it, stop it, or choose another `--run-dir`"},
    error_entry{errc::run_dir_unusable, "run_dir_unusable", 2,
                "the run directory is not empty or cannot be written",
                "choose another `--run-dir`, or make it writable"},
    error_entry{errc::port_in_use, "port_in_use", 1,
                "another program listens on this address",
                "choose another port, or 0 for any free one"},
    error_entry{
        errc::unreachable, "unreachable", 1,
        "nobody answers at this address: no coordinator, store or database",
        "check the address, and that the server runs and takes you; a "
        "node retries for `--wait` seconds"},
    error_entry{errc::name_taken, "name_taken", 1,
                "a living node of the same name takes part already",
                "start this one with another `--name`"},
    error_entry{errc::other_build, "other_build", 1,
                "a node and its coordinator are of different versions",
                "install the same version everywhere"},
    error_entry{errc::busy, "busy", 1, "the coordinator already runs a job",
                "wait for its end, or stop it with `ballast ctl stop`"},
    error_entry{errc::disk_full, "disk_full", 1,
                "a file could not be written for lack of space, also after "
                "`elastic.grace_s` seconds; what was written before stays "
                "readable",
                "free space on the volume that the message names, then "
                "`ballast run --resume`"},
    error_entry{errc::stale_generation, "stale_generation", 1,
                "a message came from an earlier membership and was refused",
                "nothing; a worker that sees it joins again"},
    error_entry{errc::unknown_worker, "unknown_worker", 1,
                "no worker of this name takes part",
                "see `ballast status` for the names"},
    error_entry{errc::bad_request, "bad_request", 1,
                "a control message is not valid; nothing was changed",
                "correct it; `GET /v1/schema` describes every message"},
    error_entry{errc::worker_lost, "worker_lost", 1,
                "a worker's process ended or fell silent; the message names "
                "worker, process and signal or exit code",
                "see its file in `logs/`; start the run again"},
    error_entry{errc::collective_failed, "collective_failed", 1,
                "an operation between workers failed",
                "see the logs of the workers that the message names"},
    error_entry{errc::device_failed, "device_failed", 1,
                "a device is missing or reported an error",
                "`ballast doctor` lists the devices and what they lack"},
    error_entry{errc::non_finite_loss, "non_finite_loss", 1,
                "the loss became infinite or not a number",
                "lower `train.optimizer.lr`, set `train.clip_norm`, or look "
                "at the rows of the step that the message names"},
    error_entry{errc::non_finite_gradient, "non_finite_gradient", 1,
                "the gradient of a step became infinite, not a number, or too "
                "large for the optimizer; the step was not applied",
                "scale the features, lower `train.optimizer.lr`, set "
                "`train.clip_norm`, or look at the rows of the step"},
    error_entry{errc::non_finite_parameter, "non_finite_parameter", 1,
                "a parameter became infinite or not a number by an update "
                "from finite gradients; no checkpoint was made of it",
                "lower `train.optimizer.lr`; start again from the newest "
                "checkpoint, which the message names"},
    error_entry{errc::poison_sample, "poison_sample", 1,
                "three workers died by their own fault with the same samples "
                "in flight",
                "look at the rows that the message names; take them out of "
                "the data, or mend what they break"},
    error_entry{errc::digest_mismatch, "digest_mismatch", 1,
                "two processes disagree on who consumed which samples",
                "keep the run directory and report it: this is a defect"},
    error_entry{errc::unlike_workers, "unlike_workers", 2,
                "a worker of a run with the reduction canonical computes other "
                "bits than the others, or than the run before it was resumed: "
                "another kind of CPU, another library, an environment variable",
                "`ballast doctor` on each machine shows what differs; take "
                "machines that are alike, or leave train.reduction out"},
    error_entry{errc::other_bits, "other_bits", 1,
                "in the midst of a run with the reduction canonical a worker "
                "computed other bits than another, or has other parameters; "
                "or workers with train.compression have other sums",
                "test memory and cores of the workers that the message names"},
    error_entry{errc::stopped, "stopped", 130,
                "ended by Ctrl-C or SIGTERM before the last step; the model "
                "so far is written. After `ballast ctl stop` the exit code is "
                "0, and `state` in report.json says \"stopped\"",
                "nothing; `ballast run --resume RUN_DIR` goes on"},
    error_entry{errc::other_run, "other_run", 1,
                "a worker in the midst of a run met a coordinator that does "
                "not lead that run; it keeps its state and looks on",
                "start the coordinator with the `--state` folder of that run; "
                "the worker waits `elastic.orphan_s` seconds for it"},
    error_entry{errc::internal, "internal", 1,
                "Ballast broke one of its own rules",
                "keep the run directory and report it: this is a defect"},
};

constexpr bool in_order() {
  for (size_t i = 0; i < catalogue.size(); ++i)
    if (catalogue[i].code != errc(i))
      return false;
  return catalogue.back().code == errc::internal;
}
static_assert(in_order(), "one entry for each errc, in the order of the enum");

} // namespace

std::span<const error_entry> error_catalogue() {
  return catalogue;
}

const error_entry& describe(errc code) {
  size_t index = size_t(code);
  return index < catalogue.size() ? catalogue[index] : catalogue.back();
}

std::string to_string(errc code) {
  return std::string(describe(code).name);
}

std::string error_reference() {
  std::string out =
      "# Errors\n\n"
      "<!-- Generated by `ballast docs errors`; the source is "
      "runtime/base/errors.cpp. -->\n\n"
      "Every reason why Ballast refuses or ends something. `code` stands in "
      "the replies of\n`/v1/control`, in `events.jsonl` and in the metric "
      "`ballast_errors_total`; `exit` is the exit\ncode of a command that "
      "fails for this reason. The last line on stderr says what happened.\n\n"
      "| code | exit | what happened | what to do |\n"
      "|---|---|---|---|\n";
  for (const error_entry& entry : error_catalogue()) {
    if (entry.code == errc::none)
      continue;
    out += "| `" + std::string(entry.name) + "` | " +
           std::to_string(entry.exit_code) + " | " +
           std::string(entry.meaning) + " | " + std::string(entry.what_to_do) +
           " |\n";
  }
  return out;
}

} // namespace ballast
