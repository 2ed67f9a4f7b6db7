/// `ballast doctor [--json]`: what this machine offers to Ballast, what is
/// missing, and how to get it. Exit code 0 in any case.
#include "cli/commands/doctor_checks.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

namespace ballast::cli {

namespace {

const char* word(finding result) {
  switch (result) {
  case finding::fine:
    return "ok";
  case finding::note:
    return "note";
  case finding::missing:
    return "missing";
  }
  return "";
}

void print_json(const std::vector<check>& checks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const check& one : checks)
    list.push_back({{"group", one.group},
                    {"name", one.name},
                    {"result", word(one.result)},
                    {"found", one.found},
                    {"what_to_do", one.what_to_do}});
  std::cout << json_lines_text(nlohmann::ordered_json{{"checks", list}})
            << std::endl;
}

void print_text(const std::vector<check>& checks) {
  size_t width = 0;
  for (const check& one : checks)
    width = std::max(width, one.name.size());
  std::string group;
  for (const check& one : checks) {
    if (one.group != group)
      std::cout << (group.empty() ? "" : "\n") << one.group << "\n";
    group = one.group;
    std::cout << "  " << std::left << std::setw(8) << word(one.result)
              << std::setw(int(width) + 2) << one.name << one.found << "\n";
    if (!one.what_to_do.empty())
      std::cout << std::string(width + 12, ' ') << "-> " << one.what_to_do
                << "\n";
  }
  auto missing =
      std::count_if(checks.begin(), checks.end(), [](const check& one) {
        return one.result == finding::missing;
      });
  std::cout << "\n"
            << (missing == 0 ? "Nothing is missing."
                             : std::to_string(missing) + " missing.")
            << std::endl;
}

} // namespace

} // namespace ballast::cli

/// argv[0] is "doctor".
extern "C" __attribute__((visibility("default"))) int
ballast_doctor_main(int argc, char** argv) {
  using namespace ballast;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::cout << "usage: ballast doctor [--json]\n"
                   "What this machine has for Ballast, what is missing and "
                   "how to get it.\n";
      return 0;
    }
    if (argument != "--json") {
      std::cerr << "ballast doctor: unknown argument " << argument
                << "\nusage: ballast doctor [--json]\n";
      return describe(errc::usage).exit_code;
    }
    json = true;
  }
  std::vector<cli::check> checks;
  cli::check_machine(checks);
  cli::check_devices(checks);
  cli::check_libraries(checks);
  cli::check_places(checks);
  json ? cli::print_json(checks) : cli::print_text(checks);
  return 0;
}
