#include "data/augment/image_augment.hpp"
#include "data/base/content_hash.hpp"
#include "data/fitting/state_files.hpp"
#include "data/graph/graph_stream.hpp"
#include "data/prepared/cached_nodes.hpp"
#include "data/prepared/chunk_writer.hpp"
#include "data/prepared/fragment_pool.hpp"
#include "data/prepared/job_tables.hpp"
#include "data/prepared/placed_rows.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_folder.hpp"
#include "data/prepared/row_order.hpp"
#include "data/prepared/row_pipeline.hpp"
#include "data/prepared/set_identity.hpp"
#include "data/prepared/set_in_store.hpp"
#include "data/prepared/set_notes.hpp"
#include "data/prepared/set_rows.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/prepared/shared_rows.hpp"
#include "data/prepared/side_check.hpp"
#include "data/prepared/use_order.hpp"
#include "data/source/found_files.hpp"
#include "data/source/row_faults.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/balance/chunk_layout.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/ledger/epoch_uses.hpp"
#include "runtime/placement/row_lists.hpp"
#include "store/sync_path.hpp"
#include "store/unfinished.hpp"
#include "store/work_watch.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

/// The longest wait for another process that prepares the same set.
constexpr std::chrono::minutes wait_max{30};

std::vector<std::string> sources_of(const job& what, found_files& found) {
  std::vector<std::string> out =
      files_of(what.data.train, "/data/train", what.data, &found);
  if (what.data.test)
    for (std::string& path :
         files_of(*what.data.test, "/data/test", what.data, &found))
      out.push_back(std::move(path));
  return out;
}

/// Complete sets of the same rows, the one to make another of them first; none:
/// the sources are read.
using sets_of_rows = std::vector<std::shared_ptr<const prepared_set>>;

/// Names the rows of another set that has them in this order, or writes them.
std::vector<ledger::chunk_info>
make_part(data_part which, const part_rows& rows, const ledger::row_shape& row,
          const std::vector<std::span<const uint64_t>>& chunks,
          const row_order& order, const sets_of_rows& others,
          const write_options& how) {
  const fs::path path = how.folder / (to_string(which) + ".arrow");
  for (const auto& other : others)
    if (const auto its = read_order(other->folder());
        its && its->of(which) == order.of(which))
      if (auto out = share_rows({other, set_source::samples::not_needed}, which,
                                path, row, rows, chunks, how))
        return std::move(*out);
  return write_chunks(path, row, rows, chunks, how);
}

/// `about.row`: that of the set.
void write_set(const job& what, const job_tables& from, ledger::manifest about,
               const sets_of_rows& others, const write_options& how) {
  check_stop(how.stop);
  about.label = from.train.label;
  about.left_out = from.train.left_out;
  about.class_names = from.train.class_names;
  about.train_rows = from.train_rows.rows.size();
  about.test_rows = from.test_rows.rows.size();
  about.test_rows_trained_on = from.test_rows_trained_on;
  about.rejected = from.rejected;
  if (!from.quarantine.empty())
    write_small_file(how.folder / quarantine_name, from.quarantine);
  if (!from.states.empty())
    write_states(how.folder / preprocessing_name, from.states);
  std::vector<balance::chunk_layout> lists = place(what, from);
  const std::vector<double> weights = order_for_uses(what, from, lists);
  const std::vector<balance::chunk_layout> test{
      balance::cut_in_order(placement::all_rows(about.test_rows),
                            chunk_rows_of(what, about.test_rows))};
  const auto train_chunks = chunks_of(lists);
  const auto test_chunks = chunks_of(test);
  how.stop.expect(about.train_rows + about.test_rows);
  about.placement = chunks_by_worker(lists);
  about.order = ledger::order_for(what.train.sampling.kind);
  about.whole_chunks = !what.balance.group.empty();
  row_order order{order_of(from.train_rows, train_chunks),
                  order_of(from.test_rows, test_chunks),
                  {}};
  about.train = make_part(data_part::train, from.train_rows, about.row,
                          train_chunks, order, others, how);
  describe_weights(weights, train_chunks, about.train);
  if (failure none = ledger::epoch_uses::mistake(what.train.sampling, about))
    throw ballast_error(none);
  about.test = make_part(data_part::test, from.test_rows, about.row,
                         test_chunks, order, others, how);
  if (what.data.train.format == source_format::graph && !what.data.test)
    order.tested = from.test_rows.rows.listed();
  write_order(how.folder, order);
  write_manifest(how.folder, std::move(about),
                 sampling_of_set(what.train.sampling), from.train.columns);
}

