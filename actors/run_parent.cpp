#include "actors/run_parent.hpp"

#include "actors/parent_choice.hpp"
#include "data/model/parameters_digest.hpp"
#include "runtime/base/printable.hpp"
#include "store/copied_file.hpp"
#include "store/json_file.hpp"
#include "store/refuse_file.hpp"
#include "store/sync_path.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ballast::actors {

namespace fs = std::filesystem;

namespace {

constexpr int tries_max = 5;

/// By its open descriptor: so a link in its place is followed, and it may have
/// lost its name.
fs::path source_of(const run_parent& what) {
  return what.open ? "/proc/self/fd/" + std::to_string(what.open->get())
                   : what.file.string();
}

} // namespace

std::optional<run_parent> find_parent(const job& what) {
  if (what.init.from.empty())
    return std::nullopt;
  parent_choice chosen = choose_parent(what.init.from);
  for (int tries = 1;; ++tries)
    try {
      return look_at(chosen, what);
    } catch (const ballast_error&) {
      // A run that goes on has replaced it by a newer one meanwhile.
      const parent_choice now = choose_parent(what.init.from);
      if (tries == tries_max || now.file == chosen.file)
        throw;
      chosen = now;
    }
}

void keep_parent(const run_parent& what, const store::run_directory& in) {
  const fs::path staged = in.tmp() / parent_weights_name;
  const fs::path place = in.file(parent_weights_name);
  std::error_code problem;
  fs::remove(staged, problem);
  // A second name costs nothing; on another file system it is no choice.
  const fs::path source = source_of(what);
  if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, staged.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
    if (const int number = store::copy_whole(source, staged))
      store::refuse_file(place, "copy " + what.file.string() + " to", number);
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
                             {"file", what.file.string()},
                             {"class_names", what.class_names},
                             {"columns", what.columns}},
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

namespace {

using names = std::vector<std::string>;

names names_in(const nlohmann::json& of, const char* key) {
  const auto found = of.is_object() ? of.find(key) : of.end();
  names out;
  if (of.is_object() && found != of.end() && found->is_array())
    for (const nlohmann::json& one : *found)
      if (one.is_string())
        out.push_back(one.get<std::string>());
  return out;
}

/// "3 is 'plum', was 'apple'": the first that differs. Nothing: none, or one
/// side does not know them.
std::string first_other(const names& now, const names& was) {
  if (now.empty() || was.empty())
    return {};
  for (size_t i = 0; i < std::min(now.size(), was.size()); ++i)
    if (now[i] != was[i])
      return std::to_string(i) + " is '" + printable(now[i]) + "', was '" +
             printable(was[i]) + "'";
  return {};
}

} // namespace

std::string unlike_parent(const fs::path& folder) {
  const nlohmann::json was = store::read_json_file(folder / parent_about_name);
  const nlohmann::json now = store::read_json_file(folder / "manifest.json");
  for (auto [key, what] :
       {std::pair("class_names", "class"), std::pair("columns", "column")})
    if (const std::string other =
            first_other(names_in(now, key), names_in(was, key));
        !other.empty())
      return "the run begins with parameters that were trained on other "
             "data: " +
             std::string(what) + " " + other +
             "; where that is no mere name, leave out what depends on it "
             "(/init/except)";
  return {};
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

failure parent_changed(const fs::path& folder) {
  const std::optional<run_parent> found = kept_parent(folder);
  if (!found)
    return {};
  std::string why;
  try {
    const std::string now =
        data::parameters_sha256(data::weights_file(found->file.string()));
    if (now == found->sha256)
      return {};
    why = " holds other parameters than the run began with: their SHA-256 is " +
          now + ", " + parent_about_name + " has " + found->sha256;
  } catch (const ballast_error& e) {
    why = std::string(" is damaged: ") + e.what();
  }
  return {errc::run_dir_unusable,
          printable(found->file.string()) + why +
              ". Nothing was changed; put it back",
          {}};
}

} // namespace ballast::actors
