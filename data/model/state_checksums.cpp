#include "data/model/state_checksums.hpp"

#include "runtime/base/errors.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::data {

namespace {

/// A part for each worker, and some.
constexpr size_t parts_max = 1 << 16;
constexpr const char* no_checksum = "has no checksum of its state";

uint64_t bytes_in(const nlohmann::json& what) {
  const nlohmann::json& bytes = what.at("bytes");
  if (!bytes.is_number_unsigned())
    throw ballast_error(errc::invalid_data, "");
  return bytes.get<uint64_t>();
}

} // namespace

std::optional<state_checksums> checksums_in(const nlohmann::json& manifest,
                                            std::string& why) {
  state_checksums out;
  try {
    out.bytes = bytes_in(manifest);
    if (!manifest.contains("slices")) {
      out.parts.push_back({out.bytes, manifest.at("xxh64").get<std::string>()});
      return out;
    }
    uint64_t together = 0;
    bool named = false; // all of them
    for (const nlohmann::json& one : manifest.at("slices")) {
      const uint64_t bytes = bytes_in(one);
      if (out.parts.size() == parts_max || bytes > out.bytes - together)
        break;
      out.parts.push_back({bytes, one.at("xxh64").get<std::string>()});
      together += bytes;
      named = out.parts.size() == manifest.at("slices").size();
    }
    if (named && together == out.bytes)
      return out;
    why = "has checksums of other bytes than its state's";
  } catch (const std::exception&) { // of another form
    why = no_checksum;
  }
  return std::nullopt;
}

nlohmann::json as_json(const state_checksums& what) {
  nlohmann::json out{{"bytes", what.bytes}};
  out["slices"] = nlohmann::json::array();
  for (const state_part& one : what.parts)
    out["slices"].push_back({{"bytes", one.bytes}, {"xxh64", one.xxh64}});
  return out;
}

state_checksums checksums_beside(const std::filesystem::path& state) {
  const std::filesystem::path manifest = state.parent_path() / "manifest.json";
  std::ifstream in(manifest);
  std::error_code none;
  std::string why = in || std::filesystem::exists(manifest, none)
                        ? no_checksum
                        : "is missing";
  if (auto out = checksums_in(nlohmann::json::parse(in, nullptr, false), why))
    return *out;
  throw ballast_error(errc::invalid_data, manifest.string() + " " + why);
}

state_check::state_check(std::string name, state_checksums expected)
    : name_(std::move(name)), expected_(std::move(expected)) {
  uint64_t at = 0;
  for (const state_part& one : expected_.parts) {
    part& made = parts_.emplace_back();
    made.begin = made.at = at;
    made.end = at += one.bytes;
  }
}

void state_check::refuse(size_t number) const {
  const part& one = parts_[number];
  std::string which;
  if (parts_.size() > 1)
    which = " in bytes " + std::to_string(one.begin) + " to " +
            std::to_string(one.end) + " (part " + std::to_string(number + 1) +
            " of " + std::to_string(parts_.size()) + ")";
  throw ballast_error(errc::invalid_data,
                      name_ + " does not match its checksum" + which);
}

bool state_check::await_turn(const part& one, uint64_t at) {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return stopped_ || one.at == at; });
  return !stopped_;
}

void state_check::hashed(part& one, size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    one.at += bytes;
  }
  moved_.notify_all();
}

void state_check::add(uint64_t at,
                      std::span<const std::span<const char>> bytes) {
  auto next = std::upper_bound(
      parts_.begin(), parts_.end(), at,
      [](uint64_t there, const part& one) { return there < one.end; });
  for (std::span<const char> rest : bytes)
    while (!rest.empty()) {
      while (next != parts_.end() && next->end <= at)
        ++next;
      if (next == parts_.end())
        throw ballast_error(errc::invalid_data,
                            name_ + " has more than " +
                                std::to_string(expected_.bytes) + " bytes");
      const size_t count =
          size_t(std::min<uint64_t>(rest.size(), next->end - at));
      if (!await_turn(*next, at))
        return;
      next->hash.update(rest.data(), count);
      at += count;
      rest = rest.subspan(count);
      const auto number = size_t(next - parts_.begin());
      if (at == next->end &&
          hex16(next->hash.digest()) != expected_.parts[number].xxh64)
        refuse(number);
      hashed(*next, count);
    }
}

void state_check::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  moved_.notify_all();
}

} // namespace ballast::data
