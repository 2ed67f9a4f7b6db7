#include "actors/state_note.hpp"

#include "data/base/content_hash.hpp"
#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::actors {

namespace {

constexpr std::string_view blob_prefix = "checkpoint-";
constexpr std::string_view note_suffix = "/note";
constexpr std::string_view write_suffix = "/write ";
constexpr std::string_view hash_word = "/hash ";
constexpr std::string_view mark_prefix = "mark ";
constexpr std::string_view unmark_prefix = "unmark ";
constexpr std::string_view checked = "checked";
constexpr std::string_view plain = "plain";
constexpr uint64_t part_page_bytes = 4096;
// Answers of a write_order.
constexpr std::string_view written = "written ";
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

bool read_range(std::string_view& rest, byte_range& out) {
  return read_number(next_word(rest), out.from) &&
         read_number(next_word(rest), out.to) && out.from <= out.to;
}

bool read_checked(std::string_view word, bool& out) {
  out = word == checked;
  return out || word == plain;
}

std::string text_of(bool is_checked) {
  return std::string(is_checked ? checked : plain);
}

std::string text_of(const byte_range& what) {
  return std::to_string(what.from) + " " + std::to_string(what.to);
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

std::string checksum_of(std::string_view bytes) {
  data::content_hash hash;
  hash.update(bytes);
  return data::hex16(hash.digest());
}

std::string state_blob(step_number after) {
  return std::string(blob_prefix) + to_string(after);
}

std::optional<step_number> step_of_state(std::string_view image) {
  uint64_t step = 0;
  if (!image.starts_with(blob_prefix) ||
      !read_number(image.substr(blob_prefix.size()), step))
    return std::nullopt;
  return step_number{step};
}

std::string note_blob(const std::string& image) {
  return image + std::string(note_suffix);
}

std::optional<std::string> image_of_note(std::string_view name) {
  if (!name.ends_with(note_suffix))
    return std::nullopt;
  name.remove_suffix(note_suffix.size());
  return std::string(name);
}

std::string mark_blob(const mark_order& what) {
  return std::string(what.gone ? unmark_prefix : mark_prefix) + what.mark +
         " " + what.to.token + " " + what.to.file.string();
}

std::optional<mark_order> read_mark_order(std::string_view name) {
  mark_order out;
  out.gone = name.starts_with(unmark_prefix);
  if (!out.gone && !name.starts_with(mark_prefix))
    return std::nullopt;
  name.remove_prefix((out.gone ? unmark_prefix : mark_prefix).size());
  out.mark = next_word(name);
  out.to.token = next_word(name);
  out.to.file = name; // may have blanks
  if (!data::is_mark(out.mark))
    return std::nullopt;
  return out;
}

std::string write_blob(const write_order& what) {
  return what.image + std::string(write_suffix) + text_of(what.part) + " " +
         text_of(what.checked) + " " + what.to.token + " " +
         what.to.file.string();
}

std::optional<write_order> read_write_order(std::string_view name) {
  const size_t end = name.find(write_suffix);
  if (end == std::string_view::npos || end == 0)
    return std::nullopt;
  write_order out;
  out.image = name.substr(0, end);
  std::string_view rest = name.substr(end + write_suffix.size());
  if (!read_range(rest, out.part) ||
      !read_checked(next_word(rest), out.checked))
    return std::nullopt;
  out.to.token = next_word(rest);
  out.to.file = rest; // may have blanks
  return out;
}

std::string write_answer(const std::optional<std::string>& sum,
                         const failure& problem) {
  if (problem)
    return std::string(problem.code == errc::disk_full ? full : failed) +
           problem.message;
  return sum ? std::string(written) + *sum : std::string(not_here);
}

std::optional<std::string> read_write_answer(std::string_view text) {
  if (text == not_here)
    return std::nullopt;
  if (text.starts_with(written))
    return std::string(text.substr(written.size()));
  for (const auto& [prefix, code] : {std::pair(full, errc::disk_full),
                                     std::pair(failed, errc::run_dir_unusable)})
    if (text.starts_with(prefix))
      throw ballast_error(code, std::string(text.substr(prefix.size())));
  throw ballast_error(errc::invalid_data,
                      "what it says of its writing is not understood");
}

std::string hash_blob(const hash_order& what) {
  return what.image + std::string(hash_word) + text_of(what.part) + " " +
         text_of(what.checked);
}

std::optional<hash_order> read_hash_order(std::string_view name) {
  hash_order out;
  const size_t end = name.find(hash_word);
  out.image = name.substr(0, end);
  if (out.image != model_blob && out.image != best_blob)
    return std::nullopt;
  name.remove_prefix(std::min(end, name.size()));
  name.remove_prefix(std::min(hash_word.size(), name.size()));
  if (!read_range(name, out.part) || !read_checked(name, out.checked))
    return std::nullopt;
  return out;
}

std::string text_of(const hash_answer& what) {
  return json_text(nlohmann::json{{"xxh64", what.xxh64},
                                  {"sha256", what.whole.sha256},
                                  {"digest", what.whole.digest}});
}

hash_answer read_hash_answer(const std::string& text) {
  try {
    const nlohmann::json in = nlohmann::json::parse(text);
    return {in.at("xxh64").get<std::vector<std::string>>(),
            {in.at("sha256").get<std::string>(),
             in.at("digest").get<std::string>()}};
  } catch (const nlohmann::json::exception&) {
    throw ballast_error(errc::invalid_data,
                        "what it says of its hash is not understood");
  }
}

} // namespace ballast::actors
