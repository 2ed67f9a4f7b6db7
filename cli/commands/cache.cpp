/// `ballast cache list|clear [--json]`: the prepared data sets of this user on
/// this machine.
#include "data/prepared/kept_input.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string state_of(const data::prepare_cache::entry& one) {
  return one.whole()                                       ? "whole"
         : one.name == data::prepare_cache::fragments_name ? "fragments"
         : one.name.ends_with("tmp")                       ? "unfinished"
                                                           : "damaged";
}

std::string time_text(int64_t ns) {
  const time_t seconds = time_t(ns / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

json entry_json(const fs::path& folder, const data::prepare_cache::entry& one) {
  const fs::path manifest = folder / one.name / "manifest.json";
  json about;
  std::error_code ignored;
  if (fs::is_regular_file(manifest, ignored)) {
    std::ifstream in(manifest);
    about = json::parse(in, nullptr, false);
  }
  const bool unreadable = one.whole() && !about.is_object();
  if (!about.is_object())
    about = json::object();
  auto field = [&about](const char* key) {
    return about.contains(key) ? about[key] : json();
  };
  return {{"entry", one.name},
          {"state", unreadable ? "damaged" : state_of(one)},
          {"sources", about.value("sources", json::array())},
          {"node", field("node")},
          {"train_rows",
           about.contains("node") ? field("rows") : field("train_rows")},
          {"test_rows", field("test_rows")},
          {"bytes", one.bytes},
          {"last_used", time_text(one.used_ns)},
          {"in_use", one.in_use}};
}

void print(const json& one) {
  std::string sources;
  for (const json& path : one["sources"])
    if (path.is_string())
      sources +=
          (sources.empty() ? "" : " + ") + printable(path.get<std::string>());
  if (one["node"].is_string())
    sources = "node '" + printable(one["node"].get<std::string>()) + "' of " +
              sources;
  else if (sources.empty() && one["state"] == "whole")
    sources = "synthetic";
  else if (one["state"] == "damaged")
    sources = "damaged: `ballast cache clear` removes it";
  const std::string rows =
      one["train_rows"].is_number() ? json_text(one["train_rows"]) : "-";
  std::printf("%-28s %10s rows %9.1f MB  %s  %s%s\n",
              one["entry"].get<std::string>().c_str(), rows.c_str(),
              one["bytes"].get<double>() / 1e6,
              one["last_used"].get<std::string>().c_str(),
              one["in_use"].get<bool>() ? "in use  " : "", sources.c_str());
}

json listed(const fs::path& folder,
            const std::vector<data::prepare_cache::entry>& entries) {
  json out = json::array();
  for (const data::prepare_cache::entry& one : entries)
    out.push_back(entry_json(folder, one));
  return out;
}

uint64_t bytes_of(const std::vector<data::prepare_cache::entry>& entries) {
  uint64_t out = 0;
  for (const data::prepare_cache::entry& one : entries)
    out += one.bytes;
  return out;
}

json inputs_json(const std::vector<data::kept_input>& kept) {
  uint64_t bytes = 0;
  for (const data::kept_input& one : kept)
    bytes += one.bytes;
  return {{"files", kept.size()}, {"bytes", bytes}};
}

void print_inputs(const json& kept, const char* what) {
  if (kept["files"] != 0)
    std::printf("input/: %s %s from standard input, %.1f MB\n", what,
                json_text(kept["files"]).c_str(),
                kept["bytes"].get<double>() / 1e6);
}

void list(const fs::path& folder,
          const std::vector<data::prepare_cache::entry>& entries,
          bool as_json) {
  const json all = listed(folder, entries);
  const json inputs = inputs_json(data::kept_inputs(folder));
  if (as_json) {
    std::cout << json_lines_text(
                     json{{"folder", folder.string()},
                          {"bytes", bytes_of(entries)},
                          {"limit_bytes", data::cache_limit_bytes()},
                          {"inputs", inputs},
                          {"entries", all}})
              << "\n";
    return;
  }
  for (const json& one : all)
    print(one);
  print_inputs(inputs, "files");
  std::printf("%s: %zu entries, %.1f MB of %.0f MB\n",
              printable(folder.string()).c_str(), entries.size(),
              double(bytes_of(entries)) / 1e6,
              double(data::cache_limit_bytes()) / 1e6);
}

void clear(const fs::path& folder, bool as_json) {
  std::vector<data::prepare_cache::entry> before;
  std::vector<data::prepare_cache::entry> kept;
  std::error_code none;
  if (fs::exists(folder, none)) {
    const data::prepare_cache cache(folder);
    before = cache.entries();
    kept = cache.clear();
  }
  const json inputs = inputs_json(data::forget_inputs(folder));
  const json still = listed(folder, kept);
  const uint64_t freed =
      bytes_of(before) - std::min(bytes_of(before), bytes_of(kept));
  if (as_json) {
    std::cout << json_lines_text(json{{"folder", folder.string()},
                                      {"removed", before.size() - kept.size()},
                                      {"freed_bytes", freed},
                                      {"inputs", inputs},
                                      {"kept", still}})
              << "\n";
    return;
  }
  for (const json& one : still)
    print(one);
  print_inputs(inputs, "removed");
  std::printf("%s: removed %zu entries, %.1f MB; kept %zu that are in use\n",
              printable(folder.string()).c_str(), before.size() - kept.size(),
              double(freed) / 1e6, kept.size());
}

} // namespace

} // namespace ballast::cli

extern "C" __attribute__((visibility("default"))) int
ballast_cache_main(int argc, char** argv) {
  using namespace ballast;
  bool as_json = false;
  CLI::App app{"Prepared data sets of this user, in $BALLAST_CACHE or "
               "~/.cache/ballast",
               "ballast cache"};
  app.require_subcommand(1);
  auto* listing = app.add_subcommand("list", "What is there, oldest use first");
  auto* clearing =
      app.add_subcommand("clear", "Remove all but what living processes use");
  for (CLI::App* command : {listing, clearing})
    command->add_flag("--json", as_json, "As JSON");
  try {
    app.parse(argc, argv);
    data::cache_limit_bytes(); // reports a mistake in it before anything is
                               // removed
    const std::filesystem::path folder = data::default_cache_folder();
    if (clearing->parsed())
      cli::clear(folder, as_json);
    else if (std::filesystem::exists(folder))
      cli::list(folder, data::prepare_cache(folder).entries(), as_json);
    else
      cli::list(folder, {}, as_json);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const ballast_error& error) {
    std::fprintf(stderr, "ballast: %s\n", error.what());
    return describe(error.what_failed().code).exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ballast: %s\n", error.what());
    return 1;
  }
}
