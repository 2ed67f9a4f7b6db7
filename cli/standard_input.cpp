#include "cli/standard_input.hpp"

#include "cli/library_answer.hpp"
#include "cli/node_library.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/job/source_uri.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

int keep_standard_input(job& what) {
  if (sources_of_standard_input(what).empty())
    return 0;
  const library_answer answer;
  const int code = call_node_library(
      "data", {json_text(nlohmann::json{{"do", "keep_input"},
                                        {"job", to_json(what)},
                                        {"answer", answer.descriptor()}})});
  if (code != 0)
    return code;
  job_result kept = parse_job(answer.text(), {}, "/");
  BALLAST_CHECK(kept.value, "a job that was valid");
  what = std::move(*kept.value);
  return 0;
}

} // namespace ballast::cli
