#include "data/prepared/cached_nodes.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "data/graph/graph_sources.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/timed_stream.hpp"
#include "data/prepared/set_identity.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/sync_path.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr const char* rows_name = "rows.arrow";
constexpr const char* manifest_name = "manifest.json";

/// The checksum of all bytes that pass.
class hashed_output final : public arrow::io::OutputStream {
public:
  explicit hashed_output(std::shared_ptr<arrow::io::OutputStream> to)
      : to_(std::move(to)) {}
  arrow::Status Close() override { return to_->Close(); }
  bool closed() const override { return to_->closed(); }
  arrow::Result<int64_t> Tell() const override { return to_->Tell(); }
  arrow::Status Write(const void* data, int64_t bytes) override {
    hash_.update(data, size_t(bytes));
    bytes_ += uint64_t(bytes);
    return to_->Write(data, bytes);
  }
  using arrow::io::OutputStream::Write;
  std::string checksum() const { return hex16(hash_.digest()); }
  uint64_t bytes() const { return bytes_; }

private:
  const std::shared_ptr<arrow::io::OutputStream> to_;
  content_hash hash_;
  uint64_t bytes_ = 0;
};

std::string checksum_of_file(const fs::path& path,
                             const store::work_watch& stop) {
  content_hash hash;
  std::ifstream in(path, std::ios::binary);
  std::vector<char> block(size_t{1} << 20);
  while (in) {
    store::check_stop(stop);
    in.read(block.data(), std::streamsize(block.size()));
    hash.update(block.data(), size_t(in.gcount()));
  }
  return hex16(hash.digest());
}

std::string checksum_of(json about) {
  about.erase("checksum");
  const std::string text = json_text(about);
  content_hash hash;
  hash.update(text);
  return hex16(hash.digest());
}

/// Rows that are there, of which only the columns that are wanted are read.
class found_rows final : public operator_stream {
public:
  found_rows(const fs::path& path, std::shared_ptr<store::file_lock> in_use,
             const operator_context& how)
      : operator_stream(how), path_(path.string()), in_use_(std::move(in_use)) {
    set_schema(open(arrow::ipc::IpcReadOptions::Defaults())->schema());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    arrow::ipc::IpcReadOptions how = arrow::ipc::IpcReadOptions::Defaults();
    how.included_fields = columns;
    std::sort(how.included_fields.begin(), how.included_fields.end());
    for (int column : columns)
      places_.push_back(
          int(std::lower_bound(how.included_fields.begin(),
                               how.included_fields.end(), column) -
              how.included_fields.begin()));
    file_ = open(how);
  }
  std::shared_ptr<arrow::RecordBatch> produce() override {
    if (next_ == file_->num_record_batches())
      return nullptr;
    const auto rows =
        take_arrow(file_->ReadRecordBatch(next_++), errc::invalid_data, path_);
    return take_arrow(rows->SelectColumns(places_), errc::internal, path_);
  }

private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader>
  open(const arrow::ipc::IpcReadOptions& how) const {
    const auto in = take_arrow(arrow::io::ReadableFile::Open(path_),
                               errc::invalid_data, path_);
    return take_arrow(arrow::ipc::RecordBatchFileReader::Open(in, how),
                      errc::invalid_data, path_);
  }

  const std::string path_;
  const std::shared_ptr<store::file_lock> in_use_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  std::vector<int> places_; // of the columns that are wanted in a batch
  int next_ = 0;
};

/// The folder that becomes an entry of the cache, and goes if it does not.
class new_entry {
public:
  struct made {
    std::string checksum;
    uint64_t bytes = 0;
  };

  new_entry(const prepare_cache& cache, std::string key,
            std::shared_ptr<store::file_lock> held,
            const std::shared_ptr<arrow::Schema>& schema)
      : making_(cache.making_of(key)), place_(cache.folder_of(key)),
        held_(std::move(held)) {
    std::error_code error;
    fs::remove_all(making_, error);
    fs::remove_all(place_, error); // exists only without its manifest
    fs::create_directory(making_, error);
    if (error)
      refuse_write(making_, error.value());
    const std::string path = (making_ / rows_name).string();
    out_ = std::make_shared<hashed_output>(take_arrow(
        arrow::io::FileOutputStream::Open(path), errc::run_dir_unusable, path));
    writer_ = take_arrow(arrow::ipc::MakeFileWriter(out_, schema),
                         errc::run_dir_unusable, path);
  }
  new_entry(const new_entry&) = delete;
  ~new_entry() {
    std::error_code ignored;
    if (!published_)
      fs::remove_all(making_, ignored);
  }

