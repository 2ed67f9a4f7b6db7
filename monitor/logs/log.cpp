#include "monitor/logs/log.hpp"

#include "runtime/base/errors.hpp"

#include <cstdio>
#include <memory>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

namespace ballast::monitor {

namespace {

/// spdlog's logger has a fixed list of sinks; the list inside this one may
/// change while other threads log.
struct outputs {
  std::shared_ptr<spdlog::sinks::stderr_sink_mt> to_stderr =
      std::make_shared<spdlog::sinks::stderr_sink_mt>();
  std::shared_ptr<spdlog::sinks::dist_sink_mt> to_all =
      std::make_shared<spdlog::sinks::dist_sink_mt>();
  std::shared_ptr<spdlog::logger> logger;
  std::string process = "ballast";

  outputs() { name(process, spdlog::level::info); }

  void name(const std::string& process_name,
            spdlog::level::level_enum stderr_level) {
    process = process_name;
    // On a terminal the progress line may occupy this line: wipe it.
    std::string wipe = isatty(STDERR_FILENO) ? "\r\033[K" : "";
    to_stderr->set_pattern(wipe + line_pattern());
    to_stderr->set_level(stderr_level);
    to_all->set_sinks({to_stderr});
    auto made = std::make_shared<spdlog::logger>(process, to_all);
    made->set_level(spdlog::level::info);
    if (stderr_level < spdlog::level::info)
      made->set_level(stderr_level);
    made->flush_on(spdlog::level::trace);
    made->set_error_handler([](const std::string& message) {
      // For example, the disk is full. Once: otherwise it would repeat with
      // every line.
      static std::atomic<bool> said{false};
      if (!said.exchange(true))
        std::fprintf(stderr, "ballast: the log file loses lines: %s\n",
                     message.c_str());
    });
    // Threads may still hold the old logger: it stays valid, and its lines go
    // to the same sinks.
    retired.push_back(std::exchange(logger, std::move(made)));
  }

  std::string line_pattern() const {
    return "%Y-%m-%dT%H:%M:%S.%e %l " + process + ": %v";
  }

  std::vector<std::shared_ptr<spdlog::logger>> retired;
};

outputs& the_outputs() {
  static outputs instance;
  return instance;
}

} // namespace

void start_log(const std::string& process,
               spdlog::level::level_enum stderr_level) {
  the_outputs().name(process, stderr_level);
}

void log_to_folder(const std::filesystem::path& folder) {
  outputs& out = the_outputs();
  std::filesystem::path path = folder / (out.process + ".log");
  try {
    auto file =
        std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
    file->set_pattern(out.line_pattern());
    out.to_all->set_sinks({out.to_stderr, file});
  } catch (const spdlog::spdlog_ex& error) {
    throw ballast_error(errc::run_dir_unusable, "cannot write the log " +
                                                    path.string() + ": " +
                                                    error.what());
  }
}

void log_to_stderr_only() {
  outputs& out = the_outputs();
  out.to_all->set_sinks({out.to_stderr});
}

spdlog::logger& log() {
  return *the_outputs().logger;
}

} // namespace ballast::monitor
