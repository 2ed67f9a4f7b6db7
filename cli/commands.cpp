#include "cli/commands.hpp"

#include "cli/balance_words.hpp"
#include "cli/client.hpp"
#include "cli/node_library.hpp"
#include "cli/outcome.hpp"
#include "cli/status_screen.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/coordinator/run_phase.hpp"
#include "runtime/job/job_text.hpp"
#include "runtime/job/source_uri.hpp"
#include "runtime/messages/control.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

namespace ballast::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
  auto refuse = [&path](const std::string& why) {
    return job_refused(path, {{errc::invalid_job, why, ""}});
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw refuse("is a folder; expected a job file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw refuse(errno != 0 ? std::strerror(errno) : "cannot be read");
  // One byte more than allowed, to detect that it is too long.
  std::string text(json_text_bytes_max + 1, '\0');
  in.read(text.data(), std::streamsize(text.size()));
  if (in.bad())
    throw refuse("cannot be read");
  text.resize(size_t(in.gcount()));
  return text;
}

/// Throws the error in a reply.
[[noreturn]] void refuse(const coordinator_client::reply& reply) {
  const json& error = reply.body.is_object() && reply.body.contains("error")
                          ? reply.body["error"]
                          : json();
  if (!error.is_object())
    throw ballast_error(errc::unreachable,
                        "the coordinator answered HTTP status " +
                            std::to_string(reply.status));
  failure why{errc::internal, error.value("message", "no reason given"),
              error.value("pointer", "")};
  std::string code = error.value("code", "");
  for (const error_entry& entry : error_catalogue())
    if (entry.name == code)
      why.code = entry.code;
  throw ballast_error(std::move(why));
}

/// Sends a message and returns the reply, also an error.
coordinator_client::reply send(const coordinator_client& client, json message) {
  message["version"] = 1;
  message["id"] = "cli-" + std::to_string(getpid());
  return client.post("/v1/control", json_text(message));
}

bool refused(const coordinator_client::reply& reply) {
  return reply.status != 200 || !reply.body.is_object() ||
         !reply.body.value("ok", false);
}

json fetch_status(const coordinator_client& client) {
  coordinator_client::reply reply = client.get("/v1/status");
  if (reply.status != 200 || !reply.body.is_object())
    refuse(reply);
  return std::move(reply.body);
}

/// Fetches the status, across restarts of a coordinator: its workers wait for
/// `patience` too.
json fetch_status_again(const coordinator_client& client,
                        std::chrono::seconds patience) {
  using steady = std::chrono::steady_clock;
  constexpr auto pause = std::chrono::milliseconds(200);
  const auto until = steady::now() + patience;
  for (bool told = false;; told = true)
    try {
      return fetch_status(client);
    } catch (const ballast_error& error) {
      if (error.what_failed().code != errc::unreachable ||
          steady::now() >= until)
        throw;
      if (!told)
        std::cerr << error.what() << "; asks again for " << patience.count()
                  << " s\n";
      std::this_thread::sleep_for(pause);
    }
}

/// Waits until the run has ended and its report is written; returns the exit
/// code that `run` would have.
int wait_for_end(const coordinator_client& client, const std::string& run,
                 std::chrono::seconds patience) {
  constexpr auto pause = std::chrono::milliseconds(200);
  constexpr int strange_max = 10; // number of polls that may show another run
  std::string told;               // the newest reason to wait
  for (int strange = 0; strange < strange_max;) {
    json status = fetch_status_again(client, patience);
    const std::string state = status.value("state", "");
    const std::optional<coordinator::run_phase> phase =
        parse_word<coordinator::run_phase>(state);
    json waits = status.value("waits", json());
    if (waits.is_string() && waits != told) {
      told = waits;
      std::cerr << run << " waits: " << told << std::endl;
    }
    if (status.value("run", json()) != json(run)) {
      ++strange;
    } else if (phase == coordinator::run_phase::failed ||
               phase == coordinator::run_phase::done ||
               phase == coordinator::run_phase::stopped) {
      const bool failed = phase == coordinator::run_phase::failed;
      const int code = status.value("exit_code", failed ? 1 : 0);
      json why =
          status.value(failed ? "error" : "reason", json("no reason given"));
      if (code != 0)
        std::cerr << "ballast: " << run << " " << state << ": "
                  << (why.is_string() ? why.get<std::string>() : json_text(why))
                  << "\n";
      return code;
    }
    std::this_thread::sleep_for(pause);
  }
  throw ballast_error(errc::unreachable,
                      "the coordinator no longer knows the run " + run);
}

} // namespace

job load_job(const std::string& path, const std::vector<std::string>& sets) {
  std::string text = read_file(path);
  std::string base = fs::absolute(path).parent_path().string();
  // It becomes part of the paths in the job, which is JSON.
  if (!is_utf8(base))
    throw job_refused(path,
                      {{errc::invalid_job,
                        "the name of its folder, " + printable(base) +
                            ", is not UTF-8, so no path in the job can be "
                            "relative to it; rename the folder",
                        ""}});
  job_result result = parse_job(text, sets, base);
  if (!result.value)
    throw job_refused(path, std::move(result.mistakes));
  return std::move(*result.value);
}

/// What only the library can tell: columns and expressions of a graph's nodes,
/// and addresses of servers.
static bool needs_more_checks(const data_spec& data) {
  return !data.graph.empty() || is_sent(data.train.format) ||
         (data.test && is_sent(data.test->format)) ||
         std::any_of(
             data.sources.begin(), data.sources.end(),
             [](const auto& one) { return is_sent(one.second.format); });
}