uint64_t rows_memory(const prepare_options& options) {
  constexpr uint64_t part =
      4; // labels, placements and the page cache need some
  return options.rows_memory.value_or(available_memory_bytes() / part);
}

/// Removes a half-written folder on every exit.
struct folder_guard {
  fs::path path;
  store::unfinished made{path};
  ~folder_guard() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
};

void check_unchanged(const job& what, const json& identity,
                     prepare_cache& cache, const store::work_watch& stop) {
  if (const json now = set_identity(what, cache, stop); now != identity)
    throw ballast_error(errc::invalid_data,
                        changed_source(what, identity, now) +
                            ": changed while the data were prepared; try again "
                            "when it is complete",
                        "/data/train");
}

/// What is wrong with a file that somebody writes to meanwhile is that; of what
/// a server sends nobody can tell without reading it again.
job_tables read_tables(const job& what, const json& identity,
                       prepare_cache& cache, const write_options& how) {
  try {
    return job_tables(what, how);
  } catch (const ballast_error& error) {
    if (error.what_failed().code == errc::invalid_data &&
        !is_sent(what.data.train.format) &&
        std::ranges::none_of(what.data.sources, [](const auto& one) {
          return is_sent(one.second.format);
        }))
      check_unchanged(what, identity, cache, how.stop);
    throw;
  }
}

void tell_notes(const job_tables& from, const prepare_options& options) {
  for (const source_table* one :
       {&from.train, from.test ? &*from.test : nullptr})
    for (size_t i = 0; options.warn && one != nullptr && i < one->notes.size();
         ++i)
      options.warn(one->notes[i]);
  for (size_t i = 0; options.warn && i < from.notes.size(); ++i)
    options.warn(from.notes[i]);
}

/// Under the exclusive lock of `key`: prepares the set and moves it into place.
/// damaged_set: nothing is made.
void make_set(const job& what, const std::vector<std::string>& sources,
              const json& identity, const std::string& key,
              const sets_of_rows& same_rows, prepare_cache& cache,
              const prepare_options& options, found_files& found) {
  const fs::path making = cache.making_of(key);
  const fs::path place = cache.folder_of(key);
  folder_guard guard{making};
  std::error_code error;
  fs::remove_all(making, error);
  fs::remove_all(place, error); // exists only without its manifest
  fs::create_directory(making, error);
  if (error)
    refuse_write(making, error.value());
  fragment_pool files(what, cache, options.apart, rows_memory(options),
                      options.stop);
  const write_options how{making,       rows_memory(options),
                          options.stop, &files,
                          &found,       cached_nodes(what, cache, options)};
  ledger::manifest about;
  about.sources = sources;
  about.content_id = key;
  if (!same_rows.empty()) {
    const job_tables from(what, same_rows[0], how);
    about.row = from.train.row; // behind the pipeline
    if (const fs::path states = same_rows[0]->folder() / preprocessing_name;
        fs::exists(states))
      copy_states(states, making / preprocessing_name);
    write_set(what, from, std::move(about), same_rows, how);
  } else {
    const job_tables from = read_tables(what, identity, cache, how);
    about.row = from.train.row;
    apply_pipeline(what, about.row);
    const auto check = [&] {
      check_unchanged(what, identity, cache, options.stop);
    };
    std::optional<side_check> beside;
    if (found.any_remote())
      beside.emplace(check);
    write_set(what, from, std::move(about), {}, how);
    if (beside)
      beside->wait();
    else
      check();
    tell_notes(from, options);
  }
  store::sync_path(making);
  if (int fault = fault_point("cache.rename"))
    refuse_write(place, fault);
  fs::rename(making, place, error);
  if (error)
    refuse_write(place, error.value());
  store::sync_path(place.parent_path());
  files.set_is_made();
}

