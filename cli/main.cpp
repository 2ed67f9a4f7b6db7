/// The command line: parses the arguments, calls the command, prints the reason
/// of a failure as the last line on stderr, and exits. Starts in milliseconds.
#include "cli/commands.hpp"
#include "cli/data_arguments.hpp"
#include "cli/docs_arguments.hpp"
#include "cli/library_answer.hpp"
#include "cli/node_library.hpp"
#include "cli/open_file_limit.hpp"
#include "cli/predict_arguments.hpp"
#include "cli/report_arguments.hpp"
#include "cli/run_events.hpp"
#include "cli/set_option.hpp"
#include "cli/standard_input.hpp"
#include "cli/supervisor.hpp"
#include "cli/terminate.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/size_variables.hpp"
#include "runtime/base/thrown_text.hpp"
#include "runtime/job/source_uri.hpp"
#include "runtime/messages/control.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace ballast::cli {
namespace {

/// One line for each mistake.
int print_mistakes(const job_refused& refused) {
  for (const failure& mistake : refused.mistakes)
    std::cerr << "ballast: " << printable(refused.what()) << ": "
              << mistake.message << "\n";
  return 2;
}

/// The work of main after parsing.
using action = std::function<int()>;

void add_to(CLI::App* command, std::string& to) {
  command
      ->add_option("--to", to,
                   "The coordinator: http://HOST:PORT, or a run directory")
      ->required();
}

struct arguments {
  run_options run;
  bool resume = false;
  std::string resume_dir;
  std::string resume_from;
  std::optional<std::string> from; // of another run
  bool no_progress = false;
  uint32_t workers = 0;
  std::string job_path;
  std::vector<std::string> sets;
  std::string to;
  bool json = false;
  bool data = false;
  bool wait = false;
  event_choice events;
  std::string type;
  std::vector<std::string> pairs;
};

/// runs/NAME-N with the greatest N.
std::string newest_run(const std::string& name) {
  std::string prefix = name + "-";
  uint64_t newest = 0;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("runs", ignored)) {
    std::string folder = entry.path().filename().string();
    if (folder.starts_with(prefix) && folder.size() < prefix.size() + 10 &&
        folder.find_first_not_of("0123456789", prefix.size()) ==
            std::string::npos &&
        folder.size() > prefix.size())
      newest =
          std::max<uint64_t>(newest, std::stoull(folder.substr(prefix.size())));
  }
  if (newest == 0)
    throw ballast_error(errc::run_dir_unusable,
                        "--resume: there is no run of '" + name +
                            "' in runs/; name its folder with --run-dir");
  return "runs/" + prefix + std::to_string(newest);
}

[[noreturn]] void refuse_usage(const std::string& what) {
  throw ballast_error(errc::usage, "run: " + what);
}

/// For when both `--resume DIR` and `--run-dir DIR` are given.
void take_run_dir(arguments& a, const std::string& folder) {
  if (!a.run.run_dir.empty() && a.run.run_dir != folder)
    refuse_usage("--resume " + folder + " and --run-dir " + a.run.run_dir +
                 " name two run directories; give one");
  a.run.run_dir = folder;
}

/// `--resume RUN_DIR`, `JOB.json --resume [--run-dir RUN_DIR]`: resolves the
/// accepted spellings.
void sort_out_resume(arguments& a) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  bool is_folder = fs::is_directory(a.job_path, ignored);
  if (!a.job_path.empty() && is_folder)
    refuse_usage(a.job_path +
                 " is a folder; expected a job file. To go on "
                 "with the run in it: ballast run --resume " +
                 a.job_path);
  if (!a.resume) {
    if (a.job_path.empty())
      refuse_usage("expected JOB.json, or --resume RUN_DIR");
    return;
  }
  const std::string& named = a.resume_dir;
  if (!named.empty() && !fs::is_directory(named, ignored)) {
    // The flag before the job: `run --resume JOB.json`.
    if (!a.job_path.empty() || !fs::exists(named, ignored))
      throw ballast_error(errc::run_dir_unusable,
                          "--resume: there is no run directory " + named);
    a.job_path = named;
  } else if (!named.empty()) {
    take_run_dir(a, named);
  }
  if (!a.job_path.empty())
    return;
  if (a.run.run_dir.empty())
    refuse_usage("--resume: which run? ballast run --resume RUN_DIR");
  fs::path job = fs::path(a.run.run_dir) / "job.json";
  if (!fs::is_directory(a.run.run_dir, ignored))
    throw ballast_error(errc::run_dir_unusable,
                        "--resume: there is no run directory " + a.run.run_dir);
  if (!fs::exists(job, ignored))
    throw ballast_error(
        errc::run_dir_unusable,
        fs::exists(fs::path(a.run.run_dir) / "ledger.sqlite", ignored)
            ? job.string() +
                  " is missing; give the job: ballast run JOB.json "
                  "--resume --run-dir " +
                  a.run.run_dir
            : a.run.run_dir + " holds no run: it has neither job.json nor "
                              "ledger.sqlite");
  a.job_path = job.string();
}

