#include "data/source/source_table.hpp"
#include "data/source/table_values.hpp"

#include "data/base/stored_values.hpp"
#include "data/graph/graph_sources.hpp"
#include "data/source/image_folder.hpp"
#include "data/source/source_error.hpp"
#include "data/source/source_file.hpp"
#include "data/source/stream_table.hpp"
#include "data/store/chunk.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "store/work_watch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace ballast::data {

using ledger::stored_type;

namespace {

/// Converts the features to a type of at most the same size in place, front to
/// back, so that reading stays ahead of writing.
template <class From, class To>
void convert_down(growing_bytes& bytes) {
  const size_t count = bytes.size() / sizeof(From);
  for (size_t i = 0; i < count; ++i) {
    From from;
    std::memcpy(&from, bytes.data() + i * sizeof(From), sizeof(From));
    const To to = To(from);
    std::memcpy(bytes.data() + i * sizeof(To), &to, sizeof(To));
  }
  bytes.resize(count * sizeof(To));
  bytes.shrink_to_fit();
}

template <class From, class To>
void convert_up(growing_bytes& bytes) {
  const size_t count = bytes.size() / sizeof(From);
  bytes.resize(count * sizeof(To));
  for (size_t i = count; i-- > 0;) {
    From from;
    std::memcpy(&from, bytes.data() + i * sizeof(From), sizeof(From));
    const To to = To(from);
    std::memcpy(bytes.data() + i * sizeof(To), &to, sizeof(To));
  }
}

/// To a wider type.
template <class From>
void convert_from(growing_bytes& bytes, stored_type stored) {
  switch (stored) {
  case stored_type::uint8:
    return; // the narrowest
  case stored_type::int16:
    return convert_up<From, int16_t>(bytes);
  case stored_type::int32:
    return convert_up<From, int32_t>(bytes);
  case stored_type::float32:
    return convert_up<From, float>(bytes);
  }
}

[[noreturn]] void refuse(const source_request& request, const std::string& what,
                         const std::string& detail = {}) {
  throw source_error(what, request.pointer, detail);
}

std::string name_of(const source_table& table) {
  return table.files.empty() ? "the source" : printable(table.files[0].path);
}

/// The number of classes in a training table, from its labels.
void count_classes(source_table& table, const source_request& request) {
  const auto [least, most] =
      std::minmax_element(table.labels.begin(), table.labels.end());
  if (*least == *most)
    refuse(request,
           name_of(table) + ": every row has the same label; at least two "
                            "classes are needed to train",
           "the label " + std::to_string(*most));
  table.row.classes =
      std::max(table.row.classes, uint32_t(*most) + 1); // synthetic
}

void check_tokens(const source_table& table, const source_request& request) {
  if (table.row.features < 2)
    refuse(request, name_of(table) + ": has one token a row; at least two are "
                                     "needed to predict the next one");
  if (table.row.vocabulary < 2)
    refuse(request, name_of(table) + ": every token is 0; at least two "
                                     "different ones are needed to train");
}

void check_like(const source_table& table, const source_table& like,
                const source_request& request) {
  if (table.row.features != like.row.features ||
      table.row.shape != like.row.shape)
    refuse(request, name_of(table) + ": has " +
                        counted(table.row.features, "value") +
                        " a row, the training set has " +
                        std::to_string(like.row.features) +
                        " (or another shape); both must be alike");
  for (uint64_t row = 0; row < table.labels.size(); ++row)
    if (uint32_t(table.labels[row]) >= like.row.classes)
      refuse(request, place_of(table, row) + ": " + new_class_text(like),
             "label " + std::to_string(table.labels[row]));
}

void as_floats(const unsigned char* from, stored_type stored,
               std::span<float> out) {
  convert_values(from, stored, out.size(), stored_type::float32,
                 reinterpret_cast<unsigned char*>(out.data()));
}

source_table read_format(const source_spec& spec,
                         const source_request& request) {
  switch (spec.format) {
  case source_format::idx:
    return read_idx(spec, request);
  case source_format::csv:
  case source_format::parquet:
  case source_format::jsonl:
  case source_format::arrow:
  case source_format::orc:
  case source_format::sql:
  case source_format::flight:
  case source_format::graph:
  case source_format::list_files:
    return read_table(spec, request);
  case source_format::images:
  case source_format::webdataset:
    return read_images(spec, request);
  case source_format::synthetic:
    return make_synthetic(spec, request);
  case source_format::prepared:
    break; // its rows are chunks already
  }
  BALLAST_CHECK(false, "a source of no format");
}

/// Feature number `feature` of every row; exact in int32, too.
std::vector<double> feature_values(const source_table& table, size_t feature) {
  std::vector<double> out(table.rows);
  if (table.elsewhere == nullptr && table.row.stored == stored_type::int32) {
    for (uint64_t row = 0; row < table.rows; ++row) {
      int32_t number;
      std::memcpy(&number,
                  table.features.data() +
                      (row * table.row.features + feature) * sizeof(number),
                  sizeof(number));
      out[row] = number;
    }
    return out;
  }
  for_each_place(table, [&](uint64_t place, std::span<const float> values) {
    out[place] = double(values[feature]);
  });
  return by_row(table, std::move(out));
}

} // namespace

