#include "cli/node/patient_resume.hpp"

#include "actors/types.hpp"
#include "runtime/base/disk_wait.hpp"
#include "runtime/base/thread_name.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

namespace ballast::cli {

namespace {

std::chrono::nanoseconds resume_clock() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

} // namespace

void patient_resume::begin(const actors::resume_run& request,
                           std::function<void(const std::string&)> accepted,
                           std::function<void(const failure&)> refused) {
  const uint32_t grace_s =
      (request.what ? request.what->elastic : elastic_spec{}).grace_s;
  under_way_ = true;
  std::thread([this, request, grace_s, accepted, refused] {
    name_this_thread("bl-resume");
    disk_wait wait;
    std::chrono::nanoseconds told{-1'000'000'000'000};
    while (true) {
      failure problem = ask(request, accepted);
      if (problem.code != errc::disk_full || interrupted_ ||
          !wait.failed(problem.message, resume_clock(),
                       std::chrono::seconds(grace_s))) {
        if (problem)
          refused(problem);
        else
          over();
        return;
      }
      if (resume_clock() - told >= disk_wait::tell_every) {
        told = resume_clock();
        std::fprintf(stderr, "%s\n", wait.sentence().c_str());
      }
      std::this_thread::sleep_for(disk_wait::retry_every);
    }
  }).detach();
}

bool patient_resume::interrupt() {
  std::lock_guard lock(mutex_);
  interrupted_ = true;
  return under_way_;
}

void patient_resume::over() {
  std::lock_guard lock(mutex_);
  under_way_ = false;
  if (interrupted_)
    caf::anon_send(whom_, actors::stop_signal{});
}

failure
patient_resume::ask(const actors::resume_run& what,
                    const std::function<void(const std::string&)>& accepted) {
  failure out;
  caf::scoped_actor self{system_};
  // It reads all that the run has done, which has no limit. It is of this
  // process: its end is an answer, too.
  self->request(whom_, caf::infinite, what)
      .receive([&](const std::string& name) { accepted(name); },
               [&](const caf::error& why) { out = actors::to_failure(why); });
  return out;
}

} // namespace ballast::cli
