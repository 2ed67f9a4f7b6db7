#include "actors/run_parent.hpp"

#include "actors/parent_choice.hpp"
#include "runtime/base/printable.hpp"
#include "store/json_file.hpp"
#include "store/refuse_file.hpp"
#include "store/sync_path.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>

namespace ballast::actors {

namespace fs = std::filesystem;

std::optional<run_parent> find_parent(const job& what) {
  if (what.init.from.empty())
    return std::nullopt;
  const parent_choice chosen = choose_parent(what.init.from);
  return look_at(chosen, what);
}

void keep_parent(const run_parent& what, const store::run_directory& in) {
  const fs::path staged = in.tmp() / parent_weights_name;
  const fs::path place = in.file(parent_weights_name);
  std::error_code problem;
  fs::remove(staged, problem);
  // A second name costs nothing; on another file system it is no choice.
  if (::link(what.file.c_str(), staged.c_str()) != 0) {
    if (!fs::copy_file(what.file, staged, problem)) {
      const int number = problem.value();
      fs::remove(staged, problem);
      store::refuse_file(place, "copy " + what.file.string() + " to", number);
    }
    store::sync_path(staged);
  }
  fs::rename(staged, place, problem);
  if (problem)
    store::refuse_file(place, "publish", problem.value());
  fs::remove(staged, problem); // where both were names of one file already
  store::sync_path(in.path());
  in.write_json(
      parent_about_name,
      nlohmann::ordered_json{{"run", what.run},
                             {"step", value(what.step)},
                             {"sha256", what.sha256},
                             {"optimizer_steps", what.optimizer_steps},
                             {"file", what.file.string()}},
      store::outlives::power);
}

std::optional<run_parent> kept_parent(const fs::path& folder) {
  const fs::path file = folder / parent_weights_name;
  const nlohmann::json about =
      store::read_json_file(folder / parent_about_name);
  std::error_code none;
  if (!about.is_object() || !fs::is_regular_file(file, none))
    return std::nullopt;
  try {
    return run_parent{file, about.at("run").get<std::string>(),
                      step_number{about.at("step").get<uint64_t>()},
                      about.at("sha256").get<std::string>(),
                      about.at("optimizer_steps").get<uint64_t>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

parent_weights kept_weights(const fs::path& folder) {
  const std::optional<run_parent> found = kept_parent(folder);
  if (!found)
    return {};
  std::error_code none;
  return {fs::absolute(found->file, none).string(), found->optimizer_steps};
}

failure parent_missing(const job& what, const fs::path& folder) {
  if (what.init.from.empty() || kept_parent(folder))
    return {};
  std::error_code none;
  const fs::path lost =
      folder / (fs::is_regular_file(folder / parent_weights_name, none)
                    ? parent_about_name
                    : parent_weights_name);
  return {errc::run_dir_unusable,
          printable(lost.string()) +
              " is missing or damaged: the run began with the parameters in "
              "it, and cannot go on without. Nothing was changed; put it back",
          {}};
}

} // namespace ballast::actors