/// Before anything starts that would have to be undone: a process of the run
/// would notice the mistake only when it needs the value.
void check_environment() {
  for (const size_setting& told :
       {read_cache_limit(std::getenv(cache_limit_variable)),
        read_memory(std::getenv(memory_variable))})
    if (told.mistake)
      throw ballast_error(told.mistake);
}

/// `--resume-from PLACE`: the folder comes from there, and is gone on with.
int fetch_run(arguments& a) {
  if (a.resume)
    refuse_usage("--resume goes on with a run directory of this machine, "
                 "--resume-from makes one from a copy; give one of them");
  const library_answer answer;
  const int code = call_node_library(
      "restore", {json_text(nlohmann::json{{"place", a.resume_from},
                                           {"folder", a.run.run_dir},
                                           {"base", "runs"},
                                           {"answer", answer.descriptor()}})});
  a.resume = true;
  a.run.run_dir = answer.text();
  return code;
}

int run_command(arguments& a) {
  check_environment();
  if (!a.resume_from.empty())
    if (const int code = fetch_run(a))
      return code;
  sort_out_resume(a);
  if (a.from && a.resume)
    refuse_usage("--resume goes on with a run, --from begins a new one with "
                 "the parameters of another; give one of them");
  if (a.from)
    a.sets.push_back(set_of_parent(*a.from));
  if (a.workers > 0)
    a.sets.push_back("/elastic/workers=" + std::to_string(a.workers));
  a.run.what = load_job(a.job_path, a.sets);
  a.run.job_path = a.job_path;
  a.run.json = a.json;
  a.run.progress = !a.no_progress;
  a.run.resume = a.resume;
  if (a.resume && a.run.run_dir.empty())
    a.run.run_dir = newest_run(a.run.what.name);
  // It travels in messages, which are JSON.
  std::string folder =
      (std::filesystem::current_path() / a.run.run_dir).string();
  if (!is_utf8(folder))
    throw ballast_error(errc::usage,
                        "--run-dir " + printable(folder) +
                            ": the name is not UTF-8; choose another folder");
  need_open_files(a.run.what.elastic.workers);
  if (a.resume && !sources_of_standard_input(a.run.what).empty())
    refuse_usage("--resume: the rows of standard input are kept with the run: "
                 "ballast run --resume " +
                 a.run.run_dir);
  if (const int code = keep_standard_input(a.run.what))
    return code;
  return run_supervised(a.run);
}

