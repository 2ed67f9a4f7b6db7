#include "data/sink/node_files.hpp"

#include "data/base/arrow_support.hpp"
#include "data/graph/graph_sources.hpp"
#include "data/graph/graph_stream.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/operators/removed_rows.hpp"
#include "data/operators/row_batches.hpp"
#include "data/sink/partial_path.hpp"
#include "data/sink/record_writer.hpp"
#include "data/sink/source_versions.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/found_files.hpp"
#include "data/source/row_faults.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "store/refuse_file.hpp"
#include "store/sync_path.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr size_t partitions_max = 4096;

/// Files of a folder that is not there yet.
class partition_files {
public:
  partition_files(fs::path folder, std::string format,
                  std::shared_ptr<arrow::Schema> schema)
      : format_(std::move(format)), schema_(std::move(schema)),
        folder_(checked(std::move(folder), format_),
                partial_path::kind::folder) {}

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
      to.name = name + "." + format_;
      const fs::path at = folder_.path() / to.name;
      std::error_code ignored;
      fs::create_directories(at.parent_path(), ignored);
      to.writer = open_writer(folder_.place() / to.name, at, schema_);
    }
    to.writer->write(rows);
    to.rows += uint64_t(rows->num_rows());
  }

  std::vector<written_file> finish() {
    std::vector<written_file> out;
    for (auto& [name, one] : files_) {
      one.writer->finish();
      const fs::path folder = (folder_.path() / one.name).parent_path();
      if (folder != folder_.path())
        store::sync_path(folder);
      out.push_back({folder_.place() / one.name, one.rows});
    }
    store::sync_path(folder_.path());
    return out;
  }
  partial_path& folder() { return folder_; }

private:
  static fs::path checked(fs::path folder, const std::string& format) {
    format_of("x." + format); // refuses what is no format
    partial_path::remove_left_over(folder);
    check_free(folder, partial_path::kind::folder);
    return folder;
  }

  struct file {
    std::string name; // in the folder
    std::unique_ptr<record_writer> writer;
    uint64_t rows = 0;
  };

  const std::string format_;
  const std::shared_ptr<arrow::Schema> schema_;
  partial_path folder_;
  std::map<std::string, file> files_;
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

struct output_file {
  fs::path path;
  graph::output from;
  std::optional<partial_path> made = {};
  std::unique_ptr<record_writer> writer = nullptr;
  uint64_t rows = 0;
  std::string why_empty = {};

  void open(const std::shared_ptr<arrow::Schema>& schema) {
    made.emplace(path, partial_path::kind::file);
    writer = open_writer(path, made->path(), schema);
  }
  void write(const std::shared_ptr<arrow::RecordBatch>& batch) {
    writer->write(batch);
    rows += uint64_t(batch->num_rows());
  }
};

bool is_split(const data_spec& data, const graph::output& what) {
  return !what.of_source && data.graph[what.index].what == graph::op::split;
}

graph_terms terms_of(const job& what, const store::work_watch& stop,
                     const left_out_rows& left_out, found_files& found) {
  graph_terms out;
  out.faults = left_out.faults;
  out.removed = left_out.removed;
  out.seed = what.seed;
  out.stop = stop;
  out.found = &found;
  out.fitted = std::make_shared<fitted_states>();
  return out;
}

/// Which node gave none of what came in.
std::string why_no_rows(const graph_stream& rows) {
  try {
    rows.refuse_no_rows();
  } catch (const ballast_error& error) {
    return error.what_failed().message;
  }
}

constexpr const char* no_share =
    "too few, or too many that are equal (in time, or of one group), for its "
    "share";

void write_rows(const job& what, output_file& to, const graph_terms& how) {
  graph_stream rows(what.data, to.from, how);
  to.open(rows.choose_all());
  while (const auto batch = rows.next())
    to.write(batch);
  if (to.rows == 0)
    to.why_empty = is_split(what.data, to.from) ? no_share : why_no_rows(rows);
}

/// Of one split, in one pass.
void write_parts(const job& what, const std::vector<output_file*>& to,
                 const graph_terms& how) {
  operator_context context; // for the messages of taken()
  context.name = graph::name_of(what.data.graph, to[0]->from.index);
  graph_stream rows(what.data, to[0]->from, how, graph_stream::parts::all);
  const std::shared_ptr<arrow::Schema> schema = rows.choose_all();
  for (output_file* one : to)
    one->open(schema);
  while (const auto batch = rows.next()) {
    const auto& parts = static_cast<const arrow::UInt8Array&>(
        *batch->column(schema->num_fields()));
    const auto columns = first_columns(batch, size_t(schema->num_fields()));
    for (output_file* one : to) {
      row_indices its;
      for (int64_t row = 0; row < parts.length(); ++row)
        if (parts.Value(row) == one->from.port)
          its.push_back(uint32_t(row));
      if (!its.empty())
        one->write(taken(columns, its, context));
    }
  }
  const bool any = std::ranges::any_of(
      to, [](const output_file* one) { return one->rows > 0; });
  for (output_file* one : to)
    if (one->rows == 0)
      one->why_empty = any ? no_share : why_no_rows(rows);
}

} // namespace