  void write(const arrow::RecordBatch& rows) {
    if (int fault = fault_point("cache.write"))
      refuse_write(making_ / rows_name, fault);
    check_arrow(writer_->WriteRecordBatch(rows), errc::run_dir_unusable,
                (making_ / rows_name).string());
    rows_ += uint64_t(rows.num_rows());
  }
  uint64_t bytes() const { return out_->bytes(); }
  void publish(json about) {
    const std::string path = (making_ / rows_name).string();
    check_arrow(writer_->Close(), errc::run_dir_unusable, path);
    check_arrow(out_->Close(), errc::run_dir_unusable, path);
    store::sync_path(making_ / rows_name);
    about["rows"] = rows_;
    about["rows_checksum"] = out_->checksum();
    about["checksum"] = checksum_of(about);
    write_small_file(making_ / manifest_name, json_text(about));
    store::sync_path(making_);
    std::error_code error;
    if (int fault = fault_point("cache.rename"))
      refuse_write(place_, fault);
    fs::rename(making_, place_, error);
    if (error)
      refuse_write(place_, error.value());
    store::sync_path(place_.parent_path());
    published_ = true;
  }

private:
  const fs::path making_;
  const fs::path place_;
  const std::shared_ptr<store::file_lock> held_; // exclusive
  std::shared_ptr<hashed_output> out_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
  uint64_t rows_ = 0;
  bool published_ = false;
};

/// The rows of a node, written on their way to whoever reads them.
class passing_rows final : public operator_stream {
public:
  struct terms {
    std::function<std::unique_ptr<new_entry>(
        const std::shared_ptr<arrow::Schema>&)>
        make;
    /// Once all rows have passed.
    std::function<void(new_entry&)> complete;
    std::function<void(const std::string&)> warn;
    uint64_t bytes_max = 0;
  };

  passing_rows(stream_pointer from, terms how, const operator_context& context)
      : operator_stream(context), how_(std::move(how)),
        from_(std::move(from), context) {
    set_schema(from_.schema());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    columns_ = columns;
    std::vector<int> all(size_t(from_.schema()->num_fields()));
    std::iota(all.begin(), all.end(), 0);
    from_.choose(all);
    or_without([this] { entry_ = how_.make(from_.schema()); });
  }
  std::shared_ptr<arrow::RecordBatch> produce() override {
    const std::shared_ptr<arrow::RecordBatch> rows = from_.next();
    or_without([&] {
      if (entry_ != nullptr && rows != nullptr)
        write(*rows);
      else if (entry_ != nullptr)
        how_.complete(*std::exchange(entry_, nullptr));
    });
    return rows == nullptr ? nullptr
                           : take_arrow(rows->SelectColumns(columns_),
                                        errc::internal, context().name);
  }

private:
  void write(const arrow::RecordBatch& rows) {
    entry_->write(rows);
    if (entry_->bytes() <= how_.bytes_max)
      return;
    entry_.reset();
    how_.warn("more bytes than the limit of the cache, " +
              std::to_string(how_.bytes_max));
  }
  /// A disk that takes no rows keeps nobody from using them.
  template <class Work>
  void or_without(Work work) {
    try {
      work();
    } catch (const ballast_error& error) {
      if (error.what_failed().code == errc::stopped)
        throw;
      entry_.reset();
      how_.warn(error.what());
    }
  }

  const terms how_;
  operator_input from_;
  std::vector<int> columns_; // that are wanted
  std::unique_ptr<new_entry> entry_;
};

class nodes_in_cache final : public node_cache {
public:
  nodes_in_cache(const job& what, prepare_cache& cache,
                 const prepare_options& options)
      : what_(what), cache_(cache), stop_(options.stop), warn_(options.warn) {}

