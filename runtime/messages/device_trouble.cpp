#include "runtime/messages/device_trouble.hpp"

#include <utility>

namespace ballast {

std::string describe(const device_trouble& what) {
  std::string out;
  auto add = [&out](const std::string& one) {
    out += (out.empty() ? "" : "; ") + one;
  };
  if (what.has(device_cause::driver_error))
    add("the driver reported the error Xid " + std::to_string(what.xid));
  if (what.has(device_cause::memory_errors))
    add(std::to_string(what.memory_errors) +
        (what.memory_errors == 1 ? " memory error" : " memory errors") +
        " that could not be corrected");
  // Of what lowers the clock one reason is enough.
  if (what.has(device_cause::heat))
    add("slowed down by heat" +
        (what.celsius == 0
             ? std::string()
             : " (" + std::to_string(what.celsius) + " degrees)"));
  else if (what.has(device_cause::power_supply))
    add("slowed down by its power supply");
  else if (what.has(device_cause::hardware))
    add("slowed down by its hardware");
  return out;
}

std::vector<std::string> cause_names(const device_trouble& what) {
  std::vector<std::string> out;
  for (auto [cause, name] :
       {std::pair{device_cause::driver_error, "driver_error"},
        {device_cause::memory_errors, "memory_errors"},
        {device_cause::heat, "heat"},
        {device_cause::power_supply, "power_supply"},
        {device_cause::hardware, "hardware"}})
    if (what.has(cause))
      out.emplace_back(name);
  return out;
}

} // namespace ballast