uintmax_t bytes_describing(const fs::path& folder) {
  std::error_code ignored;
  const uintmax_t samples = fs::file_size(folder / sample_table_name, ignored);
  return ignored ? fs::file_size(folder / "manifest.json", ignored) : samples;
}

/// Finds the set of a job in the cache, or prepares it.
class finder {
public:
  finder(const job& what, const fs::path& folder,
         const prepare_options& options, std::shared_ptr<found_files> found)
      : what_(what), options_(options), cache_(folder),
        found_(std::move(found)),
        identity_(set_identity(what, cache_, options.stop, found_.get())),
        sources_(sources_of(what, *found_)) {
    key_ = prepare_cache::key_of(identity_);
    rows_key_ = prepare_cache::key_of(rows_identity(identity_));
  }

  std::shared_ptr<prepared_set> find_or_make() {
    bool made = false;
    // Between the locks another process may prepare, evict or set aside the
    // set: look again.
    for (int round = 0; round < rounds_max; ++round) {
      take(store::file_lock::mode::shared);
      if (auto out = open_if_whole()) {
        if (made) {
          cache_.evict(cache_limit_bytes());
          if (options_.warn)
            for (const std::string& note : notes_of(what_, out->about()))
              options_.warn(note);
        }
        return out;
      }
      take(store::file_lock::mode::exclusive);
      if (is_there())
        continue; // another process prepared it meanwhile
      make();
      made = true;
    }
    throw ballast_error(errc::internal,
                        "the prepared set " + place().string() +
                            " vanishes as soon as it is made; is the cache "
                            "removed by another program?");
  }

  /// A set of changed sources cannot replace this one.
  void check_same_sources(const finder& later) const {
    if (later.key_ != key_)
      throw ballast_error(
          errc::invalid_data,
          changed_source(what_, identity_, later.identity_) +
              " changed since the run began, which cannot go on with other "
              "data; put the old one back and go on with --resume, or start "
              "another run");
  }

  /// Moves a damaged set away and warns.
  void set_aside(const std::string& why) {
    const fs::path aside = cache_.set_aside(key_, *lock_);
    if (options_.warn && !aside.empty())
      options_.warn(why + "; it is kept as " + aside.string() +
                    ", and the set is prepared again from its sources");
  }

private:
  static constexpr int rounds_max = 5;
  fs::path place() const { return cache_.folder_of(key_); }
  bool is_there() const { return fs::exists(place() / "manifest.json"); }

  /// The lock under the present name. A damaged set keeps its lock when it is
  /// set aside, and its users hold that one: they do not block a new set.
  void take(store::file_lock::mode as) {
    constexpr std::chrono::seconds slice{1};
    for (auto waited = slice; waited <= wait_max; waited += slice) {
      if (!lock_ || !lock_->is_at(cache_.lock_path_of(key_)))
        lock_ = std::make_shared<store::file_lock>(cache_.lock_of(key_));
      if (data::take(*lock_, as, slice, options_.stop) &&
          lock_->is_at(cache_.lock_path_of(key_)))
        return;
    }
    throw ballast_error(errc::run_dir_in_use,
                        "another process prepares " + place().string() +
                            " and does not end; end it, or point "
                            "$BALLAST_CACHE elsewhere");
  }

  /// Earlier builds judged columns by the first row alone, and silently left
  /// out a numeric one that began with text.
  void check_looked_at_all_rows(const ledger::manifest& about) const {
    if (what_.data.train.format == source_format::csv &&
        what_.data.train.features.empty() && !about.left_out)
      throw ballast_error(errc::invalid_data,
                          place().string() +
                              ": was prepared by an earlier build, which did "
                              "not look for text in every row");
  }