  stream_pointer find(size_t node, row_origins& origins,
                      const operator_context& how) override {
    const std::string key = prepare_cache::key_of(identity(node));
    const fs::path place = cache_.folder_of(key);
    if (!fs::exists(place / manifest_name))
      return nullptr;
    auto lock = std::make_shared<store::file_lock>(cache_.lock_of(key));
    if (!take(*lock, store::file_lock::mode::shared) ||
        !fs::exists(place / manifest_name))
      return nullptr;
    try {
      const json about = verified(place);
      auto out = std::make_unique<found_rows>(place / rows_name, lock, how);
      for (const json& file : about.at("files"))
        origins.opened(file.at(0).get<uint64_t>() / rows_of_source_max,
                       file.at(1).get<std::string>(),
                       file.at(0).get<uint64_t>() % rows_of_source_max);
      cache_.touch(key);
      return out;
    } catch (const json::exception& error) {
      set_aside(key, *lock, place.string() + ": " + error.what());
    } catch (const ballast_error& error) {
      if (error.what_failed().code == errc::stopped)
        throw;
      set_aside(key, *lock, error.what());
    }
    return nullptr;
  }

  stream_pointer keep(size_t node, stream_pointer from,
                      const std::shared_ptr<const row_origins>& origins,
                      const operator_context& how) override {
    const json is = identity(node);
    const std::string key = prepare_cache::key_of(is);
    auto lock = std::make_shared<store::file_lock>(cache_.lock_of(key));
    // Another reader of this node, or another process, keeps them already.
    if (!take(*lock, store::file_lock::mode::exclusive) ||
        fs::exists(cache_.folder_of(key) / manifest_name))
      return cached_rows(std::move(from), how);
    passing_rows::terms terms;
    terms.bytes_max = cache_limit_bytes();
    terms.make = [this, key, lock](const auto& schema) {
      return std::make_unique<new_entry>(cache_, key, lock, schema);
    };
    terms.complete = [this, node, is, origins](new_entry& entry) {
      if (identity(node) == is) // else a source changed meanwhile
        entry.publish(description(node, *origins));
    };
    terms.warn = [warn = warn_, name = how.name](const std::string& why) {
      if (warn)
        warn("the rows of " + printable(name) + " are not kept: " + why);
    };
    return std::make_unique<passing_rows>(std::move(from), std::move(terms),
                                          how);
  }

private:
  json identity(size_t node) {
    return node_identity(what_, node, cache_, stop_);
  }
  json description(size_t node, const row_origins& origins) const {
    json out{{"node", graph::name_of(what_.data.graph, node)},
             {"files", json::array()},
             {"sources", json::array()}};
    const std::vector<std::string> needed =
        graph_sources(what_.data, graph::output{false, node, 0});
    const std::vector<std::string> all = names_of_sources(what_.data);
    for (const source_table::file& one : origins.files()) {
      const std::string& source = all.at(one.first_row / rows_of_source_max);
      if (std::count(needed.begin(), needed.end(), source) == 0)
        continue;
      out["files"].push_back({one.first_row, printable(one.path)});
      out["sources"].push_back(printable(one.path));
    }
    return out;
  }
  json verified(const fs::path& place) const {
    const fs::path path = place / manifest_name;
    std::ifstream in(path);
    json about = json::parse(in);
    if (about.at("checksum") != checksum_of(about))
      throw ballast_error(errc::invalid_data, path.string() + ": is damaged");
    if (about.at("rows_checksum") != checksum_of_file(place / rows_name, stop_))
      throw ballast_error(errc::invalid_data,
                          (place / rows_name).string() +
                              ": is damaged: it has another checksum");
    return about;
  }
  void set_aside(const std::string& key, const store::file_lock& held,
                 const std::string& why) const {
    const fs::path aside = cache_.set_aside(key, held);
    if (warn_ && !aside.empty())
      warn_(why + "; it is kept as " + aside.string() +
            ", and its rows are computed again");
  }

  const job& what_;
  prepare_cache& cache_;
  const store::work_watch stop_;
  const std::function<void(const std::string&)> warn_;
};

} // namespace

std::shared_ptr<node_cache> cached_nodes(const job& what, prepare_cache& cache,
                                         const prepare_options& options) {
  const auto& nodes = what.data.graph;
  if (what.data.on_error != error_policy::fail ||
      std::none_of(nodes.begin(), nodes.end(), [](const graph::node& one) {
        return one.what == graph::op::cache;
      }))
    return nullptr;
  return std::make_shared<nodes_in_cache>(what, cache, options);
}

} // namespace ballast::data
