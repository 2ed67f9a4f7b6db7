#include "data/fitting/state_files.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/atomic_file.hpp"
#include "store/refuse_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;
using state_pointer = std::shared_ptr<const fitted_state>;

constexpr const char* json_name = "state.json";
constexpr const char* numbers_name = "numbers.safetensors";
constexpr const char* list_name = "manifest.json";

[[noreturn]] void refuse_states(const fs::path& path, int number) {
  throw ballast_error(store::means_disk_full(number) ? errc::disk_full
                                                     : errc::run_dir_unusable,
                      "cannot write " + printable(path.string()) + ": " +
                          std::strerror(number));
}

void write_file(const fs::path& path, const std::string& content) {
  try {
    store::atomic_file out(path);
    out.append(content);
    out.publish();
  } catch (const store::file_failure& problem) {
    refuse_states(path, problem.number());
  }
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    refuse_states(path, error.value());
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string out(std::istreambuf_iterator<char>(in), {});
  if (!in)
    throw ballast_error(errc::invalid_data,
                        printable(path.string()) +
                            ": cannot be read; expected the state of a fitted "
                            "operator, as a run keeps it in preprocessing/");
  return out;
}

std::string folder_of(size_t index, const std::string& op) {
  return std::to_string(index) + "-" + op;
}

} // namespace

std::vector<fitted_node> describe(const std::vector<state_pointer>& states) {
  std::vector<fitted_node> out;
  for (const state_pointer& one : states)
    out.push_back({ballast::to_string(one->what.what), one->name,
                   hash_of(bytes_of(*one))});
  return out;
}

void write_states(const fs::path& folder,
                  const std::vector<state_pointer>& states) {
  make_folder(folder);
  json all = json::array();
  for (size_t i = 0; i < states.size(); ++i) {
    const state_bytes bytes = bytes_of(*states[i]);
    const std::string op = ballast::to_string(states[i]->what.what);
    const std::string name = folder_of(i, op);
    make_folder(folder / name);
    write_file(folder / name / json_name, bytes.json);
    write_file(folder / name / numbers_name, bytes.numbers);
    all.push_back({{"folder", name},
                   {"op", op},
                   {"name", states[i]->name},
                   {"sha256", hash_of(bytes)}});
  }
  write_file(folder / list_name,
             json_lines_text(
                 json{{"version", state_version}, {"states", std::move(all)}}) +
                 "\n");
}

std::vector<state_pointer> read_states(const fs::path& folder) {
  std::error_code ignored;
  fs::path from = folder;
  if (fs::exists(folder / preprocessing_name / list_name, ignored))
    from = folder / preprocessing_name;
  const fs::path list = from / list_name;
  const json about = json::parse(read_file(list), nullptr, false);
  std::vector<state_pointer> out;
  try {
    if (about.at("version") != state_version)
      throw ballast_error(errc::invalid_data,
                          printable(list.string()) +
                              ": is of another version; fit it again");
    for (const json& one : about.at("states")) {
      const auto name = one.at("folder").get<std::string>();
      if (name.find('/') != std::string::npos || name.starts_with("."))
        throw ballast_error(errc::invalid_data, printable(list.string()) +
                                                    ": '" + printable(name) +
                                                    "' is no folder in it");
      const state_bytes bytes{read_file(from / name / json_name),
                              read_file(from / name / numbers_name)};
      const std::string place = (from / name).string();
      if (hash_of(bytes) != one.at("sha256").get<std::string>())
        throw ballast_error(errc::invalid_data,
                            printable(place) +
                                ": is damaged or was changed: its SHA-256 is " +
                                hash_of(bytes) + ", manifest.json has " +
                                json_text(one.at("sha256")));
      out.push_back(
          std::make_shared<const fitted_state>(read_state(bytes, place)));
    }
  } catch (const json::exception&) {
    throw ballast_error(errc::invalid_data,
                        printable(list.string()) +
                            ": is no list of fitted states; expected that of "
                            "preprocessing/ of a run, which may be damaged");
  }
  return out;
}

void name_states(const fs::path& set, json& manifest) {
  const fs::path list = set / preprocessing_name / list_name;
  std::error_code ignored;
  if (!fs::exists(list, ignored))
    return;
  json states = json::parse(read_file(list)).at("states");
  for (json& one : states)
    one.erase("folder");
  manifest[preprocessing_name] = std::move(states);
}

void copy_states(const fs::path& from, const fs::path& to) {
  make_folder(to);
  std::error_code error;
  for (const fs::directory_entry& one : fs::directory_iterator(from, error)) {
    if (!one.is_directory(error))
      continue;
    const fs::path own = to / one.path().filename();
    make_folder(own);
    for (const char* name : {json_name, numbers_name})
      write_file(own / name, read_file(one.path() / name));
  }
  // Last, so that the list is complete wherever it is.
  write_file(to / list_name, read_file(from / list_name));
}

} // namespace ballast::data
