#include "monitor/spent_time_json.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

namespace ballast::monitor {

nlohmann::ordered_json to_json(const coordinator::spent_time& of) {
  auto out = nlohmann::ordered_json::object();
  for (size_t i = 0; i < coordinator::time_causes; ++i)
    out[ballast::to_string(coordinator::time_cause(i))] =
        std::chrono::duration<double>(of.by[i]).count();
  return out;
}

} // namespace ballast::monitor
