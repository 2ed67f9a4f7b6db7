#include "data/chunk_writer.hpp"
#include "data/content_hash.hpp"
#include "data/prepare_cache.hpp"
#include "data/prepared_folder.hpp"
#include "data/source_file.hpp"
#include "data/test_split.hpp"
#include "runtime/placement.hpp"
#include "runtime/row_cells.hpp"
#include "runtime/target_bins.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

namespace ballast {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

/// Changes when prepared sets of older builds must not be used any more.
constexpr int format_of_sets = 2;
/// For another process that prepares the same set.
constexpr std::chrono::minutes wait_max{30};

label_kind label_of(const job& what) {
  return what.train.loss == "mse"          ? label_kind::target
         : what.train.loss == "next_token" ? label_kind::none
                                           : label_kind::number_of_class;
}

bool is_regression(const job& what) {
  return label_of(what) == label_kind::target;
}

/// What decides the content of one source, beside the seed.
json identity_of(const source_spec& spec, const std::string& pointer,
                 prepare_cache& cache) {
  if (spec.format == "synthetic")
    return {
        {"rows", spec.rows}, {"classes", spec.classes}, {"width", spec.width}};
  json files = json::array();
  for (const std::string& path : files_of(spec, pointer)) {
    const char* field = spec.format != "idx" ? "/uri"
                        : files.empty()      ? "/images"
                                             : "/labels";
    files.push_back(cache.hash_of(path, pointer + field));
  }
  return {{"format", spec.format},
          {"files", std::move(files)},
          {"label", spec.label},
          {"features", spec.features}};
}

/// The kind of placement and every field that goes with it.
void add_placement(const job& what, json& identity) {
  const json placement = to_json(what)["data"]["placement"];
  for (const auto& [field, value] : placement.items())
    identity[field == "kind" ? "placement" : field] = value;
  // These came later: sets that were made without them keep their name.
  if (what.data.placement.min_rows == 1)
    identity.erase("min_rows");
  if (!what.data.placement.balanced)
    identity.erase("balanced");
}

/// All that decides the content of a prepared set and nothing else, so that
/// another model or learning rate finds it again.
json identity_of(const job& what, prepare_cache& cache) {
  const data_spec& data = what.data;
  json out{{"format", format_of_sets},
           {"regression", is_regression(what)},
           {"train", identity_of(data.train, "/data/train", cache)},
           {"chunk_rows", data.chunk_rows},
           {"workers", what.elastic.workers}};
  add_placement(what, out);
  if (data.test)
    out["test"] = identity_of(*data.test, "/data/test", cache);
  else
    out["test_fraction"] = data.test_fraction;
  if (is_regression(what))
    out["target_bins"] = target_bins_max;
  if (label_of(what) == label_kind::none) {
    out["tokens"] = true;
    out["cells"] = row_cells_max;
  }
  for (const pipeline_step& step : data.pipeline)
    out["pipeline"].push_back(step.op == "reshape"
                                  ? json{step.op, step.shape}
                                  : json{step.op, step.factor});
  const bool ordered =
      data.placement.kind == "contiguous" || data.placement.kind == "sizes" ||
      data.placement.kind == "sorted" || data.placement.kind == "column";
  const bool split = !data.test && data.test_fraction > 0;
  const bool synthetic = data.train.format == "synthetic" ||
                         (data.test && data.test->format == "synthetic");
  if (!ordered || split || synthetic)
    out["seed"] = what.seed;
  return out;
}

void reshape(const std::vector<uint32_t>& shape, const std::string& pointer,
             row_shape& row) {
  uint64_t values = 1;
  std::string text;
  for (uint32_t length : shape) {
    values = std::min<uint64_t>(values * length, UINT32_MAX); // no overflow
    text += (text.empty() ? "" : " x ") + std::to_string(length);
  }
  if (values != row.features)
    throw ballast_error(errc::invalid_job,
                        "a row of this data set has " +
                            std::to_string(row.features) +
                            " values, which is not " + text +
                            "; expected a shape that holds all of them",
                        pointer);
  row.shape = shape;
}

/// Steps without randomness are folded into scale, offset and shape: a pixel
/// stays a byte.
void apply_pipeline(const job& what, row_shape& row) {
  for (size_t i = 0; i < what.data.pipeline.size(); ++i) {
    const pipeline_step& step = what.data.pipeline[i];
    const std::string pointer = "/data/pipeline/" + std::to_string(i);
    if (step.op == "reshape") {
      reshape(step.shape, pointer + "/shape", row);
      continue;
    }
    if (step.op != "scale")
      throw ballast_error(errc::not_in_build,
                          "pipeline step '" + step.op +
                              "' is not in this build; use scale or reshape",
                          pointer + "/op");
    row.scale *= step.factor;
    row.offset *= step.factor;
  }
}

std::vector<uint64_t> all_of(uint64_t rows) {
  std::vector<uint64_t> out(rows);
  std::iota(out.begin(), out.end(), uint64_t{0});
  return out;
}

std::array<float, token_profile_size> profile_of(const source_table& table,
                                                 uint64_t row) {
  std::vector<float> tokens(table.row.features);
  row_values(table, row, tokens);
  std::array<float, token_profile_size> out{};
  token_profile(tokens, out);
  return out;
}

/// Cells of the rows to train on.
row_cells token_cells(const source_table& table,
                      const std::vector<uint64_t>& rows) {
  const size_t taken = std::min(rows.size(), rows_looked_at_max);
  std::vector<float> points;
  for (size_t i = 0; i < taken; ++i) {
    const auto point = profile_of(table, rows[i * rows.size() / taken]);
    points.insert(points.end(), point.begin(), point.end());
  }
  return row_cells(points, token_profile_size);
}

void put_into_cells(const row_cells& cells, source_table& table) {
  for (uint64_t row = 0; row < table.rows; ++row)
    table.target_bins.push_back(cells.of(profile_of(table, row)));
}

/// The sources of a job, read and split.
struct tables {
  source_table train;
  std::optional<source_table> test;
  part_rows train_rows;
  part_rows test_rows;