void source_table::number_rows() {
  if (!taken_rows.empty())
    return;
  taken_rows.resize(std::max(labels.size(), targets.size()));
  std::iota(taken_rows.begin(), taken_rows.end(), uint64_t{0});
}

std::vector<double> column_values(const source_table& table,
                                  const std::string& name,
                                  const std::string& pointer) {
  if (name == table.label && !table.labels.empty())
    return {table.labels.begin(), table.labels.end()};
  if (name == table.label)
    return {table.targets.begin(), table.targets.end()};
  const auto found =
      std::find(table.columns.begin(), table.columns.end(), name);
  if (found == table.columns.end()) {
    std::string loaded = table.label.empty() ? "" : "'" + table.label + "'";
    for (const std::string& column : table.columns)
      loaded += (loaded.empty() ? "'" : ", '") + printable(column) + "'";
    throw source_error(name_of(table) + ": no column '" + name +
                           "' is loaded; expected the label or one of the "
                           "features",
                       pointer, "they are " + loaded);
  }
  return feature_values(table, size_t(found - table.columns.begin()));
}

void for_each_place(
    const source_table& table,
    const std::function<void(uint64_t place, std::span<const float>)>& see) {
  const size_t width = table.row.features;
  std::vector<float> values(width);
  if (table.elsewhere == nullptr) {
    for (uint64_t row = 0; row < table.rows; ++row) {
      row_values(table, row, values);
      see(row, values);
    }
    return;
  }
  constexpr uint64_t read_bytes = 1 << 20;
  const stored_type stored = table.elsewhere->stored();
  const size_t each = width * stored_bytes(stored);
  const uint64_t step = std::max<uint64_t>(1, read_bytes / each);
  std::vector<unsigned char> block(step * each);
  for (uint64_t first = 0; first < table.rows; first += step) {
    const uint64_t count = std::min(step, table.rows - first);
    table.elsewhere->read(first, count, block.data());
    for (uint64_t i = 0; i < count; ++i) {
      as_floats(block.data() + i * each, stored, values);
      see(first + i, values);
    }
  }
}

void row_values(const source_table& table, uint64_t row, std::span<float> out) {
  if (table.made)
    return table.made({&row, 1}, out);
  const stored_type stored =
      table.elsewhere != nullptr ? table.elsewhere->stored() : table.row.stored;
  const size_t each = table.row.features * stored_bytes(stored);
  if (table.elsewhere == nullptr)
    return as_floats(table.features.data() + row * each, stored, out);
  std::vector<unsigned char> bytes(each);
  table.elsewhere->look_at(table.elsewhere->place_of(row), bytes.data());
  as_floats(bytes.data(), stored, out);
}