int validate_command(const std::string& path,
                     const std::vector<std::string>& sets, bool json_output) {
  json report = {{"valid", true}};
  int exit_code = 0;
  try {
    job valid = load_job(path, sets);
    report["job"] = to_json(valid);
    if (needs_more_checks(valid.data)) {
      const json request{
          {"do", "check"}, {"job", report["job"]}, {"json", json_output}};
      exit_code = call_node_library("data", {json_text(request)});
    }
    if (exit_code != 0)
      return exit_code;
  } catch (const job_refused& wrong) {
    if (!json_output)
      throw;
    report = {{"valid", false}, {"mistakes", json::array()}};
    for (const failure& mistake : wrong.mistakes)
      report["mistakes"].push_back({{"code", to_string(mistake.code)},
                                    {"pointer", mistake.pointer},
                                    {"message", mistake.message}});
    exit_code = 2;
  }
  if (json_output) {
    std::cout << json_lines_text(report) << "\n";
    return exit_code;
  }
  std::cout << path << ": valid\n";
  return 0;
}

int validate_data_command(const std::string& path,
                          const std::vector<std::string>& sets,
                          bool json_output) {
  const json request{{"do", "validate"},
                     {"job", to_json(load_job(path, sets))},
                     {"json", json_output}};
  return call_node_library("data", {json_text(request)});
}

int status_command(const std::string& to, bool json_output) {
  json status;
  try {
    status = fetch_status(coordinator_client(to));
  } catch (const ballast_error& error) {
    // Of a run that has ended, its report.
    const std::optional<outcome> ended =
        error.what_failed().code == errc::unreachable ? outcome_of(to, false)
                                                      : std::nullopt;
    if (!ended)
      throw;
    tell(*ended, json_output);
    return 0;
  }
  std::cout << (json_output ? json_lines_text(status) + "\n"
                            : status_screen(status));
  return 0;
}

/// Every member of the run explained, by rank; none where it has none.
static std::vector<json> explained_workers(const coordinator_client& client) {
  std::vector<std::pair<uint64_t, json>> found;
  const json status = fetch_status(client);
  for (const json& one : status.value("workers", json::array())) {
    if (!one.is_object() || !one.value("rank", json()).is_number_unsigned())
      continue;
    coordinator_client::reply reply =
        send(client, {{"type", "explain"}, {"worker", one.value("name", "")}});
    if (!refused(reply)) // else it left meanwhile
      found.emplace_back(one["rank"].get<uint64_t>(), std::move(reply.body));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<json> out;
  for (auto& [rank, one] : found)
    out.push_back(std::move(one));
  return out;
}

/// The answer to `plan` or `explain`, in words.
static std::string told_in_words(const coordinator_client& client,
                                 const json& message) {
  const bool explains = message["type"] == "explain";
  const bool of_all =
      explains && !message.contains("worker") && !message.contains("chunk");
  if (of_all)
    if (const std::vector<json> all = explained_workers(client); !all.empty())
      return worker_words(all);
  const coordinator_client::reply reply = send(client, message);
  if (refused(reply))
    refuse(reply);
  if (!explains)
    return plan_words(reply.body);
  if (message.contains("chunk"))
    return chunk_words(reply.body);
  std::vector<json> all = explained_workers(client);
  const std::string name = reply.body.value("worker", "");
  if (std::none_of(all.begin(), all.end(), [&](const json& one) {
        return one.value("worker", "") == name;
      }))
    all = {reply.body};
  return worker_words(all, name);
}

int control_command(const std::string& to, const std::string& type,
                    const std::vector<std::string>& pairs, bool json_output) {
  json message = {{"version", 1}, {"type", type}};
  for (const std::string& pair : pairs) {
    size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      throw ballast_error(errc::usage, "ctl " + pair + ": expected key=value");
    std::string text = pair.substr(equals + 1);
    json value = json::parse(text, nullptr, false);
    message[pair.substr(0, equals)] = value.is_discarded() ? json(text) : value;
  }
  // What is no message is a mistake on the command line, here and now; a job
  // in it is for the coordinator to judge.
  if (failure why = parse_control(json_text(message)).refused;
      why.code == errc::bad_request)
    throw ballast_error(errc::usage, "ctl " + type + ": " + why.message,
                        why.pointer);
  const coordinator_client client(to);
  if (!json_output && (type == "plan" || type == "explain")) {
    std::cout << told_in_words(client, message) << std::flush;
    return 0;
  }
  coordinator_client::reply reply = send(client, message);
  std::cout << json_lines_text(reply.body) << std::endl;
  if (refused(reply))
    refuse(reply);
  return 0;
}

int submit_command(const std::string& to, const std::string& path,
                   const std::vector<std::string>& sets, bool wait) {
  job what = load_job(path, sets);
  if (!sources_of_standard_input(what).empty())
    throw ballast_error(errc::usage,
                        "submit: standard input is not the coordinator's; name "
                        "a file that it can read, or use `ballast run`");
  coordinator_client client(to);
  coordinator_client::reply reply =
      send(client, {{"type", "submit"}, {"job", to_json(what)}});
  if (refused(reply))
    refuse(reply);
  std::string run = reply.body.value("run", "");
  std::cout << run << std::endl;
  return wait ? wait_for_end(client, run,
                             std::chrono::seconds(what.elastic.orphan_s))
              : 0;
}

} // namespace ballast::cli
