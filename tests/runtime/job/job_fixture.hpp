/// A right job, and what parsing says of a change to it.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/job/job_text.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::testing {

inline nlohmann::json right_job() {
  return nlohmann::json::parse(R"({
    "data": {"train": {"format": "synthetic", "rows": 100, "classes": 4}},
    "model": {"kind": "mlp"}
  })");
}

inline job_result parse(const nlohmann::json& document,
                        const std::vector<std::string>& sets = {}) {
  return parse_job(document.dump(), sets, "/base");
}

inline job_result parse_with(const std::vector<std::string>& sets) {
  return parse(right_job(), sets);
}

inline std::vector<std::string> pointers(const job_result& result) {
  std::vector<std::string> out;
  for (const failure& m : result.mistakes)
    out.push_back(m.pointer);
  return out;
}

inline std::string all_messages(const job_result& result) {
  std::string out;
  for (const failure& m : result.mistakes)
    out += to_string(m.code) + " " + m.message + "\n";
  return out;
}

} // namespace ballast::testing