std::string new_class_text(const source_table& like) {
  return "the label is out of range, the training set has the classes 0 to " +
         std::to_string(like.row.classes - 1);
}

std::string no_rows_note(size_t files, const std::string& first) {
  return files == 1
             ? printable(first) + ": has no rows"
             : std::to_string(files) + " files have no rows, the first is " +
                   printable(first);
}

std::string place_of(const source_table& table, uint64_t row) {
  row = table.source_row(row);
  const source_table::file* found = nullptr;
  for (const source_table::file& file : table.files)
    if (file.first_row <= row)
      found = &file;
  const uint64_t first = found != nullptr ? found->first_row : 0;
  return (found != nullptr ? printable(found->path) : "the source") + ": row " +
         std::to_string(row - first + 1);
}

stored_type wider_type(stored_type a, stored_type b) {
  return std::max(a, b);
}

void widen(source_table& table, stored_type stored) {
  const stored_type from = table.row.stored;
  if (from >= stored)
    return;
  if (table.elsewhere != nullptr) {
    table.row.stored = stored; // converted when they are read
    return;
  }
  switch (from) {
  case stored_type::uint8:
    convert_from<uint8_t>(table.features, stored);
    break;
  case stored_type::int16:
    convert_from<int16_t>(table.features, stored);
    break;
  case stored_type::int32:
    convert_down<int32_t, float>(table.features);
    break;
  case stored_type::float32:
    break; // the widest
  }
  table.row.stored = stored;
}

void narrow(source_table& table) {
  if (table.row.stored != stored_type::float32)
    return;
  bool whole = true;
  float least = 0;
  float most = 0;
  for (size_t at = 0; at < table.features.size(); at += sizeof(float)) {
    float number;
    std::memcpy(&number, table.features.data() + at, sizeof(float));
    whole = whole && number == std::trunc(number);
    least = std::min(least, number);
    most = std::max(most, number);
  }
  if (whole && least >= 0 && most <= 255) {
    convert_down<float, uint8_t>(table.features);
    table.row.stored = stored_type::uint8;
  } else if (whole && least >= -32768 && most <= 32767) {
    convert_down<float, int16_t>(table.features);
    table.row.stored = stored_type::int16;
  }
}

source_table read_source(const source_spec& spec,
                         const source_request& request) {
  check_stop(request.stop);
  source_table out = read_format(spec, request);
  if (out.rows == 0)
    refuse(request, name_of(out) + ": has no rows; the data set is empty");
  if (request.like != nullptr)
    check_like(out, *request.like, request);
  else if (request.label == label_kind::none)
    check_tokens(out, request);
  else if (request.label == label_kind::number_of_class)
    count_classes(out, request);
  return out;
}

std::vector<std::string> files_of(const source_spec& spec,
                                  const std::string& pointer,
                                  const data_spec& data, found_files* found) {
  std::vector<std::string> out;
  switch (spec.format) {
  case source_format::idx:
    return {spec.images, spec.labels};
  case source_format::images: // one name for all of them
    return {folder_of(spec, pointer)};
  case source_format::synthetic:
    return {};
  case source_format::prepared:
    return {spec.uri};
  case source_format::graph:
    for (const std::string& name : graph_sources(data, spec.from))
      for (std::string& file : files_of(data.sources.at(name),
                                        "/data/sources/" + name, data, found))
        out.push_back(std::move(file));
    for (const node_library& one : graph_libraries(data, spec.from))
      out.push_back(one.path);
    return out;
  default: // tables, and archives of images
    break;
  }
  source_request request;
  request.pointer = pointer;
  request.found = found;
  for (const stored_file& file : stored_files(spec, request))
    out.push_back(file.name);
  return out;
}

} // namespace ballast::data
