/// The logger of a process: to stderr, and, once the process knows its run
/// directory, to logs/NAME.log there. Never to stdout, which belongs to the
/// result of a command. Any thread.
///
///   log().info("joined as {}, generation {}", name, value(gen));
#pragma once

#include <filesystem>
#include <spdlog/logger.h>
#include <string>

namespace ballast::monitor {

/// Names the process in every line ("coordinator", "w1"). `stderr_level` is the
/// least level for stderr; the file gets everything from info on. Called once
/// at start; before it, log() writes to stderr under the name "ballast".
void start_log(const std::string& process,
               spdlog::level::level_enum stderr_level = spdlog::level::info);

/// From now on also writes whole lines to FOLDER/PROCESS.log. Throws
/// ballast_error{run_dir_unusable}. A disk that fills up later is reported once
/// on stderr and loses lines of the file, nothing else.
void log_to_folder(const std::filesystem::path& folder);
/// A node that waits for its next job stops writing to the last job's log.
void log_to_stderr_only();

spdlog::logger& log();

} // namespace ballast::monitor
