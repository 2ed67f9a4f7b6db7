/// The parameters that a run begins with, if they are those of another model,
/// as blobs of the origin: what is to be known of the file, and its bytes for
/// workers that do not see it. Pure values; reads the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ballast::actors {

struct parent_weights {
  std::string file; // its path where the coordinator runs; empty: there is none
  uint64_t optimizer_steps = 0; // that its optimizer's state has seen
};

/// What the origin says of it: a parent_about as JSON.
constexpr const char* parent_about_blob = "parent-about";
/// The file's first bytes: the length of its header, and that.
constexpr const char* parent_header_blob = "parent-header";
/// "parent-part@AT" has so many bytes from AT on, fewer at the end.
constexpr const char* parent_part_blob = "parent-part";
constexpr uint64_t parent_part_bytes = uint64_t{8} << 20;

struct parent_about {
  std::string file;
  uint64_t bytes = 0;
  uint64_t optimizer_steps = 0;
};
/// Throws ballast_error{invalid_data}.
parent_about read_parent_about(const std::string& text);

/// Nothing for other names, or if there is no parent. Throws invalid_data where
/// the file is not there. Any thread.
std::optional<std::string> blob_of(const parent_weights& of,
                                   const std::string& name);

} // namespace ballast::actors
