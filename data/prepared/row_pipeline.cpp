#include "data/prepared/row_pipeline.hpp"

#include "runtime/base/errors.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace ballast::data {

namespace {

void reshape(const std::vector<uint32_t>& shape, const std::string& pointer,
             ledger::row_shape& row) {
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

} // namespace

void apply_pipeline(const job& what, ledger::row_shape& row) {
  for (size_t i = 0; i < what.data.pipeline.size(); ++i) {
    const pipeline_step& step = what.data.pipeline[i];
    const std::string pointer = "/data/pipeline/" + std::to_string(i);
    switch (step.op) {
    case pipeline_op::reshape:
      reshape(step.shape, pointer + "/shape", row);
      break;
    case pipeline_op::scale:
      row.scale *= step.factor;
      row.offset *= step.factor;
      break;
    }
  }
}

} // namespace ballast::data