void add_run(CLI::App& app, arguments& a, action& chosen) {
  CLI::App* run = app.add_subcommand("run", "Train a job on this machine");
  run->add_option("job", a.job_path,
                  "JOB.json; not needed with --resume RUN_DIR");
  run->add_option("--workers", a.workers, "Worker processes")
      ->check(CLI::Range(1, 1024));
  run->add_option("--run-dir", a.run.run_dir, "Instead of runs/NAME-N");
  run->add_option("--http", a.run.http, "HOST:PORT of the web page and API");
  run->add_option("--device", a.run.device,
                  "Of the workers: auto, cpu or cuda:N (one GPU for all)")
      ->check([](const std::string& text) {
        const bool gpu =
            text.starts_with("cuda:") && text.size() > 5 &&
            text.find_first_not_of("0123456789", 5) == std::string::npos;
        return gpu || text == "auto" || text == "cpu"
                   ? std::string()
                   : "expected auto, cpu or cuda:N, not '" + text + "'";
      });
  run->add_flag("--insecure", a.run.insecure,
                "Allow an address other than the loopback");
  run->add_option("--resume", a.resume_dir,
                  "Go on with the run in RUN_DIR, or with the newest of JOB")
      ->type_name("RUN_DIR")
      ->expected(0, 1);
  run->add_option("--resume-from", a.resume_from,
                  "Go on with the run whose copies are in PLACE "
                  "(checkpoint.copy_to), in a new run directory")
      ->type_name("PLACE");
  run->add_option("--from", a.from,
                  "Begin with the parameters of another run: RUN_DIR, "
                  "RUN_DIR@STEP, RUN_DIR@best, or a .safetensors file "
                  "(init.from)")
      ->type_name("MODEL");
  add_sets(run, a.sets);
  run->add_flag("--json", a.json, "Print only report.json, at the end");
  run->add_flag("--no-progress", a.no_progress, "No progress line");
  run->callback([&a, &chosen, run] {
    a.resume = run->count("--resume") > 0;
    chosen = [&a] { return run_command(a); };
  });
}

/// Those of control messages; a job has a command of its own, `submit`.
std::string types_for_ctl() {
  std::string out;
  for (const std::string& type : control_types())
    if (type != "submit")
      out += (out.empty() ? "" : ", ") + type;
  return out;
}

void add_client_commands(CLI::App& app, arguments& a, action& chosen) {
  CLI::App* validate =
      app.add_subcommand("validate", "Name every mistake in a job");
  validate->add_option("job", a.job_path, "JOB.json")->required();
  add_sets(validate, a.sets);
  validate->add_flag("--json", a.json, "Print it with every default");
  validate->add_flag("--data", a.data,
                     "Read the data, too: what each column holds, and what a "
                     "run would refuse");
  validate->callback([&] {
    chosen = [&a] {
      return a.data ? validate_data_command(a.job_path, a.sets, a.json)
                    : validate_command(a.job_path, a.sets, a.json);
    };
  });

  CLI::App* submit = app.add_subcommand("submit", "Give a coordinator a job");
  submit->add_option("job", a.job_path, "JOB.json")->required();
  add_to(submit, a.to);
  add_sets(submit, a.sets);
  submit->add_flag("--wait", a.wait, "Wait for its end; take its exit code");
  submit->callback([&] {
    chosen = [&a] { return submit_command(a.to, a.job_path, a.sets, a.wait); };
  });

  CLI::App* status = app.add_subcommand("status", "Show a run on one screen");
  add_to(status, a.to);
  status->add_flag("--json", a.json, "As JSON");
  status->callback(
      [&] { chosen = [&a] { return status_command(a.to, a.json); }; });

  CLI::App* events = app.add_subcommand("events", "Follow a run's events");
  add_to(events, a.to);
  events->add_option("--after", a.events.after, "Only after this number");
  events->add_option("--kind", a.events.kinds,
                     "Only of this kind; may be given several times");
  events->add_option("--since", a.events.since,
                     "Only from then on: 10m (ago), or 2026-11-28T20:00 UTC");
  events->callback(
      [&] { chosen = [&a] { return events_command(a.to, a.events); }; });

  CLI::App* ctl = app.add_subcommand("ctl", "Send one control message");
  ctl->add_option("type", a.type, types_for_ctl())->required();
  ctl->add_option("pairs", a.pairs, "key=value");
  add_to(ctl, a.to);
  ctl->add_flag("--json", a.json,
                "The whole reply; else plan and explain answer in words");
  ctl->callback([&] {
    chosen = [&a] { return control_command(a.to, a.type, a.pairs, a.json); };
  });
}

/// Listed for --help only: `handed_on` parses their arguments.
void add_handed_on(CLI::App& app) {
  app.add_subcommand("node",
                     "Take part in a cluster, as coordinator or worker");
  app.add_subcommand("audit", "Was every sample used exactly once?");
  app.add_subcommand("doctor", "What this machine has, and what it lacks");
  app.add_subcommand("cache", "Prepared data sets: cache list, cache clear");
  app.add_subcommand("bench", "Measure this machine: bench allreduce, planner");
}

