/// Goal: one line per message, in the log of the process, and never on stdout.
#include "monitor/logs/log.hpp"

#include "tests/store/expect_error.hpp"
#include "tests/store/temp_folder.hpp"

#include <regex>
#include <thread>

namespace ballast::monitor {
namespace {

TEST(log, writes_time_level_process_and_text_into_the_folder) {
  store::temp_folder folder;
  start_log("w7", spdlog::level::off);
  log().info("before the folder is known");
  log_to_folder(folder.path());
  log().info("joined as {}", "w7");
  log().warn("slow");
  log().debug("not asked for");
  log_to_stderr_only();
  log().info("of another job");
  std::string content = store::content_of(folder / "w7.log");
  std::regex lines(
      R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} info w7: joined as w7
\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} warning w7: slow
)");
  EXPECT_TRUE(std::regex_match(content, lines)) << content;
}

TEST(log, takes_lines_of_many_threads_whole) {
  store::temp_folder folder;
  start_log("w8", spdlog::level::off);
  log_to_folder(folder.path());
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int n = 0; n < 50; ++n)
        log().info("{}", std::string(500, 'x'));
    });
  for (std::thread& thread : threads)
    thread.join();
  log_to_stderr_only();
  std::ifstream in(folder / "w8.log");
  size_t count = 0;
  for (std::string line; std::getline(in, line); ++count)
    EXPECT_TRUE(line.ends_with("w8: " + std::string(500, 'x'))) << line;
  EXPECT_EQ(count, 200u);
}

TEST(log, says_where_it_cannot_write) {
  store::temp_folder folder;
  store::write_content(folder / "file", "x");
  start_log("w9", spdlog::level::off);
  EXPECT_FAILURE(log_to_folder(folder / "file"), errc::run_dir_unusable,
                 "w9.log");
}

} // namespace
} // namespace ballast::monitor
