#include "runtime/ledger/manifest.hpp"

#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ballast::ledger {

namespace {

using nlohmann::json;

constexpr int tabled_version = 2;

[[noreturn]] void refuse(const std::string& what) {
  throw json::other_error::create(501, "no manifest of Ballast: " + what,
                                  static_cast<const json*>(nullptr));
}

/// "0+256 300 302+3". Text, not arrays: with a random placement almost every
/// row is a run of its own, and a million of them must parse in milliseconds.
std::string write_runs(const std::vector<id_run>& runs) {
  std::string out;
  for (const id_run& run : runs) {
    if (!out.empty())
      out += ' ';
    out += std::to_string(run.first);
    if (run.count != 1)
      out += '+' + std::to_string(run.count);
  }
  return out;
}

std::vector<id_run> read_runs(const std::string& text) {
  std::vector<id_run> runs;
  const char* at = text.data();
  const char* end = at + text.size();
  auto number = [&] {
    uint64_t out = 0;
    auto [rest, error] = std::from_chars(at, end, out);
    if (error != std::errc{})
      refuse("'" + text.substr(0, 40) + "' is no list of runs");
    at = rest;
    return out;
  };
  while (at != end) {
    id_run run{number(), 1};
    if (at != end && *at == '+') {
      ++at;
      run.count = number();
    }
    if (run.count == 0 || run.first + run.count < run.first)
      refuse("a run of " + std::to_string(run.count) + " ids from " +
             std::to_string(run.first));
    runs.push_back(run);
    if (at != end && *at++ != ' ')
      refuse("'" + text.substr(0, 40) + "' is no list of runs");
  }
  return runs;
}

/// The runs of one chunk, which must name one id for each row.
std::vector<id_run> read_runs_of(const json& chunk, const char* key) {
  const uint64_t rows = chunk.at("rows").get<uint64_t>();
  std::vector<id_run> runs =
      read_runs(chunk.at(key).get_ref<const std::string&>());
  uint64_t left = rows;
  for (const id_run& run : runs) {
    if (run.count > left)
      left = UINT64_MAX;
    else
      left -= run.count;
    if (left == UINT64_MAX)
      break;
  }
  if (left != 0)
    refuse(std::string(key) + " of chunk " + json_text(chunk.at("id")) +
           " do not name " + std::to_string(rows) + " rows");
  return runs;
}

/// [rows, weight], ...
json write_weights(const std::vector<weight_run>& in) {
  json out = json::array();
  for (const weight_run& run : in)
    out.push_back({run.rows, run.weight});
  return out;
}

std::vector<weight_run> read_weights(const json& in) {
  std::vector<weight_run> out;
  for (const json& run : in)
    out.push_back({run.at(0).get<uint32_t>(), run.at(1).get<double>()});
  return out;
}

json write_chunk(const chunk_info& in) {
  json out{{"id", value(in.id)},
           {"rows", in.rows},
           {"bytes", in.bytes},
           {"checksum", in.checksum},
           {"label_histogram", in.label_histogram},
           {"samples", write_runs(in.samples)}};
  if (!in.source_rows.empty() && in.source_rows != in.samples)
    out["source_rows"] = write_runs(in.source_rows);
  if (!in.weights.empty())
    out["weights"] = write_weights(in.weights);
  return out;
}

chunk_info read_chunk(const json& in, uint32_t expected_id) {
  chunk_info out;
  out.id = chunk_id(in.at("id").get<uint32_t>());
  if (value(out.id) != expected_id)
    refuse("chunk " + to_string(out.id) + " stands where chunk " +
           std::to_string(expected_id) + " belongs");
  if (in.at("rows").get<uint64_t>() > UINT32_MAX)
    refuse("chunk " + to_string(out.id) + " has too many rows");
  out.rows = in.at("rows").get<uint32_t>();
  out.bytes = in.at("bytes").get<uint64_t>();
  out.checksum = in.at("checksum").get<std::string>();
  out.label_histogram = in.at("label_histogram").get<std::vector<uint64_t>>();
  out.samples = read_runs_of(in, "samples");
  out.source_rows = in.contains("source_rows") ? read_runs_of(in, "source_rows")
                                               : out.samples;
  if (in.contains("weights"))
    out.weights = read_weights(in.at("weights"));
  if (auto wrong = weights_error(out))
    refuse(*wrong);
  return out;
}

json write_chunks(const std::vector<chunk_info>& chunks) {
  json out = json::array();
  for (const chunk_info& chunk : chunks)
    out.push_back(write_chunk(chunk));
  return out;
}

std::vector<chunk_info> read_chunks(const json& in, uint64_t rows) {
  std::vector<chunk_info> out;
  if (!in.is_array())
    refuse("its chunks are no array");
  out.reserve(in.size());
  uint64_t sum = 0;
  for (const json& chunk : in) {
    out.push_back(read_chunk(chunk, uint32_t(out.size())));
    sum += out.back().rows;
  }
  if (sum != rows)
    refuse("its chunks hold " + std::to_string(sum) + " rows, not " +
           std::to_string(rows));
  return out;
}

json write_row(const row_shape& in) {
  return {{"features", in.features},
          {"shape", in.shape},
          {"stored", to_string(in.stored)},
          {"scale", in.scale},
          {"offset", in.offset},
          {"classes", in.classes},
          {"target_bins", in.target_bins},
          {"vocabulary", in.vocabulary}};
}

stored_type read_stored(const std::string& word) {
  const std::optional<stored_type> out = parse_word<stored_type>(word);
  if (!out)
    refuse("values of type '" + word +
           "' cannot be stored; expected uint8, int16, int32 or float32");
  return *out;
}

row_shape read_row(const json& in) {
  row_shape out;
  out.features = in.at("features").get<uint32_t>();
  out.shape = in.at("shape").get<std::vector<uint32_t>>();
  out.stored = read_stored(in.at("stored").get<std::string>());
  out.scale = in.at("scale").get<double>();
  out.offset = in.at("offset").get<double>();
  out.classes = in.at("classes").get<uint32_t>();
  // Sets of older builds lack these fields.
  out.target_bins = in.value("target_bins", 0u);
  out.vocabulary = in.value("vocabulary", 0u);
  return out;
}

} // namespace

