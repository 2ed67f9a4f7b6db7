#include "cli/node/audit_files.hpp"

#include "data/checkpoint_store.hpp"
#include "data/safetensors.hpp"
#include "monitor/audit_run.hpp"
#include "runtime/errors.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void check_checkpoints(const fs::path& folder, std::vector<std::string>& out) {
  for (const stored_checkpoint& one :
       checkpoint_store(folder / "checkpoints").inspect()) {
    std::string name = "checkpoints/step-" + to_string(one.holds.step) + ": ";
    if (!one.problem.empty()) {
      out.push_back(name + one.problem);
      continue;
    }
    auto expected = lineage_by_ledger(folder, one.holds.step);
    if (expected && *expected != lineage_text(one.holds.lineage))
      out.push_back(name + "it is of lineage " +
                    lineage_text(one.holds.lineage) + ", by the ledger it is " +
                    *expected);
  }
}

void check_model(const fs::path& folder, std::vector<std::string>& out) {
  std::ifstream in(folder / "report.json");
  json report = json::parse(in, nullptr, false);
  std::error_code ignored;
  if (!report.is_object() || !report.contains("weights_sha256") ||
      !report["weights_sha256"].is_string() ||
      !fs::exists(folder / "model.safetensors", ignored))
    return;
  try {
    tensor_file file =
        read_safetensors((folder / "model.safetensors").string());
    json buffers = json::parse(file.metadata["buffers"], nullptr, false);
    std::vector<tensor_view> parameters;
    for (const tensor_view& one : file.tensors)
      if (std::find(buffers.begin(), buffers.end(), one.name) == buffers.end())
        parameters.push_back(one);
    if (report["weights_sha256"] != weights_sha256(parameters))
      out.push_back("model.safetensors is not the model that report.json "
                    "names by weights_sha256");
  } catch (const ballast_error& e) {
    out.push_back(std::string("model.safetensors: ") + e.what());
  }
}

} // namespace

std::vector<std::string> file_problems(const fs::path& folder) {
  std::vector<std::string> out;
  check_checkpoints(folder, out);
  check_model(folder, out);
  return out;
}

} // namespace ballast
