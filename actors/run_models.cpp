#include "actors/run_models.hpp"

#include "data/export/model_folder.hpp"
#include "data/model/checkpoint_store.hpp"
#include "data/model/safetensors.hpp"
#include "data/model/state_blocks.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "store/damaged_tail.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace ballast::actors {

namespace {

/// Buffers, like running means, are no parameters.
std::string parameters_sha256(data::tensor_file& file) {
  auto buffers =
      nlohmann::json::parse(file.metadata["buffers"], nullptr, false);
  std::vector<data::tensor_view> parameters;
  for (const data::tensor_view& one : file.tensors)
    if (std::find(buffers.begin(), buffers.end(), one.name) == buffers.end())
      parameters.push_back(one);
  return weights_sha256(parameters);
}

step_number step_in(data::tensor_file& file) {
  return step_number{std::strtoull(file.metadata["step"].c_str(), nullptr, 10)};
}

constexpr data::writing_points model_points{.write = "model.write",
                                            .sync = "model.sync"};
constexpr const char* unchecked_model = "model.safetensors.unchecked";
constexpr const char* model_name = "model.safetensors";
constexpr const char* last_folder = "last";

/// A folder of its own, empty: what lies beside the file is the file's alone.
/// What an earlier life left there goes.
class staging_folder {
public:
  explicit staging_folder(std::filesystem::path path) : path_(std::move(path)) {
    remove();
    std::error_code problem; // said by the file in it
    std::filesystem::create_directory(path_, problem);
  }
  ~staging_folder() { remove(); }
  staging_folder(const staging_folder&) = delete;
  staging_folder& operator=(const staging_folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

private:
  void remove() {
    std::error_code problem;
    std::filesystem::remove_all(path_, problem);
  }
  std::filesystem::path path_;
};

} // namespace

/// One that cannot be read makes room under another name: nobody can say of
/// which step it is, and the run must not fail for it.
std::optional<data::tensor_file>
run_models::earlier(const std::filesystem::path& place) {
  if (!std::filesystem::exists(place))
    return std::nullopt;
  std::string why;
  try {
    return data::read_safetensors(place.string());
  } catch (const ballast_error& e) {
    why = e.what();
  }
  std::filesystem::path kept = store::damaged_name(place);
  std::filesystem::rename(place, kept);
  std::string name = kept.filename().string();
  notices_.warn(
      "the model that an earlier life of the run left cannot be read (" + why +
      "); it is kept as " + name);
  notices_.events()->append(coordinator::events::model_refused{why, name});
  return std::nullopt;
}

saved_model run_models::publish_staged(const std::filesystem::path& staged,
                                       const std::string& sha256,
                                       step_number step) {
  std::filesystem::path place = directory_.file(model_name);
  std::optional<data::tensor_file> before = earlier(place);
  if (before && step_in(*before) > step) {
    std::string name = "model-step-" + to_string(step) + ".safetensors";
    std::filesystem::rename(staged, directory_.file(name));
    return {{},
            parameters_sha256(*before),
            step_in(*before),
            "model.safetensors is still that of step " +
                to_string(step_in(*before)) +
                ", which an earlier life of the run reached; that of step " +
                to_string(step) + " is in " + name};
  }
  (void)fault_point("model.rename");
  std::filesystem::rename(staged, place);
  return {{}, sha256, step, {}};
}

/// Its weights_sha256.
std::string run_models::stage(const source& from,
                              const std::filesystem::path& folder) {
  const std::filesystem::path staged = folder / model_name;
  const data::unfinished_state file(staged, from.bytes, model_points);
  std::string sha256 = from.write(file);
  file.end();
  // Despite the umask, as of other files of the run.
  std::error_code problem;
  std::filesystem::permissions(staged, std::filesystem::perms(0644), problem);
  return sha256;
}

saved_model run_models::publish(const source& from, step_number step) {
  const staging_folder here(directory_.tmp() / "model");
  const std::string sha256 = stage(from, here.path());
  return publish_staged(here.path() / model_name, sha256, step);
}

void run_models::publish_last(const std::filesystem::path& staged) {
  const std::filesystem::path folder = directory_.file(last_folder);
  std::error_code problem; // said by the rename
  std::filesystem::create_directory(folder, problem);
  std::filesystem::rename(staged, folder / model_name);
}

saved_model run_models::publish_best(const source& best, step_number of,
                                     const source& last) {
  const staging_folder last_here(directory_.tmp() / "last");
  stage(last, last_here.path());
  publish_last(last_here.path() / model_name);
  const staging_folder here(directory_.tmp() / "model");
  const std::string sha256 = stage(best, here.path());
  (void)fault_point("model.rename");
  std::filesystem::rename(here.path() / model_name,
                          directory_.file(model_name));
  return {{}, sha256, of, {}};
}

saved_model run_models::publish_best_of(const std::string& checkpoint) {
  data::check_state_file(checkpoint, data::checksums_beside(checkpoint), 2);
  data::tensor_file file = data::read_safetensors(checkpoint);
  std::vector<data::tensor_view> last;
  std::vector<data::tensor_view> best;
  for (const data::tensor_view& one : file.tensors)
    if (one.name.starts_with(data::best_prefix))
      best.push_back(
          {one.name.substr(data::best_prefix.size()), one.shape, one.values});
    else if (!one.name.starts_with(data::optimizer_prefix))
      last.push_back(one);
  const auto write = [&](const std::vector<data::tensor_view>& tensors) {
    directory_.write_file(unchecked_model,
                          safetensors_bytes(tensors, file.metadata),
                          store::outlives::power);
    return directory_.file(unchecked_model);
  };
  const std::string best_step = file.metadata[data::best_step_key];
  file.metadata.erase(data::best_step_key);
  publish_last(write(last));
  file.metadata["step"] = best_step;
  std::filesystem::rename(write(best), directory_.file(model_name));
  file.tensors = std::move(best);
  return {{}, parameters_sha256(file), step_in(file), {}};
}

saved_model run_models::publish_checkpoint(const std::string& path,
                                           step_number step) {
  data::check_state_file(path, data::checksums_beside(path), 2);
  data::tensor_file file = data::read_safetensors(path);
  std::erase_if(file.tensors, [](const data::tensor_view& one) {
    return data::is_beside_model(one.name);
  });
  file.metadata.erase(data::best_step_key);
  directory_.write_file(unchecked_model,
                        safetensors_bytes(file.tensors, file.metadata),
                        store::outlives::power);
  return publish_staged(directory_.file(unchecked_model),
                        parameters_sha256(file), step);
}

void run_models::describe() {
  const std::filesystem::path staged = directory_.tmp() / "described";
  std::error_code ignored;
  std::filesystem::remove_all(staged, ignored); // of an earlier life
  try {
    std::filesystem::create_directory(staged);
    data::write_model_folder(directory_.path(), staged,
                             store::outlives::process);
    data::publish_model_folder(directory_.path(), staged);
  } catch (const std::exception& problem) {
    notices_.warn(std::string("model/ is not written: ") + problem.what());
    std::filesystem::remove_all(staged, ignored);
  }
}

} // namespace ballast::actors
