/// Takes a run over; where the disk has no room for that, it waits for room, as
/// the run itself would. On a thread of its own: signals come meanwhile. Lives
/// as long as the process.
#pragma once

#include "actors/local_protocol.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

namespace ballast::cli {

class patient_resume {
public:
  patient_resume(caf::actor_system& system,
                 actors::local_coordinator_actor whom)
      : system_(system), whom_(std::move(whom)) {}

  /// `accepted` gets the name of the run; both are called on the thread.
  void begin(const actors::resume_run& what,
             std::function<void(const std::string&)> accepted,
             std::function<void(const failure&)> refused);
  /// True: the run is told as soon as it is taken over.
  bool interrupt();

private:
  void over();
  failure ask(const actors::resume_run& what,
              const std::function<void(const std::string&)>& accepted);

  caf::actor_system& system_;
  actors::local_coordinator_actor whom_;
  std::mutex mutex_;
  std::atomic<bool> interrupted_ = false;
  std::atomic<bool> under_way_ = false;
};

} // namespace ballast::cli