/// Commands that the node library parses itself, or that this build lacks.
int handed_on(const std::string& command, std::vector<std::string> rest) {
  std::string first = rest.empty() ? "" : rest.front();
  if (command == "bench" && first != "allreduce" && first != "planner" &&
      first != "--help")
    throw ballast_error(
        first.empty() || first[0] == '-' ? errc::usage : errc::not_in_build,
        first.empty() || first[0] == '-'
            ? "bench: expected the name of a benchmark, as in "
              "`ballast bench allreduce`"
            : "`ballast bench " + first +
                  "` is not in this build, which has: allreduce, planner");
  if (command == "node") // of a cluster whose size is not known yet
    need_open_files(1);
  return call_node_library(command, rest);
}

/// Of the command, or of the group of commands, that the words lead to.
std::string usage_error(const CLI::App& app, int argc, char** argv,
                        const CLI::ParseError& error) {
  const CLI::App* at = &app;
  std::string said; // "data show"
  for (int i = 1; i < argc; ++i) {
    std::vector<std::string> names;
    for (const CLI::App* command : at->get_subcommands(nullptr))
      names.push_back(command->get_name());
    const std::string word = argv[i];
    if (names.empty() || word.empty() || word[0] == '-')
      break;
    const std::string before = said;
    said += (said.empty() ? "" : " ") + word;
    if (std::count(names.begin(), names.end(), word) == 0) {
      const std::string near = nearest_word(word, names);
      return "there is no command \"" + said + "\"" +
             (near.empty() ? "" : "; did you mean \"" + near + "\"?") +
             "; see `ballast " + before + (before.empty() ? "" : " ") +
             "--help`";
    }
    at = at->get_subcommand(word);
  }
  return (said.empty() ? "" : said + ": ") + error.what() + "; see `ballast " +
         said + (said.empty() ? "" : " ") + "--help`";
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Ballast: elastic training of one model on many workers");
  app.name("ballast");
  app.set_version_flag("--version", "ballast " BALLAST_VERSION);
  app.require_subcommand(1);
  app.footer("Environment:\n"
             "  BALLAST_CACHE           folder of prepared data sets; default\n"
             "                          ~/.cache/ballast\n"
             "  BALLAST_CACHE_LIMIT_GB  its size, default 20; what was unused\n"
             "                          for longest goes first\n"
             "  BALLAST_MEMORY_MB       what the workers of this machine may\n"
             "                          hold, in place of what is free");
  arguments a;
  action chosen;
  add_run(app, a, chosen);
  add_client_commands(app, a, chosen);
  add_docs_command(app, chosen);
  add_data_commands(app, chosen);
  add_predict_commands(app, chosen);
  add_report_commands(app, chosen);
  add_handed_on(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // --help, --version
    throw ballast_error(errc::usage, usage_error(app, argc, argv, error));
  }
  return chosen();
}

int guarded_main(int argc, char** argv) {
  std::string command = argc > 1 ? argv[1] : "";
  try {
    for (const char* name :
         {"node", "audit", "doctor", "bench", "cache", "infer"})
      if (command == name)
        return handed_on(command, {argv + 2, argv + argc});
    return parse_and_run(argc, argv);
  } catch (const job_refused& refused) {
    return print_mistakes(refused);
  } catch (const ballast_error& error) {
    std::cerr << "ballast: " << error.what() << "\n";
    return describe(error.what_failed().code).exit_code;
  } catch (const std::exception& error) {
    std::cerr << "ballast: " << thrown_text(error) << "\n";
    return 1;
  }
}

/// A result that was not written (a full disk, a closed pipe) is a failure.
bool output_is_written() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout)
    return true;
  std::cerr << "ballast: cannot write to standard output: "
            << (errno != 0 ? std::strerror(errno) : "an earlier write failed")
            << "\n";
  return false;
}

} // namespace
} // namespace ballast::cli

int main(int argc, char** argv) {
  ballast::cli::explain_terminate();
  int exit_code = ballast::cli::guarded_main(argc, argv);
  return ballast::cli::output_is_written() || exit_code != 0 ? exit_code : 1;
}
