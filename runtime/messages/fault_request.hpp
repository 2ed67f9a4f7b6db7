/// Control messages that break something on purpose, for jobs with "faults":
/// true. Like the others, see control_request.hpp.
#pragma once

#include "runtime/messages/request_keys.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast {

struct slow_request {
  static constexpr const char* type = "slow_worker";
  static constexpr const char* doc =
      "Its compute takes so many times as long from now on, 1 = as it is; for "
      "jobs with \"faults\": true.";
  std::string worker;
  double factor = 1;
  static std::vector<field> keys() {
    return request_keys<slow_request>()
        .must("worker", &slow_request::worker, "Its name.")
        .must("factor", &slow_request::factor, "From 1 to 1000.");
  }
};

struct stall_request {
  static constexpr const char* type = "stall_worker";
  static constexpr const char* doc =
      "Its process stands still for a while, heartbeats and all; for jobs with "
      "\"faults\": true.";
  std::string worker;
  double seconds = 0;
  static std::vector<field> keys() {
    return request_keys<stall_request>()
        .must("worker", &stall_request::worker, "Its name.")
        .must("seconds", &stall_request::seconds, "How long; up to 600.");
  }
};

struct damage_request {
  static constexpr const char* type = "damage_chunks";
  static constexpr const char* doc =
      "It serves so many chunks with a flipped byte from now on, 0 = none; for "
      "jobs with \"faults\": true.";
  std::string worker;
  uint64_t chunks = 0;
  static std::vector<field> keys() {
    return request_keys<damage_request>()
        .must("worker", &damage_request::worker, "Its name.")
        .must("chunks", &damage_request::chunks, "Up to 1000000.");
  }
};

struct flip_request {
  static constexpr const char* type = "flip_gradients";
  static constexpr const char* doc =
      "It flips a bit in the gradient of each of so many leaves that it "
      "computes "
      "from now on, 0 = none; of the reduction \"canonical\", for jobs with "
      "\"faults\": true.";
  std::string worker;
  uint64_t leaves = 0;
  static std::vector<field> keys() {
    return request_keys<flip_request>()
        .must("worker", &flip_request::worker, "Its name.")
        .must("leaves", &flip_request::leaves, "Up to 1000000.");
  }
};

struct kill_request {
  static constexpr const char* type = "kill_worker";
  static constexpr const char* doc =
      "Its process ends as by kill -9; for jobs with \"faults\": true.";
  std::string worker;
  static std::vector<field> keys() {
    return request_keys<kill_request>().must("worker", &kill_request::worker,
                                             "Its name.");
  }
};

} // namespace ballast
