/// What a worker says of an image, a file that it has in memory, and the blob
/// names by which it is asked for that: its copy of a part of the state
/// (state_snapshot.hpp), or the final parameters (served_model.hpp). Pure.
///
///   checkpoint-12@33554432   the bytes of the file from there on, a piece
///   checkpoint-12/note       a state_note
///   mark ...                 show that what is written there arrives
///   checkpoint-12/write ...  write a piece into the coordinator's file
///   model/hash ...           go on with the hashes of all of it
///
/// `best` is a model, too: that of keep.best.
#pragma once

#include "data/model/state_checksums.hpp"
#include "data/model/streamed_weights.hpp"
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

/// XXH64, as notes and answers have it.
std::string checksum_of(std::string_view bytes);

/// The names of images, which travel in pieces (blob_pieces.hpp).
std::string state_blob(step_number after);
constexpr const char* model_blob = "model"; // the last parameters
constexpr const char* best_blob = "best";   // those that keep.best kept
/// Of a copy of the state; nothing: it is another image.
std::optional<step_number> step_of_state(std::string_view image);

std::string note_blob(const std::string& image);
/// Of which image a note is asked for; nothing: for none.
std::optional<std::string> image_of_note(std::string_view name);

/// "Leave this mark beside that file": before anything is written into it. The
/// answer is a write_answer().
struct mark_order {
  data::shared_place to;
  std::string mark;
  bool gone = false; // it did not arrive: take it away again
};
std::string mark_blob(const mark_order& what);
std::optional<mark_order> read_mark_order(std::string_view name);

/// "Write these bytes of the image into this file yourself." No bytes: "do you
/// see it, and is what you wrote on the disk?"
struct write_order {
  std::string image;
  byte_range part;
  data::shared_place to;
  bool checked = false; // the answer has a checksum
};
std::string write_blob(const write_order& what);
std::optional<write_order> read_write_order(std::string_view name);
/// What came of it: the checksum of what was written, if that was asked for;
/// nothing: the file is not here; or what went wrong.
std::string write_answer(const std::optional<std::string>& written,
                         const failure& problem);
/// Throws what went wrong.
std::optional<std::string> read_write_answer(std::string_view text);

/// "Hash these bytes of the model, whole pieces of it, behind those before."
/// Not all at once: an answer comes before anybody takes the worker for dead.
struct hash_order {
  byte_range part;
  bool checked = false; // by more than the SHA-256: checksum, digest
  std::string image = model_blob;
};
struct hash_answer {
  std::vector<std::string> xxh64;       // of each of the pieces, if checked
  data::streamed_weights::hashes whole; // with the last bytes of the model
};
std::string hash_blob(const hash_order& what);
std::optional<hash_order> read_hash_order(std::string_view name);
std::string text_of(const hash_answer& what);
/// Throws ballast_error{invalid_data}.
hash_answer read_hash_answer(const std::string& text);

} // namespace ballast::actors
