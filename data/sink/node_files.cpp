#include "data/sink/node_files.hpp"

#include "data/base/arrow_support.hpp"
#include "data/graph/graph_sources.hpp"
#include "data/graph/graph_stream.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/sink/record_writer.hpp"
#include "data/source/array_cells.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>

#include <map>
#include <memory>
#include <set>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr size_t partitions_max = 4096;

/// Files of a folder that is not there yet; which rows go where is the
/// subclass's.
class partition_files {
public:
  partition_files(fs::path folder, std::string format,
                  std::shared_ptr<arrow::Schema> schema)
      : folder_(std::move(folder)), format_(std::move(format)),
        schema_(std::move(schema)) {
    format_of("x." + format_); // refuses what is no format
    std::error_code error;
    if (fs::exists(folder_, error))
      throw ballast_error(errc::usage,
                          printable(folder_.string()) +
                              ": is there; remove it, or name another folder");
    fs::create_directories(folder_, error);
    if (error)
      throw ballast_error(errc::run_dir_unusable,
                          "cannot make the folder " +
                              printable(folder_.string()) + ": " +
                              error.message());
  }
  ~partition_files() {
    files_.clear();
    std::error_code ignored;
    if (!finished_)
      fs::remove_all(folder_, ignored);
  }

  void write(const std::string& name,
             const std::shared_ptr<arrow::RecordBatch>& rows) {
    file& to = files_[name];
    if (to.writer == nullptr) {
      if (files_.size() > partitions_max)
        throw ballast_error(errc::usage,
                            "partition: there are more than " +
                                std::to_string(partitions_max) +
                                " values; take a column that has fewer, or "
                                "--into");
      to.path = folder_ / (name + "." + format_);
      std::error_code ignored;
      fs::create_directories(to.path.parent_path(), ignored);
      to.writer = open_writer(to.path, schema_);
    }
    to.writer->write(rows);
    to.rows += uint64_t(rows->num_rows());
  }

  std::vector<written_file> finish() {
    std::vector<written_file> out;
    for (auto& [name, one] : files_) {
      one.writer->finish();
      out.push_back({one.path, one.rows});
    }
    finished_ = true;
    return out;
  }

private:
  struct file {
    fs::path path;
    std::unique_ptr<record_writer> writer;
    uint64_t rows = 0;
  };

  const fs::path folder_;
  const std::string format_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::map<std::string, file> files_;
  bool finished_ = false;
};

std::string numbered(uint64_t number) {
  const std::string digits = std::to_string(number);
  return "part-" + std::string(5 - std::min<size_t>(5, digits.size()), '0') +
         digits;
}

/// As the name of a folder: what would end it, or is no text, as %XX.
std::string escaped(const std::string& value) {
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && c != '/' && c != '%' && c != '=' && byte != 0x7f) {
      out += c;
      continue;
    }
    constexpr const char* digits = "0123456789ABCDEF";
    out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  // As Hive names it, which is how others read it.
  return out.empty() ? "__HIVE_DEFAULT_PARTITION__" : out;
}

} // namespace

std::vector<written_file> write_nodes(const job& what,
                                      const std::vector<std::string>& nodes,
                                      const std::vector<std::string>& files) {
  std::vector<std::unique_ptr<record_writer>> writers;
  std::vector<written_file> out;
  for (const std::string& one : nodes)
    check_output(what.data, one, "a node");
  std::set<fs::path> names;
  for (const std::string& one : files) {
    check_writable(one);
    if (!names.insert(fs::absolute(one).lexically_normal()).second)
      throw ballast_error(errc::usage, printable(one) +
                                           ": is named twice; each part needs "
                                           "a file of its own");
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    graph_stream rows(what.data, nodes[i], {.seed = what.seed});
    writers.push_back(open_writer(files[i], rows.choose_all()));
    out.push_back({files[i]});
    while (const auto batch = rows.next()) {
      writers.back()->write(batch);
      out.back().rows += uint64_t(batch->num_rows());
    }
  }
  for (const auto& one : writers)
    one->finish();
  return out;
}

std::vector<written_file> partition_node(const job& what,
                                         const std::string& node,
                                         const partition_terms& terms) {
  graph_stream rows(what.data, node, {.seed = what.seed});
  const std::shared_ptr<arrow::Schema> all = rows.choose_all();
  const std::string& column = terms.column;
  const int by = column.empty() ? -1 : find_column(*all, column, "--by");
  const auto schema =
      by < 0 ? all : take_arrow(all->RemoveField(by), errc::internal, column);
  partition_files files(terms.folder, terms.format, schema);
  uint64_t row = 0;
  while (auto batch = rows.next()) {
    std::map<std::string, arrow::Int64Builder> places;
    for (int64_t i = 0; i < batch->num_rows(); ++i, ++row) {
      const std::string name =
          by < 0 ? numbered(row % terms.into)
                 : column + "=" + escaped(cell_of(*batch->column(by), i)) +
                       "/part-0";
      check_arrow(places[name].Append(i), errc::device_failed, column);
    }
    if (by >= 0)
      batch = take_arrow(batch->RemoveColumn(by), errc::internal, column);
    for (auto& [name, indices] : places) {
      const auto chosen =
          take_arrow(indices.Finish(), errc::device_failed, column);
      files.write(name, take_arrow(arrow::compute::Take(batch, chosen),
                                   errc::device_failed, column)
                            .record_batch());
    }
  }
  return files.finish();
}

} // namespace ballast::data
