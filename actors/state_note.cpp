#include "actors/state_note.hpp"

#include "runtime/base/json_text.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::actors {

namespace {

constexpr std::string_view blob_prefix = "checkpoint-";
constexpr std::string_view note_suffix = "/note";
constexpr std::string_view write_suffix = "/write ";
constexpr uint64_t part_page_bytes = 4096;
// Answers of a write_order.
constexpr std::string_view written = "written";
constexpr std::string_view not_here = "not here";
constexpr std::string_view full = "disk full: ";
constexpr std::string_view failed = "failed: ";

bool read_number(std::string_view text, uint64_t& out) {
  const auto found =
      std::from_chars(text.data(), text.data() + text.size(), out);
  return found.ec == std::errc() && found.ptr == text.data() + text.size();
}

/// Up to the next blank, and the rest behind it.
std::string_view next_word(std::string_view& rest) {
  const size_t end = rest.find(' ');
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return out;
}

} // namespace

byte_range part_of(uint64_t file_bytes, uint32_t rank, uint32_t world) {
  const uint64_t pages = file_bytes / part_page_bytes;
  const auto begin = [&](uint64_t of) {
    // Not pages * of, which may be too large.
    return (pages / world * of + pages % world * of / world) * part_page_bytes;
  };
  return {begin(rank), rank + 1 == world ? file_bytes : begin(rank + 1)};
}

std::string text_of(const state_note& what) {
  nlohmann::json out{
      {"copied", value(what.copied)}, {"file_bytes", what.file_bytes},
      {"header", what.header},        {"from", what.part.from},
      {"to", what.part.to},           {"checksums", nlohmann::json::array()}};
  for (const data::state_part& one : what.checksums)
    out["checksums"].push_back({one.bytes, one.xxh64});
  return json_text(out);
}

state_note read_note(const std::string& text) {
  try {
    const nlohmann::json in = nlohmann::json::parse(text);
    state_note out;
    out.copied = step_number{in.at("copied").get<uint64_t>()};
    out.file_bytes = in.at("file_bytes").get<uint64_t>();
    out.header = in.at("header").get<std::string>();
    out.part = {in.at("from").get<uint64_t>(), in.at("to").get<uint64_t>()};
    uint64_t together = 0;
    for (const nlohmann::json& one : in.at("checksums")) {
      out.checksums.push_back(
          {one.at(0).get<uint64_t>(), one.at(1).get<std::string>()});
      together += out.checksums.back().bytes;
    }
    if (out.part.from <= out.part.to && out.part.to <= out.file_bytes &&
        together == out.part.to - out.part.from)
      return out;
  } catch (const nlohmann::json::exception&) {
    // As below.
  }
  throw ballast_error(errc::invalid_data,
                      "what it says of its part is not understood");
}

std::string state_blob(step_number after) {
  return std::string(blob_prefix) + to_string(after);
}

std::string note_blob(step_number after) {
  return state_blob(after) + std::string(note_suffix);
}

std::string write_blob(const write_order& what) {
  return state_blob(what.after) + std::string(write_suffix) +
         std::to_string(what.at) + " " + what.to.token + " " +
         what.to.file.string();
}

bool is_note(std::string_view name, step_number& after) {
  uint64_t step = 0;
  if (!name.starts_with(blob_prefix) || !name.ends_with(note_suffix))
    return false;
  name.remove_prefix(blob_prefix.size());
  name.remove_suffix(note_suffix.size());
  if (!read_number(name, step))
    return false;
  after = step_number{step};
  return true;
}

std::optional<write_order> read_write_order(std::string_view name) {
  const size_t end = name.find(write_suffix);
  if (!name.starts_with(blob_prefix) || end == std::string_view::npos)
    return std::nullopt;
  uint64_t step = 0;
  write_order out;
  std::string_view rest = name.substr(end + write_suffix.size());
  if (!read_number(name.substr(blob_prefix.size(), end - blob_prefix.size()),
                   step) ||
      !read_number(next_word(rest), out.at))
    return std::nullopt;
  out.after = step_number{step};
  out.to.token = next_word(rest);
  out.to.file = rest; // may have blanks
  return out;
}

std::string write_answer(bool was_here, const failure& problem) {
  if (problem)
    return std::string(problem.code == errc::disk_full ? full : failed) +
           problem.message;
  return std::string(was_here ? written : not_here);
}

bool read_write_answer(std::string_view text) {
  if (text == written || text == not_here)
    return text == written;
  for (const auto& [prefix, code] : {std::pair(full, errc::disk_full),
                                     std::pair(failed, errc::run_dir_unusable)})
    if (text.starts_with(prefix))
      throw ballast_error(code, std::string(text.substr(prefix.size())));
  throw ballast_error(errc::invalid_data,
                      "what it says of its writing is not understood");
}

} // namespace ballast::actors