void publish_with_list(std::vector<partial_path*> all,
                       const left_out_rows& left_out) {
  std::optional<partial_path> listed;
  const std::string lines = left_out_lines(left_out.faults, left_out.removed);
  if (!lines.empty() && !left_out.file.empty()) {
    listed.emplace(left_out.file, partial_path::kind::file);
    std::ofstream out(listed->path(), std::ios::binary);
    out << lines;
    out.close();
    if (!out)
      store::refuse_file(left_out.file, "write", errno);
    store::sync_path(listed->path());
    all.push_back(&*listed);
  }
  partial_path::publish(all);
}

namespace {

std::vector<written_file> published(std::vector<output_file>& all,
                                    const left_out_rows& left_out) {
  std::vector<written_file> out;
  std::vector<partial_path*> made;
  for (output_file& one : all) {
    one.writer->finish();
    made.push_back(&*one.made);
    out.push_back({one.path, one.rows});
  }
  publish_with_list(std::move(made), left_out);
  return out;
}

} // namespace

std::vector<written_file>
write_nodes(const job& what, const std::vector<std::string>& nodes,
            const std::vector<std::string>& files,
            const store::work_watch& stop, const left_out_rows& left_out,
            const std::function<void(const std::string&)>& tell) {
  found_files found;
  const graph_terms how = terms_of(what, stop, left_out, found);
  std::vector<output_file> out;
  for (size_t i = 0; i < nodes.size(); ++i) {
    check_output(what.data, nodes[i], "a node");
    partial_path::remove_left_over(files[i]);
    check_writable(files[i]);
    for (const output_file& other : out)
      if (fs::absolute(other.path).lexically_normal() ==
          fs::absolute(files[i]).lexically_normal())
        throw ballast_error(errc::usage,
                            printable(files[i]) +
                                ": is named twice; each part needs a file of "
                                "its own");
    output_file& one = out.emplace_back();
    one.path = files[i];
    one.from = output_of(what.data, nodes[i]);
  }
  schemas_of_nodes(what.data, stop, &found);
  const source_versions sources(what.data, nodes, stop, &found);
  sources.check_after([&] {
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i].writer != nullptr)
        continue;
      std::vector<output_file*> parts;
      for (size_t k = i; k < out.size(); ++k)
        if (is_split(what.data, out[i].from) && !out[k].from.of_source &&
            out[k].from.index == out[i].from.index)
          parts.push_back(&out[k]);
      if (parts.size() > 1)
        write_parts(what, parts, how);
      else
        write_rows(what, out[i], how);
    }
    if (left_out.faults != nullptr)
      left_out.faults->check(/*at_end=*/true);
  });
  std::vector<written_file> written = published(out, left_out);
  if (!tell)
    return written;
  for (const std::string& note : how.fitted->notes())
    tell(note);
  for (const output_file& one : out)
    if (one.rows == 0)
      tell(printable(one.path.string()) + " has no rows: " + one.why_empty);
  return written;
}

std::vector<written_file> partition_node(const job& what,
                                         const std::string& node,
                                         const partition_terms& terms,
                                         const store::work_watch& stop,
                                         const left_out_rows& left_out) {
  found_files found;
  schemas_of_nodes(what.data, stop, &found);
  const source_versions sources(what.data, {node}, stop, &found);
  graph_stream rows(what.data, node, terms_of(what, stop, left_out, found));
  const std::shared_ptr<arrow::Schema> all = rows.choose_all();
  const std::string& column = terms.column;
  const int by = column.empty() ? -1 : find_column(*all, column, "--by");
  const auto schema =
      by < 0 ? all : take_arrow(all->RemoveField(by), errc::internal, column);
  partition_files files(terms.folder, terms.format, schema);
  sources.check_after([&] {
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
    if (left_out.faults != nullptr)
      left_out.faults->check(/*at_end=*/true);
  });
  std::vector<written_file> out = files.finish();
  publish_with_list({&files.folder()}, left_out);
  return out;
}

} // namespace ballast::data
