/// A PostgreSQL of the tests' own, started by tools/harness/postgres.py and
/// ended with the object. `why_not` says why there is none, and `missing` that
/// it is not installed.
#pragma once

#include "data/source/adbc_session.hpp"
#include "tests/source_root.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace ballast::data {

class some_postgres {
public:
  some_postgres() {
    int input[2];
    int output[2];
    if (pipe(input) != 0 || pipe(output) != 0)
      throw std::runtime_error("no pipe");
    const std::string script =
        (source_root() / "tools" / "harness" / "postgres.py").string();
    helper_ = fork();
    if (helper_ == 0) {
      dup2(input[0], 0);
      dup2(output[1], 1);
      for (const int one : {input[0], input[1], output[0], output[1]})
        close(one);
      execlp("python3", "python3", script.c_str(), nullptr);
      _exit(127);
    }
    close(input[0]);
    close(output[1]);
    until_closed_ = input[1];
    std::string said;
    char block[4096];
    // Its one line, or all that it says before it ends.
    while (said.find('\n') == std::string::npos) {
      const ssize_t bytes = read(output[0], block, sizeof block);
      if (bytes <= 0)
        break;
      said.append(block, size_t(bytes));
    }
    close(output[0]);
    const auto found = nlohmann::json::parse(said, nullptr, false);
    if (found.is_object()) {
      port_ = found.at("port").get<int>();
      return;
    }
    why_not = said.empty() ? "tools/harness/postgres.py said nothing" : said;
    const int status = end();
    missing = WIFEXITED(status) && WEXITSTATUS(status) == 77;
  }
  ~some_postgres() { end(); }
  some_postgres(const some_postgres&) = delete;
  some_postgres& operator=(const some_postgres&) = delete;

  std::string place() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string uri(const std::string& user = "ballast") const {
    return "postgresql://" + user + "@" + place() + "/postgres";
  }
  void sql(const std::string& text) { session().run(text); }
  /// The first field of the first row.
  std::string ask(const std::string& text) {
    const auto row = session().first_row(text);
    return row.empty() ? "" : row[0].value_or("");
  }

  std::string why_not;
  bool missing = false;

private:
  int end() {
    int status = 0;
    if (helper_ > 0) {
      close(until_closed_);
      waitpid(helper_, &status, 0);
    }
    helper_ = -1;
    return status;
  }
  adbc_session& session() {
    if (!session_)
      session_ = std::make_unique<adbc_session>(
          driver_of(database_kind::postgresql),
          adbc_options{{"uri", uri() + "?application_name=test"}});
    return *session_;
  }

  pid_t helper_ = -1;
  int until_closed_ = -1;
  int port_ = 0;
  std::unique_ptr<adbc_session> session_;
};

} // namespace ballast::data
