#include "cli/commands/inference_pool.hpp"

#include "runtime/base/errors.hpp"

#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#include <utility>

namespace ballast::cli {

namespace {

using nlohmann::json;

failure failure_of(const json& said) {
  failure out{errc::internal, said.value("message", "no reason given"),
              said.value("pointer", "")};
  const std::string code = said.value("code", "");
  for (const error_entry& one : error_catalogue())
    if (one.name == code)
      out.code = one.code;
  return out;
}

std::string name_of(seat_number seat) {
  return "predictor " + std::to_string(uint32_t(seat) + 1);
}

} // namespace

inference_pool::inference_pool(pool_terms terms)
    : terms_(std::move(terms)), board_(terms_.seats) {
  board_.expect();
  for (const inference::board_action& one : board_.next())
    perform(one);
}

inference_pool::~inference_pool() {
  for (auto& [seat, process] : processes_)
    ::kill(process.pid, SIGKILL);
  for (auto& [seat, process] : processes_)
    ::waitpid(process.pid, nullptr, 0);
}

void inference_pool::add(part_number part, part_files files) {
  files_[part] = std::move(files);
  board_.add(part);
}

std::vector<json> inference_pool::step(std::chrono::milliseconds wait) {
  for (const inference::board_action& one : board_.next())
    perform(one);
  std::vector<pollfd> sockets;
  std::vector<seat_number> seats;
  for (auto& [seat, process] : processes_) {
    sockets.push_back({process.socket->descriptor(), POLLIN, 0});
    seats.push_back(seat);
  }
  ::poll(sockets.data(), sockets.size(), int(wait.count()));
  std::vector<json> done;
  for (size_t i = 0; i < sockets.size(); ++i)
    if (sockets[i].revents != 0)
      hear(seats[i], done);
  if (board_.refused())
    throw ballast_error(board_.refused());
  return done;
}

void inference_pool::perform(const inference::board_action& one) {
  if (const auto* started = std::get_if<inference::start_process>(&one))
    start(started->seat);
  else if (const auto* handed = std::get_if<inference::hand_out>(&one))
    hand(handed->seat, handed->part);
}

void inference_pool::start(seat_number seat) {
  const std::string log =
      (terms_.logs / ("log-" + std::to_string(uint32_t(seat) + 1))).string();
  processes_[seat] = start_child(
      name_of(seat), {"infer", terms_.model.string(), terms_.fingerprint}, log);
}

/// One that is gone meanwhile is buried at the end of its socket.
void inference_pool::hand(seat_number seat, part_number part) {
  const part_files& files = files_.at(part);
  processes_.at(seat).socket->send({{"part", uint64_t(part)},
                                    {"rows", files.rows.string()},
                                    {"answers", files.answers.string()},
                                    {"judge", terms_.judges}});
}

void inference_pool::hear(seat_number seat, std::vector<json>& done) {
  bool closed = false;
  for (;;) {
    json line = processes_.at(seat).socket->poll(closed);
    if (!line.is_object())
      break;
    if (line.contains("ready"))
      board_.ready(seat);
    if (line.contains("refused"))
      throw ballast_error(failure_of(line.at("refused")));
    if (!line.contains("done"))
      continue;
    if (const auto part = board_.done(seat)) {
      files_.erase(*part);
      done.push_back(std::move(line));
    }
  }
  if (closed)
    bury(seat);
}

/// Its socket is closed, so it ends.
void inference_pool::bury(seat_number seat) {
  const auto found = processes_.find(seat);
  int status = 0;
  ::waitpid(found->second.pid, &status, 0);
  const std::string how = described(found->second) + " " +
                          describe(end_of(status, found->second.log));
  processes_.erase(found);
  board_.died(seat, how);
}

} // namespace ballast::cli
