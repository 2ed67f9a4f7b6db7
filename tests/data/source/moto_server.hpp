/// A moto server (S3 without S3) for one test program: started at the first
/// use, ended with the program, also if that crashes.
#pragma once

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ballast::data {

class moto_server {
public:
  moto_server() {
    const std::string script = script_path();
    if (script.empty()) {
      missing_ = "tools/harness/moto.py was not found above the program";
      return;
    }
    int to[2];
    int from[2];
    // Nobody else may hold the end that its life depends on.
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    std::string program = "python3";
    std::string argument = script;
    char* arguments[] = {program.data(), argument.data(), nullptr};
    const int failed =
        posix_spawnp(&pid_, "python3", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    end_ = to[1];
    if (failed != 0) {
      pid_ = 0;
      missing_ = "there is no python3";
    } else if (FILE* lines = fdopen(from[0], "r"); lines != nullptr) {
      char line[500] = {};
      if (fgets(line, sizeof line, lines) != nullptr)
        endpoint_ = line;
      fclose(lines);
      while (endpoint_.ends_with('\n'))
        endpoint_.pop_back();
      if (!endpoint_.starts_with("127.0.0.1:"))
        missing_ = endpoint_.empty() ? "moto did not start" : endpoint_;
    }
  }
  ~moto_server() { kill(); }
  moto_server(const moto_server&) = delete;
  moto_server& operator=(const moto_server&) = delete;

  /// Why there is none; empty: there is one.
  const std::string& missing() const { return missing_; }
  const std::string& endpoint() const { return endpoint_; }
  /// "s3://PATH?endpoint_override=...".
  std::string uri(const std::string& path) const {
    return "s3://" + path + "?endpoint_override=" + endpoint_ +
           "&scheme=http&region=us-east-1";
  }
  /// A plain request, as moto does not look at signatures: "PUT",
  /// "/bucket/a%20b".
  /// The status of the answer.
  int request(const std::string& method, const std::string& path,
              const std::string& body = {}) const {
    const int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port =
        htons(uint16_t(std::stoi(endpoint_.substr(endpoint_.find(':') + 1))));
    std::string text = method + " " + path + " HTTP/1.1\r\nHost: " + endpoint_ +
                       "\r\nAuthorization: AWS4-HMAC-SHA256 "
                       "Credential=testing/20240101/us-east-1/s3/aws4_request,"
                       " SignedHeaders=host, Signature=0\r\nConnection: "
                       "close\r\nContent-Length: " +
                       std::to_string(body.size()) + "\r\n\r\n" + body;
    int status = 0;
    if (connect(to, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0) {
      for (size_t done = 0; done < text.size();) {
        const ssize_t sent =
            send(to, text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (sent <= 0)
          break;
        done += size_t(sent);
      }
      std::string answer;
      char part[4096];
      for (ssize_t got; (got = recv(to, part, sizeof part, 0)) > 0;)
        answer.append(part, size_t(got));
      if (answer.size() > 12)
        status = std::stoi(answer.substr(9, 3));
    }
    close(to);
    return status;
  }
  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      close(end_);
    }
    pid_ = 0;
  }

private:
  static std::string script_path() {
    namespace fs = std::filesystem;
    for (fs::path at = fs::read_symlink("/proc/self/exe").parent_path();
         at.has_relative_path(); at = at.parent_path())
      if (fs::exists(at / "tools/harness/moto.py"))
        return at / "tools/harness/moto.py";
    return {};
  }

  pid_t pid_ = 0;
  int end_ = -1;
  std::string endpoint_;
  std::string missing_;
};

} // namespace ballast::data
