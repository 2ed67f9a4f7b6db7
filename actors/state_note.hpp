/// What a worker says of its copy of a part of the state, and the blob names by
/// which its copy is asked for (state_snapshot.hpp). Pure.
///
///   checkpoint-12@33554432   the bytes of the file from there on, a piece
///   checkpoint-12/note       a state_note
///   checkpoint-12/write ...  write a piece into the coordinator's file
#pragma once

#include "data/model/state_checksums.hpp"
#include "data/model/unfinished_state.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::actors {

/// A range of the file's bytes.
struct byte_range {
  uint64_t from = 0;
  uint64_t to = 0;
  friend bool operator==(const byte_range&, const byte_range&) = default;
};
/// The part of rank `rank` of `world`: all parts together are the file, and
/// each begins with a page of it.
byte_range part_of(uint64_t file_bytes, uint32_t rank, uint32_t world);

struct state_note {
  step_number copied{}; // the newest copy here; 0: none
  // Of a copy of the step that was asked for:
  uint64_t file_bytes = 0;
  std::string header; // its checksum: all ranks have the same
  byte_range part;
  std::vector<data::state_part> checksums; // of the part, one behind the other
};
std::string text_of(const state_note& what);
/// Throws ballast_error{invalid_data}.
state_note read_note(const std::string& text);

/// The blob of a copy, which travels in pieces (blob_pieces.hpp).
std::string state_blob(step_number after);
std::string note_blob(step_number after);

/// "Write the piece that begins there into this file yourself."
struct write_order {
  step_number after{};
  uint64_t at = 0;
  data::shared_place to;
};
std::string write_blob(const write_order& what);

/// What a name asks for.
bool is_note(std::string_view name, step_number& after);
std::optional<write_order> read_write_order(std::string_view name);
/// The answer to a write_order: the file was not here, or what went wrong, or
/// nothing did.
std::string write_answer(bool was_here, const failure& problem);
/// False: it was not here. Throws what went wrong.
bool read_write_answer(std::string_view text);

} // namespace ballast::actors