  explicit tables(const job& what) {
    source_request request;
    request.label = label_of(what);
    request.seed = what.seed;
    train = read_source(what.data.train, request);
    train_rows.table = test_rows.table = &train;
    if (what.data.test) {
      request.test = true;
      request.pointer = "/data/test";
      request.like = &train;
      test = read_source(*what.data.test, request);
      const std::string stored = wider_type(train.row.stored, test->row.stored);
      widen(train, stored);
      widen(*test, stored);
      test_rows = {&*test, all_of(test->rows)};
    } else {
      test_rows.table_rows =
          choose_test_rows(train.labels, train.row.classes, train.rows,
                           what.data.test_fraction, what.seed);
    }
    train_rows.table_rows =
        what.data.test ? all_of(train.rows)
                       : rows_without(train.rows, test_rows.table_rows);
    if (request.label == label_kind::target)
      choose_bins();
    if (request.label == label_kind::none)
      choose_cells();
    // Unlike a class, a token may be met in the test set for the first time.
    if (test)
      train.row.vocabulary =
          std::max(train.row.vocabulary, test->row.vocabulary);
  }
  tables(const tables&) = delete;

private:
  /// By the targets to train on; those of the test set take the same bins.
  void choose_bins() {
    std::vector<float> targets;
    for (uint64_t row : train_rows.table_rows)
      targets.push_back(train.targets[row]);
    const std::vector<float> edges = bin_edges(std::move(targets));
    train.row.target_bins = uint32_t(edges.size() + 1);
    for (float target : train.targets)
      train.target_bins.push_back(bin_of(target, edges));
    for (float target : test ? test->targets : std::vector<float>{})
      test->target_bins.push_back(bin_of(target, edges));
  }

