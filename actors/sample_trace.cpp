#include "actors/sample_trace.hpp"

#include "runtime/base/errors.hpp"

namespace ballast::actors {

namespace {

constexpr const char* fault_name = "trace.write";

void add_list(std::string& line, const char* name,
              const std::vector<uint64_t>& ids) {
  line += std::string(",\"") + name + "\":[";
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0)
      line += ',';
    line += std::to_string(ids[i]);
  }
  line += ']';
}

} // namespace

sample_trace::sample_trace(const assignment& order)
    : path_(std::filesystem::path(order.run_folder) / "trace" /
            (order.name + "." + std::to_string(order.incarnation) + ".jsonl")) {
  if (order.run_folder.empty() ||
      !std::filesystem::is_directory(order.run_folder))
    throw ballast_error(errc::not_in_build,
                        "trace_samples needs the run directory " +
                            order.run_folder +
                            " on this node's file system; streaming traces "
                            "is not in this build",
                        "/trace_samples");
  try {
    file_.emplace(path_, fault_name);
  } catch (const ballast_error& e) {
    if (e.what_failed().code != errc::disk_full)
      throw;
  }
}

void sample_trace::write(const worker::step_order& order,
                         const std::vector<uint64_t>& ids,
                         const std::vector<uint64_t>& used) {
  line_.clear();
  line_ += "{\"generation\":" + to_string(order.generation) +
           ",\"plan\":" + to_string(order.plan) +
           ",\"step\":" + to_string(order.at.step) +
           ",\"epoch\":" + to_string(order.at.epoch);
  add_list(line_, "ids", ids);
  if (!used.empty())
    add_list(line_, "used", used);
  line_ += "}\n";
  if (!file_)
    file_.emplace(path_, fault_name);
  file_->append(line_);
}

} // namespace ballast::actors
