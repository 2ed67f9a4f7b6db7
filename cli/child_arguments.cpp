#include "cli/child_arguments.hpp"

namespace ballast::cli {

std::vector<std::string>
coordinator_arguments(const run_options& of, const std::string& earlier_http) {
  std::vector<std::string> out{"node", "--coordinator", "--listen",
                               "127.0.0.1:0"};
  const std::string& http = earlier_http.empty() ? of.http : earlier_http;
  if (!http.empty())
    out.insert(out.end(), {"--http", http});
  if (!earlier_http.empty())
    out.push_back("--http-again");
  if (of.insecure)
    out.push_back("--insecure");
  if (!of.progress)
    out.push_back("--no-progress");
  return out;
}

std::vector<std::string> worker_arguments(const run_options& of,
                                          const std::string& control,
                                          const std::string& name) {
  std::vector<std::string> out{"node", "--join", control,   "--name",
                               name,   "--once", "--device"};
  if (of.what.model.kind != model_kind::emulated)
    out.insert(out.end(), {of.device, "--preload-torch"});
  else
    out.push_back("cpu"); // it computes nowhere else
  return out;
}

} // namespace ballast::cli