std::optional<std::string> weights_error(const chunk_info& chunk) {
  if (chunk.weights.empty())
    return std::nullopt;
  uint64_t rows = 0;
  for (const weight_run& run : chunk.weights) {
    rows += run.rows;
    if (!std::isfinite(run.weight) || run.weight < 0)
      return "a row of chunk " + to_string(chunk.id) + " weighs " +
             std::to_string(run.weight);
  }
  if (rows == chunk.rows)
    return std::nullopt;
  return "chunk " + to_string(chunk.id) + " has the weights of " +
         std::to_string(rows) + " rows, not " + std::to_string(chunk.rows);
}

sample_id sample_at(const chunk_info& chunk, uint32_t row) {
  uint64_t left = row;
  for (const id_run& run : chunk.samples) {
    if (left < run.count)
      return sample_id(run.first + left);
    left -= run.count;
  }
  return sample_id(UINT64_MAX); // precondition violated: no sample has this id
}

std::string describe_rows(const manifest& set,
                          const std::vector<row_ref>& rows) {
  constexpr size_t named_max = 10;
  std::string sources;
  for (const std::string& one : set.sources)
    sources += (sources.empty() ? "" : " + ") + one;
  std::string out;
  for (size_t i = 0; i < std::min(rows.size(), named_max); ++i) {
    const chunk_info& chunk = set.train.at(size_t(value(rows[i].chunk)));
    chunk_info lineage;
    lineage.samples = chunk.source_rows;
    out += (i == 0 ? "sample " : ", sample ") +
           to_string(sample_at(chunk, rows[i].row)) + " (chunk " +
           to_string(rows[i].chunk) + " row " + std::to_string(rows[i].row) +
           (sources.empty()
                ? ")"
                : ", row " + to_string(next(sample_at(lineage, rows[i].row))) +
                      " of " + sources + ")");
  }
  if (rows.size() > named_max)
    out += " and " + std::to_string(rows.size() - named_max) + " more";
  return out;
}

std::vector<id_run> compress(const std::vector<uint64_t>& ids) {
  std::vector<id_run> out;
  for (uint64_t id : ids) {
    if (!out.empty() && out.back().first + out.back().count == id)
      ++out.back().count;
    else
      out.push_back({id, 1});
  }
  return out;
}

