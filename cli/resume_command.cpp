#include "cli/resume_command.hpp"

#include <cstdio>
#include <optional>

namespace ballast::cli {

namespace {

/// What a shell takes as one word: quoted where it must be.
std::string shell_word(const std::string& text) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos)
    return text;
  std::string out = "'";
  for (const char one : text)
    out += one == '\'' ? "'\\''" : std::string(1, one);
  return out + "'";
}

} // namespace

std::string resume_command(const run_options& options, const outcome& how) {
  if (how.discarded || how.folder.empty() || !holds_run(how.folder))
    return "";
  std::string folder = shown_folder(how.folder);
  if (folder.starts_with("-"))
    folder = "./" + folder;
  std::string out = "ballast run --resume " + shell_word(folder);
  // Its minutes are over: without more it would stop again.
  const std::optional<double>& minutes = options.what.stop.max_minutes;
  if (minutes && how.reason.find("stop.max_minutes") != std::string::npos) {
    char more[32];
    std::snprintf(more, sizeof more, "%.6g", 2 * *minutes);
    out += " --set /stop/max_minutes=" + std::string(more);
  }
  if (options.device != "auto")
    out += " --device " + options.device;
  if (!options.http.empty())
    out += " --http " + shell_word(options.http);
  if (options.insecure)
    out += " --insecure";
  if (!options.progress)
    out += " --no-progress";
  if (options.json)
    out += " --json";
  return out;
}

} // namespace ballast::cli
