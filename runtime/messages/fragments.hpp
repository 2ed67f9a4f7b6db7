/// Preparing a set on several machines, as plain values without CAF. A fragment
/// is one file of a source, read: what the coordinator orders of a worker, and
/// what that answers. The rows themselves never travel here; who made a
/// fragment serves it as a blob of its data service.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace ballast {

/// What the files that were read before decide for those that follow.
struct fragment_choice {
  std::vector<std::string> columns; // of the features
  bool text_labels = false;
  /// A column that is left out for its text in the first row; a number in it is
  /// an error from then on, which names that cell.
  struct left_out {
    std::string column;
    std::string text;
    std::string file;
    std::string row;
    auto fields() { return std::tie(column, text, file, row); }
  };
  std::vector<left_out> texts;
  auto fields() { return std::tie(columns, text_labels, texts); }
};

/// Read this file and keep what it holds; answered with fragment_ready.
struct prepare_fragment {
  ballast::term term{};
  uint64_t number = 0;  // of the file among those of the source
  std::string key;      // under which it is kept
  std::string token;    // of the run's data
  std::string job;      // JSON, every default filled in
  std::string pointer;  // the source in it: "/data/train"
  std::string file;     // as the coordinator names it
  std::string identity; // of its content
  fragment_choice choice;
  auto fields() {
    return std::tie(term, number, key, token, job, pointer, file, identity,
                    choice);
  }
};

enum class fragment_outcome : uint8_t {
  ready,
  not_here, // no such file, or one of other content: ask for no other either
  refused,  // it holds something that is not to be trained on
};

struct fragment_ready {
  worker_id worker{};
  uint64_t number = 0;
  std::string key;
  fragment_outcome outcome = fragment_outcome::not_here;
  std::string address; // of the service that has it
  uint64_t bytes = 0;  // it ends with a checksum of them
  std::string why;     // it is not ready
  auto fields() {
    return std::tie(worker, number, key, outcome, address, bytes, why);
  }
};

/// The name of the part of a fragment that begins with byte `at`.
std::string fragment_blob(const std::string& key, uint64_t at);
/// Of such a name; false if it is none.
bool read_fragment_blob(const std::string& name, std::string& key,
                        uint64_t& at);
/// A fragment travels in parts, so that neither side holds one whole.
constexpr uint64_t fragment_part_bytes = uint64_t{32} << 20;

} // namespace ballast