  void choose_cells() {
    const row_cells cells = token_cells(train, train_rows.table_rows);
    train.row.target_bins = cells.count();
    put_into_cells(cells, train);
    if (test)
      put_into_cells(cells, *test);
  }
};

std::vector<std::vector<uint64_t>> place(const job& what, const tables& from) {
  const std::vector<uint64_t>& rows = from.train_rows.table_rows;
  std::vector<int32_t> labels;
  for (uint64_t row : rows)
    labels.push_back(from.train.histogram_bin()[row]);
  const placement_spec& spec = what.data.placement;
  std::vector<double> column;
  if (!spec.column.empty()) {
    const std::vector<double> all =
        column_values(from.train, spec.column, "/data/placement/column");
    for (uint64_t row : rows)
      column.push_back(all[row]);
  }
  const placement_rows of{rows.size(), labels, histogram_bins(from.train.row),
                          column};
  if (failure mistake = placement_mistake(spec, of, what.elastic.workers))
    throw ballast_error(mistake);
  return place_rows(spec, of, what.elastic.workers, what.seed);
}

/// Chunks are numbered worker after worker, so each has a run of them.
std::vector<std::vector<chunk_id>>
chunks_by_worker(const std::vector<std::vector<uint64_t>>& groups,
                 uint32_t chunk_rows) {
  std::vector<std::vector<chunk_id>> out;
  uint32_t next_id = 0;
  for (const std::vector<uint64_t>& group : groups) {
    std::vector<chunk_id>& chunks = out.emplace_back();
    for (size_t at = 0; at < group.size(); at += chunk_rows)
      chunks.push_back(chunk_id(next_id++));
  }
  return out;
}

void write_set(const job& what, const std::string& key,
               const fs::path& folder) {
  const tables from(what);
  manifest about;
  about.content_id = key;
  about.label = from.train.label;
  about.row = from.train.row;
  apply_pipeline(what, about.row);
  about.train_rows = from.train_rows.table_rows.size();
  about.test_rows = from.test_rows.table_rows.size();
  const uint32_t chunk_rows = what.data.chunk_rows;
  const std::vector<std::vector<uint64_t>> groups = place(what, from);
  about.placement = chunks_by_worker(groups, chunk_rows);
  about.train = write_chunks(folder / "train.arrow", about.row, from.train_rows,
                             cut_chunks(groups, chunk_rows));
  const std::vector<std::vector<uint64_t>> test{all_of(about.test_rows)};
  about.test = write_chunks(folder / "test.arrow", about.row, from.test_rows,
                            cut_chunks(test, chunk_rows));
  write_small_file(folder / "manifest.json", json(about).dump());
}

/// Removes a half-written folder whatever happens.
struct folder_guard {
  fs::path path;
  ~folder_guard() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
};

/// Under the exclusive lock of `key`: makes the set and moves it into place.
void make_set(const job& what, const json& identity, const std::string& key,
              prepare_cache& cache) {
  const fs::path making = cache.making_of(key);
  const fs::path place = cache.folder_of(key);
  folder_guard guard{making};
  std::error_code error;
  fs::remove_all(making, error);
  fs::remove_all(place, error); // there only if damaged
  fs::create_directory(making, error);
  if (error)
    throw ballast_error(errc::run_dir_unusable,
                        "cannot write " + making.string() + ": " +
                            error.message() +
                            "; make the cache folder writable or point "
                            "$BALLAST_CACHE elsewhere");
  write_set(what, key, making);
  if (identity_of(what, cache) != identity)
    throw ballast_error(errc::invalid_data,
                        "a source changed while it was prepared; try again "
                        "when it is complete",
                        "/data/train");
  sync_path(making);
  fs::rename(making, place, error);
  if (error)
    throw ballast_error(errc::run_dir_unusable, "cannot write " +
                                                    place.string() + ": " +
                                                    error.message());
  sync_path(place.parent_path());
}

std::vector<std::string> sources_of(const job& what) {
  std::vector<std::string> out = files_of(what.data.train, "/data/train");
  if (what.data.test)
    for (std::string& path : files_of(*what.data.test, "/data/test"))
      out.push_back(std::move(path));
  return out;
}

/// Null where there is no whole set.
std::shared_ptr<prepared_set> open_if_whole(const job& what,
                                            const std::string& key,
                                            const prepare_cache& cache,
                                            file_lock& lock) {
  const fs::path folder = cache.folder_of(key);
  if (!fs::exists(folder / "manifest.json"))
    return nullptr;
  try {
    auto out = open_held(folder, lock, sources_of(what));
    cache.touch(key);
    return out;
  } catch (const ballast_error&) {
    return nullptr; // damaged: made again
  }
}

} // namespace

std::shared_ptr<prepared_set> prepare(const job& what,
                                      const fs::path& cache_folder) {
  prepare_cache cache(cache_folder);
  const json identity = identity_of(what, cache);
  content_hash hash;
  hash.update(identity.dump());
  const std::string key = hex16(hash.digest());
  file_lock lock = cache.lock_of(key);
  auto locked = [&](file_lock::mode as) {
    if (!lock.take(as, wait_max))
      throw ballast_error(errc::run_dir_in_use,
                          "another process prepares " +
                              cache.folder_of(key).string() +
                              " and does not end; end it, or point "
                              "$BALLAST_CACHE elsewhere");
  };
  bool made = false;
  // Between the locks another process may make or evict the set: look again.
  for (int round = 0; round < 3; ++round) {
    locked(file_lock::mode::shared);
    if (auto out = open_if_whole(what, key, cache, lock)) {
      if (made)
        cache.evict(cache_limit_bytes());
      return out;
    }
    locked(file_lock::mode::exclusive);
    if (fs::exists(cache.folder_of(key) / "manifest.json") && round == 0)
      continue; // made by another meanwhile, or damaged: then round 1 tells
    try {
      make_set(what, identity, key, cache);
    } catch (const std::bad_alloc&) {
      throw ballast_error(errc::device_failed,
                          "not enough memory to prepare the data; prepare it "
                          "on a larger machine, or take fewer rows");
    }
    made = true;
  }
  throw ballast_error(errc::internal,
                      "the prepared set " + cache.folder_of(key).string() +
                          " vanishes as soon as it is made; is the cache "
                          "removed by another program?");
}

} // namespace ballast
