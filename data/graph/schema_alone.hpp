/// A stream without rows, of which only the columns are asked. Includes Arrow;
/// for source files of data/graph/ only.
#pragma once

#include "data/operators/operator_stream.hpp"

#include <arrow/api.h>

#include <memory>
#include <utility>
#include <vector>

namespace ballast::data {

/// Stands for a node of which only the columns are asked.
class schema_alone final : public operator_stream {
public:
  schema_alone(std::shared_ptr<arrow::Schema> schema, operator_context context)
      : operator_stream(std::move(context)) {
    set_schema(std::move(schema));
  }

protected:
  void begin(const std::vector<int>& /*columns*/) override {}
  std::shared_ptr<arrow::RecordBatch> produce() override { return nullptr; }
};

} // namespace ballast::data
