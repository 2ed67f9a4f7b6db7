/// The final parameters of this worker as the file of a model, while they stand
/// still: handed out in pieces, written piece by piece into the coordinator's
/// file where that is seen, and hashed.
///
/// Any thread. The replica that it is an image of lives longer.
#pragma once

#include "actors/replica.hpp"
#include "actors/state_note.hpp"
#include "data/base/growing_bytes.hpp"
#include "data/model/streamed_weights.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ballast::actors {

class served_model {
public:
  explicit served_model(replica_image of, step_number after);

  /// Of the whole file; without checksums.
  std::string note() const;
  /// At most piece_bytes from there on.
  std::string read(uint64_t at) const;
  /// Into the file that sees(); its checksum, if asked for. On the disk after
  /// an order of no bytes: one sync for all pieces, as each waits for what
  /// others write on that disk. Throws as write_synced() does.
  std::string write(const write_order& what);
  /// The bytes behind those of the last call, or the first ones again. Nothing:
  /// they are neither.
  std::optional<hash_answer> hash(const hash_order& what);

private:
  bool has(const byte_range& part) const {
    return part.from <= part.to && part.to <= bytes_;
  }

  const replica_image of_;
  const uint64_t bytes_;
  const step_number after_;
  std::mutex rooms_guard_;
  std::vector<data::growing_bytes> rooms_; // for pieces on their way
  std::mutex hash_guard_;                  // guards the rest
  std::optional<data::streamed_weights> hash_;
  uint64_t hashed_ = 0;
};

} // namespace ballast::actors
