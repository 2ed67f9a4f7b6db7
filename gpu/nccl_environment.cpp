#include "gpu/nccl_environment.hpp"

namespace ballast::gpu {
namespace {

struct rule {
  const char* variable;
  bool zero_is_fine; // "0" is the default
  const char* why;
  bool fatal = true;
};

constexpr rule rules[] = {
    {"NCCL_COMM_ID", false,
     "fixes where communicators meet: each generation needs a place of its "
     "own"},
    {"NCCL_COMM_BLOCKING", true,
     "makes every call of NCCL wait: one that waits for a dead worker could "
     "not be ended"},
    {"NCCL_BLOCKING_WAIT", true,
     "makes waits last until a timeout: a dead worker would hold the others "
     "up"},
    {"TORCH_NCCL_BLOCKING_WAIT", true,
     "makes waits last until a timeout: a dead worker would hold the others "
     "up"},
    {"NCCL_ASYNC_ERROR_HANDLING", true,
     "ends the process where a collective fails: nobody would survive a dead "
     "worker"},
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", true,
     "ends the process where a collective fails: nobody would survive a dead "
     "worker"},
    {"NCCL_HOSTID", false,
     "makes GPUs of one host look like those of several: they reduce over "
     "sockets",
     false},
};

} // namespace

std::vector<environment_problem> nccl_environment_problems(
    const std::function<const char*(const char*)>& value_of) {
  std::vector<environment_problem> out;
  for (const rule& one : rules) {
    const char* value = value_of(one.variable);
    if (!value || *value == '\0')
      continue;
    if (one.zero_is_fine && std::string(value) == "0")
      continue;
    out.push_back({one.variable, value, one.why, one.fatal});
  }
  return out;
}

std::string nccl_environment_refusal(
    const std::function<const char*(const char*)>& value_of) {
  for (const environment_problem& one : nccl_environment_problems(value_of))
    if (one.fatal)
      return one.variable + "=" + one.value + " " + one.why +
             "; start without it";
  return {};
}

} // namespace ballast::gpu
