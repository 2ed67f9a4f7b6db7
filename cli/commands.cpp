#include "cli/commands.hpp"

#include "cli/client.hpp"
#include "cli/status_screen.hpp"
#include "runtime/control.hpp"
#include "runtime/job_text.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>
#include <unistd.h>

namespace ballast {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
  auto refuse = [&path](const std::string& why) {
    return job_refused(path, {{errc::invalid_job, path + ": " + why, ""}});
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw refuse("is a folder; expected a job file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw refuse(errno != 0 ? std::strerror(errno) : "cannot be read");
  // One byte more than allowed shows that it is too long.
  std::string text(json_text_bytes_max + 1, '\0');
  in.read(text.data(), std::streamsize(text.size()));
  if (in.bad())
    throw refuse("cannot be read");
  text.resize(size_t(in.gcount()));
  return text;
}

/// Throws what an error reply says.
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

json send(const coordinator_client& client, json message) {
  message["version"] = 1;
  message["id"] = "cli-" + std::to_string(getpid());
  coordinator_client::reply reply = client.post("/v1/control", message.dump());
  if (reply.status != 200 || !reply.body.is_object() ||
      !reply.body.value("ok", false))
    refuse(reply);
  return std::move(reply.body);
}

json fetch_status(const coordinator_client& client) {
  coordinator_client::reply reply = client.get("/v1/status");
  if (reply.status != 200 || !reply.body.is_object())
    refuse(reply);
  return std::move(reply.body);
}

/// The exit code of `run`, once its state says that it ended.
int wait_for_end(const coordinator_client& client, const std::string& run) {
  for (;;) {
    json status = fetch_status(client);
    std::string state = status.value("state", "");
    if (status.value("run", json()) != json(run))
      throw ballast_error(errc::unreachable,
                          "the coordinator no longer knows the run " + run);
    if (state == "failed") {
      std::cerr << "ballast: " << run
                << " failed: " << status.value("error", json("no reason given"))
                << "\n";
      return 1;
    }
    if (state == "done" || state == "stopped")
      return 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

} // namespace

job load_job(const std::string& path, const std::vector<std::string>& sets) {
  std::string text = read_file(path);
  job_result result =
      parse_job(text, sets, fs::absolute(path).parent_path().string());
  if (!result.value)
    throw job_refused(path, std::move(result.mistakes));
  return std::move(*result.value);
}

int validate_command(const std::string& path,
                     const std::vector<std::string>& sets, bool json_output) {
  job valid = load_job(path, sets);
  if (json_output)
    std::cout << to_json(valid).dump(2) << "\n";
  else
    std::cout << path << ": valid\n";
  std::string idle;
  for (const std::string& pointer : without_effect(valid))
    idle += (idle.empty() ? "" : ", ") + pointer;
  if (!idle.empty())
    std::cerr << "without effect in this build: " << idle << "\n";
  return 0;
}

int status_command(const std::string& to, bool json_output) {
  json status = fetch_status(coordinator_client(to));
  std::cout << (json_output ? status.dump(2) + "\n" : status_screen(status));
  return 0;
}

int events_command(const std::string& to, uint64_t after) {
  coordinator_client client(to);
  client.stream("/v1/events?after=" + std::to_string(after),
                [](const std::string& event) {
                  std::cout << event << std::endl;
                  return bool(std::cout);
                });
  return 0;
}

int control_command(const std::string& to, const std::string& type,
                    const std::vector<std::string>& pairs) {
  json message = {{"version", 1}, {"type", type}};
  for (const std::string& pair : pairs) {
    size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      throw ballast_error(errc::usage, "ctl " + pair + ": expected key=value");
    std::string text = pair.substr(equals + 1);
    json value = json::parse(text, nullptr, false);
    message[pair.substr(0, equals)] = value.is_discarded() ? json(text) : value;
  }
  // What is no message is a mistake on the command line, here and now.
  if (failure why = parse_control(message.dump()).refused)
    throw ballast_error(why.code == errc::bad_request ? errc::usage : why.code,
                        "ctl " + type + ": " + why.message, why.pointer);
  std::cout << send(coordinator_client(to), message).dump(2) << "\n";
  return 0;
}

int submit_command(const std::string& to, const std::string& path,
                   const std::vector<std::string>& sets, bool wait) {
  job what = load_job(path, sets);
  coordinator_client client(to);
  json reply = send(client, {{"type", "submit"}, {"job", to_json(what)}});
  std::string run = reply.value("run", "");
  std::cout << run << std::endl;
  return wait ? wait_for_end(client, run) : 0;
}

int docs_command(const std::string& topic) {
  if (topic == "job")
    std::cout << job_reference();
  else if (topic == "errors")
    std::cout << error_reference();
  else
    std::cout << api_schema().dump(2) << "\n";
  return 0;
}

} // namespace ballast
