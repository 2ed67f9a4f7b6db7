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

namespace {

const char* name_of(rows_source one) {
  switch (one) {
  case rows_source::origin:
    return "from the origin ";
  case rows_source::disk:
    return "from its disk ";
  case rows_source::unknown:
    break;
  }
  return "";
}

} // namespace

std::string describe(const device_trouble& what, const std::string& device) {
  std::string out = describe(what);
  if (!out.empty())
    out = device + ": " + out;
  if (what.has(device_cause::data))
    out += (out.empty() ? "rows, which come " : "; its rows, which come ") +
           std::string(name_of(what.from)) +
           "more slowly than it uses them (it waits " +
           std::to_string(what.data_percent) + " % of its time)";
  return out;
}

std::vector<std::string> cause_names(const device_trouble& what) {
  std::vector<std::string> out;
  for (auto [cause, name] :
       {std::pair{device_cause::driver_error, "driver_error"},
        {device_cause::memory_errors, "memory_errors"},
        {device_cause::heat, "heat"},
        {device_cause::power_supply, "power_supply"},
        {device_cause::hardware, "hardware"},
        {device_cause::data, "data"}})
    if (what.has(cause))
      out.emplace_back(name);
  return out;
}

} // namespace ballast
