/// Jobs over tables of every kind, and all that is said of a prepared set: for
/// tests that prepare the same rows in several ways.
#pragma once

#include "data/prepared/prepared_set.hpp"
#include "runtime/base/random.hpp"
#include "tests/data/source_builders.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ballast::data {

/// Rows of numbers, or of words and tokens, from a seed.
inline std::string table_of(size_t rows, const std::string& kind) {
  const counter_random random(11, 1);
  uint64_t at = 0;
  const bool tokens = kind == "tokens";
  std::string out = tokens ? "a,b,c,d\n" : "a,b,c,user,y\n";
  for (size_t row = 0; row < rows; ++row) {
    for (int i = 0; i < 3; ++i)
      out +=
          kind == "numbers" || kind == "regression"
              ? std::to_string(random.unit(at++) * 100 - 50) + ","
              : std::to_string(random.below(kind == "bytes" ? 256 : 9, at++)) +
                    ",";
    out += std::to_string(random.below(12, at++));
    if (!tokens)
      out += kind == "regression" ? "," + std::to_string(random.unit(at++))
             : kind == "words"
                 ? std::string(",") + "rgbk"[random.below(4, at++)]
                 : "," + std::to_string(random.below(4, at++));
    out += "\n";
  }
  return out;
}

inline job job_with(const temporary_folder& folder, const std::string& kind,
                    placement_kind placement, double fraction) {
  job what = job_of(
      kind == "images"
          ? idx_source(folder.write("images", idx_images(40)),
                       folder.write("labels", idx_labels(40, 4)))
          : table_source(source_format::csv,
                         folder.write(kind + ".csv", table_of(500, kind)),
                         kind == "tokens" ? "" : "y"),
      7);
  what.elastic.workers = 3;
  what.data.test_fraction = fraction;
  placement_spec& spec = what.data.placement;
  spec.kind = placement;
  spec.shares = {5, 2, 1};
  spec.matrix = {{1, 1, 0, 1}, {0, 1, 1, 2}, {2, 1, 1, 1}};
  spec.column = placement == placement_kind::column ||
                        placement == placement_kind::continuous
                    ? "user"
                    : "";
  if (kind == "regression")
    what.train.loss = loss_kind::mse;
  if (kind == "tokens")
    what.train.loss = loss_kind::next_token;
  return what;
}

/// Its manifest, once the checksum of every chunk is verified.
inline std::string description_of(const prepared_set& set) {
  for (const data_part part : {data_part::train, data_part::test})
    for (const ledger::chunk_info& one :
         part == data_part::train ? set.about().train : set.about().test)
      set.read(part, one.id);
  return nlohmann::json(set.about()).dump();
}

} // namespace ballast::data
