#include "monitor/logs/digest_log.hpp"

#include "data/base/content_hash.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::monitor {

void digest_log::append(step_number after,
                        const std::vector<std::string>& tensors,
                        const std::vector<uint64_t>& digests) {
  if (!file_) {
    file_.emplace(path_);
    const auto last = nlohmann::json::parse(file_->last_line(), nullptr, false);
    if (last.is_object())
      last_ = step_number{last.value("step", uint64_t{0})};
  }
  if (after <= last_)
    return;
  data::content_hash all;
  all.update(digests.data(), digests.size() * sizeof(uint64_t));
  nlohmann::ordered_json line = {{"step", value(after)},
                                 {"digest", data::hex16(all.digest())},
                                 {"tensors", nlohmann::ordered_json::object()}};
  for (size_t i = 0; i < std::min(tensors.size(), digests.size()); ++i)
    line["tensors"][tensors[i]] = data::hex16(digests[i]);
  file_->append(json_text(line) + "\n");
  last_ = after;
}

std::vector<step_digests> read_digests(const std::filesystem::path& file) {
  std::vector<step_digests> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto read = nlohmann::ordered_json::parse(line, nullptr, false);
    const auto text = [](const nlohmann::ordered_json& of) {
      return of.is_string() ? of.get<std::string>() : std::string();
    };
    if (!read.is_object() || !read.contains("step") ||
        !read["step"].is_number_unsigned() || !read.contains("tensors") ||
        !read["tensors"].is_object())
      throw ballast_error(errc::run_dir_unusable,
                          file.string() + " line " +
                              std::to_string(out.size() + 1) +
                              " has no digests: " + line.substr(0, 200));
    step_digests& one = out.emplace_back();
    one.step = step_number{read["step"].get<uint64_t>()};
    one.digest = text(read.value("digest", nlohmann::ordered_json()));
    for (const auto& [name, digest] : read["tensors"].items())
      one.tensors.emplace_back(name, text(digest));
  }
  return out;
}

} // namespace ballast::monitor
