/// The format of a table by the end of its file's name. A value.
#pragma once

#include "runtime/job/job_words.hpp"

#include <array>
#include <string_view>

namespace ballast {

struct named_format {
  std::string_view ending;
  source_format format{};
  bool written = false; // files of this name are written, too
};
constexpr std::array named_formats{
    named_format{".csv", source_format::csv, true},
    named_format{".tsv", source_format::csv},
    named_format{".jsonl", source_format::jsonl, true},
    named_format{".ndjson", source_format::jsonl, true},
    named_format{".parquet", source_format::parquet, true},
    named_format{".arrow", source_format::arrow, true},
    named_format{".feather", source_format::arrow, true},
    named_format{".ipc", source_format::arrow},
    named_format{".orc", source_format::orc, true}};

/// Null: the name does not tell.
constexpr const named_format* format_of_name(std::string_view name) {
  for (const named_format& one : named_formats)
    if (name.ends_with(one.ending))
      return &one;
  return nullptr;
}

} // namespace ballast
