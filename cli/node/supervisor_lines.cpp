#include "cli/node/supervisor_lines.hpp"

#include "actors/types.hpp"
#include "cli/liveness.hpp"
#include "cli/node/patient_resume.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/thread_name.hpp"
#include "runtime/job/job.hpp"

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

namespace ballast::cli {

namespace {

constexpr std::chrono::seconds submit_deadline{10};

/// The job in a line of the supervisor; null: none. Throws its first mistake.
std::optional<job> job_in(const nlohmann::json& line) {
  const auto found = line.find("job");
  if (found == line.end() || !found->is_object())
    return std::nullopt;
  job_result read = parse_job(json_text(*found), {}, "/");
  if (!read.value)
    throw ballast_error(read.mistakes.at(0));
  return read.value;
}

actors::resume_run resume_in(const nlohmann::json& line) {
  actors::resume_run out;
  out.folder = line.at("folder").get<std::string>();
  out.what = job_in(line);
  if (line.contains("alive") && line["alive"].is_array())
    out.alive = line["alive"].get<std::set<std::string>>();
  out.again = line.value("again", false);
  return out;
}

} // namespace

void follow_supervisor(std::shared_ptr<liveness_socket> supervisor,
                       caf::actor_system& system,
                       actors::local_coordinator_actor whom) {
  name_this_thread("bl-supervisor");
  auto accepted = [](const std::string&) {};
  auto& resume = *new patient_resume(system, whom); // as long as the process
  auto refuse = [supervisor](const failure& why) {
    supervisor->send({{"refused",
                       {{"exit_code", describe(why.code).exit_code},
                        {"reason", why.message}}}});
  };
  auto take = [&](const nlohmann::json& line) {
    if (auto what = job_in(line)) {
      caf::scoped_actor self{system};
      self->request(whom, submit_deadline,
                    actors::submit_job{*what, line.value("run_dir", "")})
          .receive(accepted, [&refuse](const caf::error& why) {
            refuse(actors::to_failure(why));
          });
    } else if (line.contains("resume")) {
      resume.begin(resume_in(line["resume"]), accepted, refuse);
    } else if (line.contains("exited")) {
      caf::anon_send(whom,
                     actors::process_exited{line["exited"].value("name", ""),
                                            process_end_of(line["exited"])});
    } else if (line.contains("signal")) {
      if (!resume.interrupt())
        caf::anon_send(whom, actors::stop_signal{});
    }
  };
  while (true) {
    nlohmann::json line = supervisor->receive();
    if (line.is_null())
      std::_Exit(1);
    try {
      take(line);
    } catch (const ballast_error& e) {
      refuse(e.what_failed());
    }
  }
}

} // namespace ballast::cli