  /// Null if there is no complete set.
  std::shared_ptr<prepared_set> open_if_whole() {
    if (!is_there())
      return nullptr;
    try {
      auto out = open_held(place(), lock_, sources_);
      check_looked_at_all_rows(out->about());
      cache_.touch(key_);
      return out;
    } catch (const ballast_error& error) {
      set_aside(error.what());
      return nullptr;
    }
  }

  /// Other sets of the cache that have the same rows, first the one whose rows
  /// are described by the fewest bytes: those of another may be in no order.
  /// Each may be removed, or found damaged, at any moment before it is held.
  sets_of_rows find_same_rows() const {
    std::vector<std::pair<uintmax_t, std::shared_ptr<prepared_set>>> found;
    if (!set_has_all_columns(what_))
      return {};
    for (const std::string& key : cache_.sets_of_rows(rows_key_)) {
      const fs::path folder = cache_.folder_of(key);
      if (key == key_ || !fs::exists(folder / "manifest.json"))
        continue;
      auto lock = std::make_shared<store::file_lock>(cache_.lock_of(key));
      if (!data::take(*lock, store::file_lock::mode::shared) ||
          !fs::exists(folder / "manifest.json"))
        continue;
      try {
        found.emplace_back(bytes_describing(folder),
                           open_held(folder, lock, sources_));
      } catch (const ballast_error& error) {
        tell_damaged(error.what());
      }
    }
    std::stable_sort(
        found.begin(), found.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    sets_of_rows out;
    for (auto& [bytes, set] : found)
      out.push_back(std::move(set));
    return out;
  }

  void tell_damaged(const std::string& why) const {
    if (options_.warn)
      options_.warn(why + "; the sources are read instead");
  }

  void make_from(const sets_of_rows& same_rows) {
    make_set(what_, sources_, identity_, key_, same_rows, cache_, options_,
             *found_);
    if (rows_are_read(what_))
      cache_.note_rows(rows_key_, key_);
  }

  void make() {
    try {
      if (const sets_of_rows same_rows = find_same_rows(); !same_rows.empty()) {
        try {
          return make_from(same_rows);
        } catch (const damaged_set& damage) {
          tell_damaged(damage.what());
        }
      }
      make_from({});
    } catch (const std::bad_alloc&) {
      throw ballast_error(errc::device_failed,
                          "not enough memory to prepare the data; prepare it "
                          "on a larger machine, or take fewer rows");
    }
  }

  const job what_;
  const prepare_options options_;
  prepare_cache cache_;
  const std::shared_ptr<found_files> found_;
  const json identity_;
  const std::vector<std::string> sources_; // to find them may cost requests
  std::string key_;
  std::string rows_key_;
  std::shared_ptr<store::file_lock> lock_;
};

} // namespace

std::shared_ptr<prepared_set> prepare(const job& what,
                                      const fs::path& cache_folder,
                                      const prepare_options& options) {
  if (what.data.train.format == source_format::prepared) {
    auto stored = open_set_in_store(what, cache_folder, options);
    tell_of_uses(what, stored->about(), options.warn);
    return stored;
  }
  auto found = std::make_shared<found_files>();
  if (!what.data.graph.empty()) // those that nothing reads, too
    schemas_of_nodes(what.data, options.stop, found.get());
  auto first =
      std::make_shared<finder>(what, cache_folder, options, std::move(found));
  auto again = [first, what, cache_folder, options](const std::string& why) {
    finder second(what, cache_folder, options, std::make_shared<found_files>());
    first->check_same_sources(second);
    first->set_aside(why);
    return second.find_or_make();
  };
  const std::shared_ptr<prepared_set> out = first->find_or_make();
  tell_of_uses(what, out->about(), options.warn);
  // The set does not depend on it, but a run does.
  make_image_augment(what.data.augment, what.seed, out->about().row);
  return repairing_set(out, again);
}

} // namespace ballast::data