json manifest_header(const manifest& in) {
  json placement = json::array();
  for (const std::vector<chunk_id>& chunks : in.placement) {
    std::vector<uint64_t> ids;
    ids.reserve(chunks.size());
    for (chunk_id id : chunks)
      ids.push_back(value(id));
    placement.push_back(write_runs(compress(ids)));
  }
  json out{{"version", in.version},     {"content_id", in.content_id},
           {"label", in.label},         {"sources", in.sources},
           {"row", write_row(in.row)},  {"train_rows", in.train_rows},
           {"test_rows", in.test_rows}, {"placement", std::move(placement)}};
  if (in.left_out)
    out["left_out"] = *in.left_out;
  if (in.test_rows_trained_on)
    out["test_rows_trained_on"] = *in.test_rows_trained_on;
  if (in.rejected)
    out["rejected"] = {{"read", in.rejected->read},
                       {"rows", in.rejected->rows},
                       {"kept", in.rejected->kept}};
  if (in.rejected && !in.rejected->removed.empty())
    out["rejected"]["removed"] = in.rejected->removed;
  if (!in.class_names.empty())
    out["class_names"] = in.class_names;
  if (in.whole_chunks)
    out["whole_chunks"] = true;
  if (in.order != row_layout::any)
    out["order"] = to_string(in.order);
  return out;
}

manifest read_manifest_header(const json& in, size_t train_chunks) {
  manifest out;
  out.version = in.at("version").get<int>();
  if (out.version != 1)
    refuse("version " + std::to_string(out.version) + ", this build reads 1");
  out.content_id = in.at("content_id").get<std::string>();
  out.label = in.at("label").get<std::string>();
  out.sources = in.at("sources").get<std::vector<std::string>>();
  if (in.contains("test_rows_trained_on"))
    out.test_rows_trained_on = in.at("test_rows_trained_on").get<uint64_t>();
  if (in.contains("left_out"))
    out.left_out = in.at("left_out").get<std::vector<std::string>>();
  if (in.contains("rejected")) {
    const json& rows = in.at("rejected");
    out.rejected = {rows.at("read").get<uint64_t>(),
                    rows.at("rows").get<uint64_t>(),
                    rows.at("kept").get<uint64_t>(),
                    rows.value("removed", std::map<std::string, uint64_t>())};
  }
  out.class_names = in.value("class_names", std::vector<std::string>());
  out.whole_chunks = in.value("whole_chunks", false);
  if (in.contains("order")) {
    const auto order =
        parse_word<row_layout>(in.at("order").get<std::string>());
    if (!order)
      refuse("rows in the order '" + in.at("order").get<std::string>() + "'");
    out.order = *order;
  }
  out.row = read_row(in.at("row"));
  out.train_rows = in.at("train_rows").get<uint64_t>();
  out.test_rows = in.at("test_rows").get<uint64_t>();
  for (const json& runs : in.at("placement")) {
    std::vector<chunk_id>& chunks = out.placement.emplace_back();
    for (const id_run& run : read_runs(runs.get_ref<const std::string&>())) {
      if (run.first + run.count > train_chunks)
        refuse("its placement names chunk " +
               std::to_string(run.first + run.count - 1) + " of " +
               std::to_string(train_chunks));
      for (uint64_t i = 0; i < run.count; ++i)
        chunks.push_back(chunk_id(uint32_t(run.first + i)));
    }
  }
  return out;
}

void to_json(json& out, const manifest& in) {
  out = manifest_header(in);
  if (in.tables) {
    // Only this build knows of tables; one that does not shall say so.
    out["version"] = tabled_version;
    out["tables"] = {{"chunks", in.tables->chunks},
                     {"samples", in.tables->samples},
                     {"train_chunks", in.tables->train_chunks}};
    return;
  }
  out["train"] = write_chunks(in.train);
  out["test"] = write_chunks(in.test);
}

void from_json(const json& in, manifest& out) {
  if (!in.contains("tables")) {
    manifest read = read_manifest_header(
        in, in.contains("train") ? in.at("train").size() : 0);
    read.train = read_chunks(in.at("train"), read.train_rows);
    read.test = read_chunks(in.at("test"), read.test_rows);
    out = std::move(read);
    return;
  }
  json header = in;
  if (in.at("version") != tabled_version)
    refuse("version " + json_text(in.at("version")) +
           " with tables, this build reads " + std::to_string(tabled_version));
  header["version"] = 1;
  const json& tables = in.at("tables");
  const auto chunks = tables.at("train_chunks").get<uint64_t>();
  out = read_manifest_header(header, chunks);
  out.tables = {tables.at("chunks").get<std::string>(),
                tables.at("samples").get<std::string>(), chunks};
}

} // namespace ballast::ledger
