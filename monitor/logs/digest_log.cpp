#include "monitor/logs/digest_log.hpp"

#include "data/base/content_hash.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::monitor {

namespace {

bool is_before(const step_digests& one, step_number at) {
  return one.step < at;
}

} // namespace

void digest_log::append(step_number after,
                        const std::vector<std::string>& tensors,
                        const std::vector<uint64_t>& digests) {
  if (!file_) {
    file_.emplace(path_);
    before_ = read_digests(path_);
    last_ = before_.empty() ? step_number{} : before_.back().step;
  }
  data::content_hash all;
  all.update(digests.data(), digests.size() * sizeof(uint64_t));
  step_digests one{after, data::hex16(all.digest()), {}};
  for (size_t i = 0; i < std::min(tensors.size(), digests.size()); ++i)
    one.tensors.emplace_back(tensors[i], data::hex16(digests[i]));
  if (after <= last_)
    return compare(std::move(one));
  write(one);
  last_ = after;
  before_.clear();
}

void digest_log::write(const step_digests& one) {
  nlohmann::ordered_json line = {{"step", value(one.step)},
                                 {"digest", one.digest},
                                 {"tensors", nlohmann::ordered_json::object()}};
  for (const auto& [name, digest] : one.tensors)
    line["tensors"][name] = digest;
  file_->append(json_text(line) + "\n");
}

void digest_log::compare(step_digests again) {
  if (before_.empty())
    before_ = read_digests(path_);
  const auto was =
      std::lower_bound(before_.begin(), before_.end(), again.step, is_before);
  if (was == before_.end() || was->step != again.step) {
    write(again);
    before_.insert(was, std::move(again));
    return;
  }
  if (const std::string tensor = first_other(*was, again); !tensor.empty())
    throw ballast_error(
        errc::other_bits,
        "step " + to_string(again.step) +
            " is done again, and the parameters are not those that " +
            path_.string() + " has of it, first in '" + tensor +
            "': the workers, their CPUs or their environment are not those of "
            "before, or their memory is ill");
}

std::string first_other(const step_digests& was, const step_digests& is) {
  const auto names = [](const auto& a, const auto& b) {
    return a.first == b.first;
  };
  if (!std::equal(was.tensors.begin(), was.tensors.end(), is.tensors.begin(),
                  is.tensors.end(), names))
    return "the list of tensors";
  for (size_t i = 0; i < was.tensors.size(); ++i)
    if (was.tensors[i] != is.tensors[i])
      return was.tensors[i].first;
  return "";
}

std::vector<step_digests> read_digests(const std::filesystem::path& file) {
  std::vector<step_digests> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) // torn: its writer died
      break;
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
  std::stable_sort(out.begin(), out.end(),
                   [](const step_digests& a, const step_digests& b) {
                     return a.step < b.step;
                   });
  return out;
}

} // namespace ballast::monitor
