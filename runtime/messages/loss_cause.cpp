#include "runtime/messages/loss_cause.hpp"

#include "runtime/base/no_progress.hpp"

#include <csignal>
#include <cstring>

namespace ballast {

std::string describe(const process_end& how) {
  const std::string number = std::to_string(how.number);
  std::string out;
  switch (how.how) {
  case process_end::kind::not_started:
    return how.words;
  case process_end::kind::exited:
    out = "exited with code " + number;
    break;
  case process_end::kind::killed:
    out = "killed by signal " + number + " (" + strsignal(how.number) + ")";
    break;
  }
  return how.words.empty() ? out : out + ": " + how.words;
}

std::string describe(const losses::silent& what) {
  return "no heartbeat for " + std::to_string(what.span.count()) + " ms" +
         (what.fenced ? " and no answer to the fence" : "");
}

namespace {

struct cause_text {
  std::string operator()(const process_end& e) const {
    return ballast::describe(e);
  }
  std::string operator()(const losses::connection_closed&) const {
    return "its connection closed";
  }
  std::string operator()(const losses::process_gone&) const {
    return "its process is gone";
  }
  std::string operator()(const losses::ended_unseen&) const {
    return "its process ended while there was no coordinator";
  }
  std::string operator()(const losses::silent& e) const {
    return ballast::describe(e);
  }
  std::string operator()(const losses::not_returned&) const {
    return "it did not come back to the new coordinator";
  }
  std::string operator()(const losses::joined_anew&) const {
    return "its process has joined as another worker";
  }
  std::string operator()(const losses::evicted&) const {
    return "evicted on request";
  }
  std::string operator()(const losses::starved& e) const {
    return "no byte of its share for " + std::to_string(e.span.count()) +
           " s; " + byte_text(e.arrived_bytes) + " of " +
           byte_text(e.share_bytes) + " had arrived";
  }
  std::string operator()(const losses::dismissed& e) const {
    return e.code == errc::none ? e.why : to_string(e.code) + ": " + e.why;
  }
  std::string operator()(const losses::cut_off& e) const { return e.why; }
};

} // namespace

std::string describe(const loss_cause& what) {
  return std::visit(cause_text{}, what);
}

bool own_fault(const loss_cause& what) {
  const auto* end = std::get_if<process_end>(&what);
  if (!end)
    return false;
  switch (end->how) {
  case process_end::kind::exited:
    return end->number != 0;
  case process_end::kind::killed:
    return end->number != SIGKILL && end->number != SIGTERM;
  case process_end::kind::not_started:
    return false;
  }
  return false;
}

} // namespace ballast
