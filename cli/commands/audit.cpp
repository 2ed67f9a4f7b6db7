/// `ballast audit RUN_DIR [--json]`: prints what was compared and found. Exit
/// code 0 only if every sample was used exactly once and no record contradicts
/// another.
#include "cli/commands/audit_files.hpp"
#include "cli/commands/audit_replay.hpp"
#include "cli/commands/end_of_command.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

namespace {

nlohmann::ordered_json to_json(const ledger::sample_counts& in) {
  return {{"expected", in.expected},
          {"once", in.once},
          {"lost", in.lost},
          {"repeated", in.repeated}};
}

nlohmann::ordered_json to_json(const ledger::audit_report& in) {
  nlohmann::ordered_json out = to_json(in.counts());
  out["fine"] = in.fine();
  out["epochs_finished"] = in.epochs_finished;
  out["steps_checked"] = in.steps_committed;
  out["ledger"] = to_json(in.ledger);
  out["traces"] = nullptr;
  if (in.traced) {
    out["traces"] = to_json(in.traces);
    out["traces"]["lines_checked"] = in.trace_lines;
    out["traces"]["lines_of_other_attempts"] = in.attempt_lines;
  }
  out["problems"] = in.problems;
  out["first_problems"] = in.first_problems;
  return out;
}

std::string text(const ledger::sample_counts& in, bool of_uses) {
  return std::to_string(in.once) + " of " + std::to_string(in.expected) +
         (of_uses ? " uses as planned, " : " samples once, ") +
         std::to_string(in.lost) + " lost, " + std::to_string(in.repeated) +
         " repeated";
}

void print(const ledger::audit_report& report, bool model_unnamed) {
  std::cout << "ledger  " << text(report.ledger, report.of_uses) << " ("
            << report.epochs_finished << " finished epochs)\n"
            << "steps   " << report.steps_committed
            << " committed steps compared with the ledger\n";
  if (report.traced)
    std::cout << "traces  " << text(report.traces, report.of_uses)
              << "\n        " << report.trace_lines
              << " lines compared with the ledger, " << report.attempt_lines
              << " of attempts that did not commit left out\n";
  else
    std::cout << "traces  not written: the job has trace_samples false\n";
  if (model_unnamed)
    std::cout << "model   not checked: no report.json has the hash of "
                 "model.safetensors, as the run died before it wrote one\n";
  for (const std::string& one : report.first_problems)
    std::cout << "problem " << one << "\n";
  if (report.problems > report.first_problems.size())
    std::cout << "problem ... and "
              << report.problems - report.first_problems.size() << " more\n";
  std::cout << (report.fine()
                    ? "fine: nothing lost or repeated, all records agree\n"
                    : "NOT FINE\n");
}

int replay(const std::string& folder, bool as_json) {
  const replay_report found = replay_run(folder);
  const bool same = found.problems.empty();
  if (as_json) {
    const nlohmann::ordered_json out = {
        {"same", same},
        {"steps", found.steps},
        {"losses_compared", found.losses_compared},
        {"tests_compared", found.tests_compared},
        {"digests_compared", found.digests_compared},
        {"digests_due", found.digests_due},
        {"weights_sha256", found.weights_sha256},
        {"compared_files", found.compared_files},
        {"problems", found.problems}};
    std::cout << json_lines_text(out) << std::endl;
  } else {
    std::cout << "replay  " << found.steps
              << " steps trained again on one worker\n"
              << "losses  " << found.losses_compared << " compared\n"
              << "tests   " << found.tests_compared << " evaluations compared\n"
              << "digests " << found.digests_compared << " of "
              << found.digests_due << " compared"
              << (same && found.digests_compared < found.digests_due
                      ? ": digests.jsonl lacks the others"
                      : "")
              << "\n";
    if (!found.weights_sha256.empty())
      std::cout << "weights " << found.weights_sha256 << " both times\n";
    for (const std::string& one : found.compared_files)
      std::cout << "weights " << one << " compared\n";
    for (const std::string& one : found.problems)
      std::cout << "problem " << one << "\n";
    std::cout << (same ? "the same bits" : "NOT THE SAME") << std::endl;
  }
  if (!same)
    std::cerr << "ballast audit: " << found.problems.front() << std::endl;
  return same ? 0 : 1;
}

constexpr const char* usage_line =
    "usage: ballast audit RUN_DIR [--replay] [--json]\n";

int usage(const std::string& wrong) {
  std::cerr << "ballast audit: " << wrong << "\n" << usage_line;
  return describe(errc::usage).exit_code;
}

int do_audit(const std::string& folder, bool replays, bool as_json) {
  if (replays)
    return replay(folder, as_json);
  const ledger::audit_report report = audit_all(folder);
  const bool model_unnamed = has_unnamed_model(folder);
  if (as_json) {
    nlohmann::ordered_json out = to_json(report);
    out["model_unnamed"] = model_unnamed;
    std::cout << json_lines_text(out) << std::endl;
  } else {
    print(report, model_unnamed);
  }
  if (!report.fine())
    std::cerr << "ballast audit: " << report.problems << " problems in "
              << folder << ", the first: " << report.first_problems.front()
              << std::endl;
  return report.fine() ? 0 : 1;
}

} // namespace

} // namespace ballast::cli

/// argv[0] is "audit".
extern "C" __attribute__((visibility("default"))) int
ballast_audit_main(int argc, char** argv) {
  using namespace ballast;
  std::string folder;
  bool json = false;
  bool replays = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--replay") {
      replays = true;
    } else if (argument == "--help" || argument == "-h") {
      std::cout
          << cli::usage_line
          << "Was every sample used exactly once, or as often as the job's "
             "sampling says, and do\nall records of the run agree? Exit "
             "code 0 only if so.\n"
             "  --replay  train a run whose reduction is canonical again, on "
             "one worker, and compare:\n"
             "            digests.jsonl, weights_sha256\n";
      return 0;
    } else if (argument.starts_with("-")) {
      return cli::usage("unknown option " + argument);
    } else if (folder.empty()) {
      folder = argument;
    } else {
      return cli::usage("one run directory at a time");
    }
  }
  if (folder.empty())
    return cli::usage("which run directory?");
  return cli::end_of_command(
      [&] { return cli::do_audit(folder, replays, json); }, "ballast audit");
}
