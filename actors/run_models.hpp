/// The models that a run publishes in its folder. The model of a later step,
/// left by an earlier life of the run, stays; this one gets another name. Owned
/// by run_record; any thread, one at a time.
#pragma once

#include "actors/run_notices.hpp"
#include "data/model/safetensors.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/coordinator/actions.hpp"
#include "store/run_directory.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace ballast::actors {

class run_models {
public:
  run_models(const store::run_directory& directory, const run_notices& notices)
      : directory_(directory), notices_(notices) {}

  /// Gives a safetensors file piece by piece; nothing at its end. May throw.
  using pieces = std::function<std::string()>;

  /// Publishes model.safetensors, unless its parameters are not those that
  /// every worker ended with: ballast_error{digest_mismatch}. Without a hash
  /// (one worker had nobody to agree with) they are what came, piece by piece
  /// against the sender's checksum.
  saved_model publish(const pieces& safetensors,
                      const std::string& weights_sha256, step_number step);
  /// The same of the parameters in a checkpoint.
  saved_model publish_checkpoint(const std::string& file, step_number step);

private:
  std::optional<data::tensor_file> earlier(const std::filesystem::path& place);
  saved_model publish_staged(const std::filesystem::path& staged,
                             const std::string& sha256, step_number step);

  const store::run_directory& directory_;
  const run_notices& notices_;
};

} // namespace ballast::actors
