/// The models that a run publishes in its folder. The model of a later step,
/// left by an earlier life of the run, stays; this one gets another name. Owned
/// by run_record; any thread, one at a time.
#pragma once

#include "actors/run_notices.hpp"
#include "data/model/safetensors.hpp"
#include "data/model/unfinished_state.hpp"
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

  /// Who writes a model's file, which has so many bytes, and tells its
  /// weights_sha256. May throw; then there is no file.
  struct source {
    uint64_t bytes = 0;
    std::function<std::string(const data::unfinished_state&)> write;
  };

  /// Publishes model.safetensors.
  saved_model publish(const source& from, step_number step);
  /// The same of the parameters in a checkpoint.
  saved_model publish_checkpoint(const std::string& file, step_number step);
  /// Writes model/ (data/export/model_folder.hpp) of what is published, once
  /// the report is there. That says the same in another form: where it cannot
  /// be written there is a warning, and the run does not fail.
  void describe();
  /// Of a run with keep.best: the last parameters go to last/, then the best
  /// ones, of that step, are model.safetensors.
  saved_model publish_best(const source& best, step_number of,
                           const source& last);
  saved_model publish_best_of(const std::string& checkpoint);

private:
  std::optional<data::tensor_file> earlier(const std::filesystem::path& place);
  std::string stage(const source& from, const std::filesystem::path& folder);
  void publish_last(const std::filesystem::path& staged);
  saved_model publish_staged(const std::filesystem::path& staged,
                             const std::string& sha256, step_number step);

  const store::run_directory& directory_;
  const run_notices& notices_;
};

} // namespace ballast::actors
