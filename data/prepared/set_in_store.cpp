#include "data/prepared/set_in_store.hpp"

#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_folder.hpp"
#include "data/prepared/set_identity.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/store/stored_set.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr std::chrono::minutes longest_wait{5};

class set_in_store final : public prepared_set {
public:
  set_in_store(const std::string& uri, fs::path tables, ledger::manifest about,
               std::shared_ptr<store::file_lock> in_use)
      : tables_(std::move(tables)), in_use_(std::move(in_use)),
        about_(std::move(about)), files_(open_stored_chunks(uri, about_)) {}

  const ledger::manifest& about() const override { return about_; }
  fs::path folder() const override { return tables_; }
  chunk_ptr read(data_part part, chunk_id id) const override {
    return files_->read(part, id);
  }

private:
  const fs::path tables_;
  const std::shared_ptr<store::file_lock> in_use_;
  const ledger::manifest about_;
  const std::unique_ptr<chunk_files> files_;
};

[[noreturn]] void refuse(const job& what, const std::string& why,
                         const char* pointer) {
  throw ballast_error(errc::invalid_job,
                      pointer + std::string(": the prepared set ") +
                          printable(what.data.train.uri) + " " + why,
                      pointer);
}

void check_fits(const job& what, const ledger::manifest& about) {
  const size_t workers = about.placement.size();
  // Of order global whoever holds a chunk trains on rows of all.
  if (what.train.order == sample_order::local &&
      workers != what.elastic.workers)
    refuse(what,
           "is placed on " + std::to_string(workers) + " workers, not " +
               std::to_string(what.elastic.workers) +
               "; start with as many (others may join later), or prepare it "
               "for this number",
           "/elastic/workers");
  const bool tokens = about.row.vocabulary > 0;
  const bool targets = about.row.classes == 0;
  const label_kind wanted = label_of(what);
  const char* has = tokens ? "rows of tokens" : targets ? "numbers" : "classes";
  if (tokens != (wanted == label_kind::none) ||
      (!tokens && targets != (wanted == label_kind::target)))
    refuse(what,
           std::string("has ") + has + ", which are not what the loss \"" +
               to_string(what.train.loss) + "\" is of",
           "/train/loss");
}

[[noreturn]] void refuse_sampling(const job& what, const std::string& field,
                                  const std::string& why) {
  refuse(what, why, ("/train/sampling/" + field).c_str());
}

/// `recorded`: what the set was prepared with; null: it does not say.
void check_sampling(const job& what, const json& recorded,
                    const ledger::manifest& about) {
  const json wanted = sampling_of_set(what.train.sampling);
  if (wanted.is_null())
    return; // any rows in any order serve it
  if (recorded.is_null() && about.order == ledger::row_layout::any)
    refuse_sampling(
        what, "kind",
        "was prepared without /train/sampling, so that its rows lie "
        "in another order; leave it out here, or prepare the set "
        "again with what is said here");
  if (recorded.is_null()) {
    // Rows lie by class without weights for this alone.
    const bool weighs =
        std::any_of(about.train.begin(), about.train.end(),
                    [](const auto& one) { return !one.weights.empty(); });
    if (what.train.sampling.kind == sampling_kind::stratified && !weighs &&
        about.order == ledger::row_layout::by_class)
      return;
    refuse_sampling(what, "kind",
                    "was prepared by an earlier build, and does not say for "
                    "which sampling its weights and the order of its rows are; "
                    "prepare it again, or leave /train/sampling out");
  }
  for (const char* field :
       {"kind", "column", "beta", "values", "proportion", "repeat", "choose"})
    if (recorded.value(field, json()) != wanted.value(field, json()))
      refuse_sampling(what, field,
                      "was prepared with the sampling " + json_text(recorded) +
                          ", not " + json_text(wanted) +
                          "; say the same here, leave /train/sampling out, or "
                          "prepare the set again with what is said here");
}

/// Of what is wrong with the copy of a set: with the set, and what to do there.
std::string words_for(std::string why, const fs::path& copy,
                      const std::string& uri) {
  const std::string here = copy.string();
  for (size_t at = why.find(here); at != std::string::npos;
       at = why.find(here, at + uri.size()))
    why.replace(at, here.size(), uri);
  // Which is what is done to a set of this machine.
  const std::string remedy = ": prepare the set again";
  if (why.ends_with(remedy))
    why.resize(why.size() - remedy.size());
  return "there is no prepared set that can be used: " + why +
         "; remove what lies there, and write it again with `ballast data "
         "prepare JOB --to URI`";
}

/// Copies what describes the set to a folder, which appears once it is whole.
void fetch_tables(const std::string& uri, const std::string& manifest,
                  const prepare_cache& cache, const std::string& key,
                  const store::work_watch& stop) {
  const fs::path making = cache.making_of(key);
  std::error_code error;
  fs::remove_all(making, error);
  fs::create_directory(making, error);
  if (error)
    refuse_write(making, error.value());
  try {
    fetch_stored_tables(uri, making, stop);
    write_small_file(making / "manifest.json", manifest);
    ledger::manifest about = read_manifest(making);
    read_samples(making, about);
  } catch (const ballast_error& failed) {
    fs::remove_all(making, error);
    if (failed.what_failed().code != errc::invalid_data)
      throw;
    throw ballast_error(
        errc::invalid_data,
        printable(uri) + ": " +
            words_for(failed.what_failed().message, making, printable(uri)),
        "/data/train/uri");
  }
  fs::rename(making, cache.folder_of(key), error);
  if (error)
    refuse_write(cache.folder_of(key), error.value());
}

/// The lock of the folder with the tables, shared.
std::shared_ptr<store::file_lock> tables_here(const std::string& uri,
                                              const std::string& manifest,
                                              const prepare_cache& cache,
                                              const std::string& key,
                                              const store::work_watch& stop) {
  auto lock = std::make_shared<store::file_lock>(cache.lock_of(key));
  const auto lock_as = [&](store::file_lock::mode as) {
    if (!take(*lock, as, longest_wait, stop))
      throw ballast_error(errc::run_dir_in_use,
                          "another process works on " +
                              cache.folder_of(key).string() +
                              " and does not end; end it");
  };
  const fs::path whole = cache.folder_of(key) / "manifest.json";
  for (;;) {
    lock_as(store::file_lock::mode::shared);
    if (fs::exists(whole))
      return lock;
    lock_as(store::file_lock::mode::exclusive);
    if (!fs::exists(whole))
      fetch_tables(uri, manifest, cache, key, stop);
  }
}

} // namespace

std::shared_ptr<prepared_set>
open_set_in_store(const job& what, const fs::path& cache_folder,
                  const prepare_options& options) {
  const std::string& uri = what.data.train.uri;
  const std::string manifest = manifest_of_stored(uri);
  const prepare_cache cache(cache_folder);
  const std::string key =
      prepare_cache::key_of({{"stored_set", manifest}, {"uri", uri}});
  const auto lock = tables_here(uri, manifest, cache, key, options.stop);
  ledger::manifest about;
  try {
    about = read_manifest(cache.folder_of(key));
  } catch (const ballast_error& damaged) {
    cache.set_aside(key, *lock);
    throw ballast_error(damaged.what_failed().code,
                        damaged.what_failed().message +
                            "; it is a copy, and fetched anew the next time: "
                            "start again",
                        damaged.what_failed().pointer);
  }
  check_fits(what, about);
  check_sampling(what, json::parse(manifest).value(sampling_key, json()),
                 about);
  cache.touch(key);
  return std::make_shared<set_in_store>(uri, cache.folder_of(key),
                                        std::move(about), lock);
}

} // namespace ballast::data
