#include "cli/run_events.hpp"

#include "cli/client.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace ballast::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// As an event has it, but for the fraction of the second.
std::string utc_text(std::time_t at) {
  std::tm parts{};
  ::gmtime_r(&at, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return text;
}

std::optional<std::time_t> seconds_of(char unit) {
  switch (unit) {
  case 's':
    return 1;
  case 'm':
    return 60;
  case 'h':
    return 3600;
  case 'd':
    return 86'400;
  default:
    return std::nullopt;
  }
}

/// "10m" is ten minutes before now; a time is one in UTC, of which the end may
/// be missing. All as text that compares with an event's time.
std::string beginning_of(const std::string& since) {
  constexpr size_t digits_max = 9;
  const size_t digits = since.find_first_not_of("0123456789");
  if (digits != std::string::npos && digits > 0 && digits <= digits_max &&
      digits + 1 == since.size())
    if (const auto unit = seconds_of(since.back()))
      return utc_text(std::time(nullptr) -
                      std::time_t(std::stoll(since.substr(0, digits))) * *unit);
  constexpr std::string_view shape = "0000-00-00T00:00:00";
  bool fits = since.size() >= std::string_view("0000-00-00").size() &&
              since.size() <= shape.size();
  for (size_t i = 0; fits && i < since.size(); ++i)
    fits = shape[i] == '0' ? since[i] >= '0' && since[i] <= '9'
                           : since[i] == shape[i];
  if (!fits)
    throw ballast_error(errc::usage,
                        "events: --since " + since +
                            ": expected a time before now, as 90s, 10m, 2h or "
                            "3d, or a time in UTC, as 2026-11-28T20:00");
  return since;
}

/// Prints what is chosen, and remembers what was there.
class printer {
public:
  explicit printer(const event_choice& which)
      : which_(which),
        since_(which.since.empty() ? "" : beginning_of(which.since)) {}

  /// False: nobody reads it any more.
  bool take(const json& event, const std::string& line) {
    const std::string kind = event.value("kind", "");
    there_.insert(kind);
    const bool chosen =
        event.value("seq", uint64_t{0}) > which_.after &&
        event.value("time", "") >= since_ &&
        (which_.kinds.empty() ||
         std::count(which_.kinds.begin(), which_.kinds.end(), kind) > 0);
    if (chosen)
      std::cout << line << std::endl;
    return bool(std::cout);
  }

  /// Says which kinds there are, where a chosen one is not.
  void end() const {
    for (const std::string& kind : which_.kinds)
      if (!there_.contains(kind)) {
        std::string all;
        for (const std::string& one : there_)
          all += (all.empty() ? "" : ", ") + one;
        std::cerr << "there is no event of the kind " << kind
                  << (all.empty() ? "" : "; there are: ") << all << "\n";
      }
  }

private:
  const event_choice& which_;
  const std::string since_;
  std::set<std::string> there_;
};

void print_file(const fs::path& file, printer& out) {
  std::ifstream in(file);
  std::string line;
  for (uint64_t number = 1; std::getline(in, line); ++number) {
    const json event = json::parse(line, nullptr, false);
    if (event.is_object()) {
      if (!out.take(event, line))
        return;
    } else if (!in.eof()) { // else its writer died while it wrote it
      throw ballast_error(errc::run_dir_unusable, file.string() + " line " +
                                                      std::to_string(number) +
                                                      " is no event");
    }
  }
  out.end();
}

} // namespace

int events_command(const std::string& to, const event_choice& which) {
  printer out(which);
  try {
    coordinator_client(to).stream(
        "/v1/events?after=" + std::to_string(which.after),
        [&](const std::string& line) {
          const json event = json::parse(line, nullptr, false);
          return event.is_object() ? out.take(event, line) : true;
        });
    return 0;
  } catch (const ballast_error& error) {
    const fs::path file = fs::path(to) / "events.jsonl";
    std::error_code ignored;
    if (error.what_failed().code != errc::unreachable ||
        !fs::is_regular_file(file, ignored))
      throw;
    print_file(file, out);
    return 0;
  }
}

} // namespace ballast::cli
