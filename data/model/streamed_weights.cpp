#include "data/model/streamed_weights.hpp"

#include "runtime/base/errors.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

namespace ballast::data {

streamed_weights::streamed_weights(const std::string& name, bool with_digest)
    : digest_(with_digest ? std::optional<weights_digest>(std::in_place)
                          : std::nullopt),
      file_(
          name,
          [this, name](const std::vector<tensor_place>& tensors,
                       std::map<std::string, std::string> metadata) {
            const auto buffers =
                nlohmann::json::parse(metadata["buffers"], nullptr, false);
            for (const tensor_place& one : tensors)
              counts_.push_back(std::find(buffers.begin(), buffers.end(),
                                          one.name) == buffers.end());
            if (!std::is_sorted(tensors.begin(), tensors.end(),
                                [](const auto& a, const auto& b) {
                                  return a.name < b.name;
                                }))
              throw ballast_error(errc::invalid_data,
                                  name + ": its tensors are not in the order "
                                         "of their names");
          },
          [this](size_t tensor, uint64_t /*at*/, std::string_view bytes) {
            if (!counts_[tensor])
              return;
            hash_.update(std::as_bytes(std::span(bytes)));
            if (digest_)
              digest_->update(bytes);
          }) {}

streamed_weights::hashes streamed_weights::end() {
  file_.end();
  return {hash_.hex_digest(), digest_ ? digest_->hex_digest() : ""};
}

} // namespace ballast::data
