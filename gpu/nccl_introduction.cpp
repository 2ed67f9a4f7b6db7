#include "gpu/nccl_introduction.hpp"

#include "gpu/cuda_report.hpp"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::gpu {

using collectives::collective_errc;
using collectives::collective_error;
namespace {

nccl_introduction read(const std::string& text, int rank) {
  try {
    nlohmann::json in = nlohmann::json::from_cbor(text);
    const auto& id = in.at("id").get_binary();
    return {in.at("nccl").get<int>(), in.at("gpu").get<std::string>(),
            std::string(id.begin(), id.end())};
  } catch (const nlohmann::json::exception& e) {
    throw collective_error(
        collective_errc::mismatch,
        "an address is none of NCCL: " + std::string(e.what()), rank);
  }
}

} // namespace

std::string nccl_introduction::text() const {
  nlohmann::json out = {{"nccl", version}, {"gpu", gpu}};
  out["id"] =
      nlohmann::json::binary_t(std::vector<uint8_t>(id.begin(), id.end()));
  auto bytes = nlohmann::json::to_cbor(out);
  return {bytes.begin(), bytes.end()};
}

std::string gpu_identity(const std::string& bus) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  // NCCL tells hosts apart by this, too; tests use it to separate ranks on one
  // GPU.
  const char* host = std::getenv("NCCL_HOSTID");
  return boot + (host ? host : "") + " " + bus;
}

std::string nccl_meeting_place(const std::vector<std::string>& all,
                               int own_version) {
  std::vector<nccl_introduction> ranks;
  for (const std::string& text : all)
    ranks.push_back(read(text, int(ranks.size())));
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].version != own_version)
      throw collective_error(
          collective_errc::mismatch,
          "rank " + std::to_string(r) + " has NCCL " +
              nccl_version_text(ranks[r].version) + ", this rank " +
              nccl_version_text(own_version) + "; all nodes need the same",
          int(r));
    for (size_t before = 0; before < r; ++before)
      if (ranks[before].gpu == ranks[r].gpu)
        throw collective_error(
            collective_errc::mismatch,
            "ranks " + std::to_string(before) + " and " + std::to_string(r) +
                " share the GPU " + ranks[r].gpu +
                "; NCCL takes one worker for each, with train.collective "
                "'ring' there may be several",
            int(r));
  }
  return ranks.empty() ? std::string() : ranks[0].id;
}

} // namespace ballast::gpu
