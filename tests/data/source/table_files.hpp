/// Small files of every format that holds tables, of rows that a test writes as
/// JSON.
#pragma once

#include "tests/data/source/stream_tester.hpp"
#include "tests/data/source_builders.hpp"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <parquet/arrow/writer.h>

namespace ballast::data {

/// By the format's own writer; CSV and JSON lines have no types.
inline void write_rows(const std::filesystem::path& path,
                       const std::shared_ptr<arrow::Schema>& schema,
                       const std::string& json) {
  const std::string kind = path.extension();
  const std::shared_ptr<arrow::RecordBatch> rows = batch_of(schema, json);
  const auto table = arrow::Table::FromRecordBatches({rows}).ValueOrDie();
  const auto to = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  if (kind == ".parquet") {
    const auto with_types =
        parquet::ArrowWriterProperties::Builder().store_schema()->build();
    ASSERT_TRUE(parquet::arrow::WriteTable(
                    *table, arrow::default_memory_pool(), to, 1 << 20,
                    parquet::default_writer_properties(), with_types)
                    .ok());
  } else if (kind == ".arrow") {
    const auto out = arrow::ipc::MakeFileWriter(to, schema).ValueOrDie();
    ASSERT_TRUE(out->WriteRecordBatch(*rows).ok());
    ASSERT_TRUE(out->Close().ok());
  } else if (kind == ".orc") {
    const auto out =
        arrow::adapters::orc::ORCFileWriter::Open(to.get()).ValueOrDie();
    ASSERT_TRUE(out->Write(*table).ok());
    ASSERT_TRUE(out->Close().ok());
  } else {
    std::string text;
    const auto add = [&](const std::string& more) { text += more; };
    for (const auto& field : schema->fields())
      if (kind == ".csv")
        add((text.empty() ? "" : ",") + field->name());
    text += kind == ".csv" ? "\n" : "";
    for (int64_t row = 0; row < rows->num_rows(); ++row)
      for (int i = 0; i < rows->num_columns(); ++i) {
        const auto cell = rows->column(i)->GetScalar(row).ValueOrDie();
        const bool words = arrow::is_string(*cell->type);
        const std::string value = cell->is_valid   ? cell->ToString()
                                  : kind == ".csv" ? ""
                                                   : "null";
        const bool last = i + 1 == rows->num_columns();
        if (kind == ".csv")
          add(value + (last ? "\n" : ","));
        else
          add((i == 0 ? "{" : ",") + ('"' + rows->column_name(i) + "\":") +
              (words && cell->is_valid ? '"' + value + '"' : value) +
              (last ? "}\n" : ""));
      }
    ASSERT_TRUE(to->Write(text).ok());
  }
  ASSERT_TRUE(to->Close().ok());
}

} // namespace ballast::data
