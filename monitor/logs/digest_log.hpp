/// digests.jsonl: digests of the parameters of a reproducible run after some of
/// its steps, tensor by tensor, each step once. A step that is done again has
/// to have the digests that it had. Made with the first line; owned by the
/// coordinator process, one thread at a time.
#pragma once

#include "runtime/base/ids.hpp"
#include "store/line_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ballast::monitor {

/// After one step.
struct step_digests {
  step_number step{};
  std::string digest; // of all, 16 hex digits
  /// By tensor, in the order of the model.
  std::vector<std::pair<std::string, std::string>> tensors;
};

class digest_log {
public:
  explicit digest_log(std::filesystem::path file) : path_(std::move(file)) {}

  /// A step that the file has already is left out; one that an earlier life of
  /// the run lost comes late, behind those after it. Throws
  /// ballast_error{other_bits} where the file has other digests of it; and as
  /// line_file and read_digests() do.
  void append(step_number after, const std::vector<std::string>& tensors,
              const std::vector<uint64_t>& digests);

private:
  void write(const step_digests& one);
  void compare(step_digests again);

  std::filesystem::path path_;
  std::optional<store::line_file> file_;
  step_number last_{};
  std::vector<step_digests> before_; // all of them, while steps are done again
};

/// The first tensor that differs; empty: none.
std::string first_other(const step_digests& was, const step_digests& is);

/// All lines of such a file but a torn last one, by their steps; none where
/// there is no file.
/// Throws ballast_error{run_dir_unusable} that names the line.
std::vector<step_digests> read_digests(const std::filesystem::path& file);

} // namespace ballast::monitor
