/// The hashes of the weights in a safetensors file whose bytes come piece by
/// piece, as they are written: weights_sha256() and digest_of() of all tensors
/// but those that its metadata calls buffers. For files as image_of() lays them
/// out, tensors in the order of their names.
///
/// One owner, one thread. Errors: those of safetensors_stream; invalid_data for
/// tensors in another order.
#pragma once

#include "data/model/safetensors_stream.hpp"
#include "data/model/sha256.hpp"
#include "data/model/weights_digest.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

class streamed_weights {
public:
  /// `name`: of the file, for messages. `with_digest`: else there is none.
  explicit streamed_weights(const std::string& name, bool with_digest = false);
  streamed_weights(const streamed_weights&) = delete;
  streamed_weights& operator=(const streamed_weights&) = delete;

  void update(std::string_view bytes) { file_.update(bytes); }
  struct hashes {
    std::string sha256;
    std::string digest; // may be empty
  };
  /// The last call.
  hashes end();

private:
  std::vector<bool> counts_; // of each tensor: it is no buffer
  sha256 hash_;
  std::optional<weights_digest> digest_;
  safetensors_stream file_;
};

} // namespace ballast::data
