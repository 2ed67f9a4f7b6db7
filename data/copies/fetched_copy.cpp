#include "data/copies/fetched_copy.hpp"

#include "data/model/checkpoint_store.hpp"
#include "data/sink/partial_path.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/node_name.hpp"
#include "runtime/base/printable.hpp"
#include "store/atomic_file.hpp"
#include "store/sync_path.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace ballast::data {

namespace {

namespace fs = std::filesystem;

constexpr const char* run_part = "run";
constexpr const char* key_name = "run.key";

bool is_damage(const ballast_error& e) {
  return e.what_failed().code == errc::invalid_data;
}

/// state.safetensors, and what its manifest is called in a run directory.
void fetch_state(const copy_place& from, const found_copy& which,
                 const fs::path& to, const store::work_watch& stop) {
  fs::create_directories(to);
  from.fetch(which, to, stop, "state.");
  for (const char* name : {"state.safetensors", "state.json"})
    if (!fs::exists(to / name))
      throw ballast_error(errc::invalid_data,
                          printable(from.name() + "/" + which.folder) +
                              ": its manifest.json names no " + name);
  fs::rename(to / "state.json", to / "manifest.json");
  for (const char* name : {"state.safetensors", "manifest.json"})
    fs::permissions(to / name, fs::perms(0644));
  store::sync_path(to);
}

/// The newest first; `fetch` throws invalid_data where one cannot be used.
fetched_copy newest_of(const copy_place& from, std::vector<found_copy> all,
                       const std::function<void(const found_copy&)>& fetch) {
  fetched_copy out{{}, from.name(), {}};
  const auto note = [&out](const std::string& what) {
    out.damage += (out.damage.empty() ? "" : "; ") + what;
  };
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if (!one->problem.empty()) {
      note(from.name() + "/" + one->folder + ": " + one->problem);
      continue;
    }
    try {
      fetch(*one);
      out.step = one->step;
      return out;
    } catch (const ballast_error& e) {
      if (!is_damage(e))
        throw;
      note(e.what());
    }
  }
  return out;
}

/// What the copy has of the folder, in its place.
void lay_out(const fs::path& folder, step_number step,
             const std::string& from) {
  const fs::path inside = folder / run_part;
  if (!fs::exists(inside / "ledger.sqlite"))
    throw ballast_error(errc::invalid_data,
                        printable(from) + " names no ledger.sqlite");
  for (const auto& entry : fs::recursive_directory_iterator(inside))
    if (entry.is_regular_file() && entry.path().filename() != key_name)
      fs::permissions(entry.path(), fs::perms(0644));
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(inside))
    parts.push_back(entry.path());
  for (const fs::path& one : parts)
    fs::rename(one, folder / one.filename());
  fs::remove(inside);
  store::atomic_file note(folder / fetched_name, {.permissions = 0644});
  note.append(json_lines_text(nlohmann::ordered_json{{"step", value(step)},
                                                     {"from", from}}) +
              "\n");
  note.publish();
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_directory())
      store::sync_path(entry.path());
  store::sync_path(folder);
}

fs::path folder_for(const fs::path& folder, const fs::path& base,
                    const std::string& run, const std::string& from) {
  if (folder.empty() && run.empty())
    throw ballast_error(
        errc::invalid_data,
        printable(from) + ": the manifest.json of each copy there is damaged");
  if (folder.empty() && !is_node_name(run))
    throw ballast_error(
        errc::invalid_data,
        printable(from) + ": the run there is called '" + printable(run, 60) +
            "', which names no folder; name one with --run-dir");
  fs::path out =
      fs::absolute(folder.empty() ? base / run : folder).lexically_normal();
  if (!out.has_filename())
    out = out.parent_path();
  std::error_code none;
  if (fs::is_directory(out, none) && fs::is_empty(out, none))
    fs::remove(out, none);
  if (fs::exists(fs::symlink_status(out, none)))
    throw ballast_error(errc::run_dir_unusable,
                        out.string() +
                            " is there already; go on with the run in it: "
                            "`ballast run --resume " +
                            out.string() +
                            "`, or name an absent folder with --run-dir");
  fs::create_directories(out.parent_path());
  return out;
}

} // namespace

fetched_copy fetch_checkpoint(const copy_place& from,
                              const std::string& identity, step_number after,
                              step_number last, const fs::path& checkpoints,
                              const store::work_watch& stop) {
  std::vector<found_copy> all = from.checkpoints();
  std::erase_if(all, [&](const found_copy& one) {
    return one.step <= after || one.step > last ||
           (one.problem.empty() && one.identity != identity);
  });
  return newest_of(from, std::move(all), [&](const found_copy& one) {
    const fs::path staged =
        checkpoints / (".unfinished-" + to_string(one.step));
    std::error_code none;
    fs::remove_all(staged, none);
    try {
      fetch_state(from, one, staged, stop);
    } catch (...) {
      fs::remove_all(staged, none);
      throw;
    }
    ledger::checkpoint_identity holds;
    holds.step = one.step;
    (void)checkpoint_store(checkpoints).publish(holds);
  });
}

std::pair<fs::path, fetched_copy> fetch_run(const copy_place& from,
                                            const fs::path& folder,
                                            const fs::path& base,
                                            const store::work_watch& stop) {
  const nlohmann::json model = from.model_manifest();
  if (model.is_object() && model.value("state", "") == "done")
    throw ballast_error(errc::run_dir_unusable,
                        printable(from.name()) +
                            ": the run there is done; its model is " +
                            printable(from.name()) + "/" +
                            copy_place::model_folder + "/model.safetensors");
  std::vector<found_copy> all = from.checkpoints();
  if (all.empty())
    throw ballast_error(errc::invalid_data,
                        printable(from.name()) +
                            ": no checkpoint was copied there; expected what "
                            "checkpoint.copy_to of a run names");
  // As the newest says that can be read.
  std::string name;
  for (const found_copy& one : all)
    if (one.problem.empty())
      name = one.run;
  const fs::path place = folder_for(folder, base, name, from.name());
  partial_path partial(place, partial_path::kind::folder);
  const fetched_copy out =
      newest_of(from, std::move(all), [&](const found_copy& one) {
        for (const auto& entry : fs::directory_iterator(partial.path()))
          fs::remove_all(entry.path()); // of one that was damaged
        fetch_state(from, one, partial.path() / "checkpoints" / one.folder,
                    stop);
        from.fetch(one, partial.path(), stop, "run/");
        lay_out(partial.path(), one.step, from.name());
      });
  if (out.step == step_number{})
    throw ballast_error(
        errc::invalid_data,
        printable(from.name()) +
            ": none of the copies there can be used: " + out.damage);
  partial_path::publish({&partial});
  return {place, out};
}

} // namespace ballast::data
