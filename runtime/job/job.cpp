/// Text to job and back.
#include "runtime/job/job.hpp"

#include "runtime/job/field_document.hpp"
#include "runtime/job/job_field.hpp"
#include "runtime/job/job_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ballast {

namespace {

using nlohmann::json;

constexpr size_t pipeline_steps_max = 256;
const std::string pipeline_pointer = "/data/pipeline";

const document_kind& a_job() {
  static const document_kind kind{
      .name = "job",
      .also = {"/data/test"},
      .lists = {{pipeline_pointer, pipeline_steps_max}},
      .place = {}};
  return kind;
}

/// Which fields there are; a list or object of the wrong type counts as absent
/// here and as a mistake in read_document.
job_form form_of(const json& document) {
  job_form form;
  form.test = find_value(document, "/data/test") != nullptr;
  const json* pipeline = find_value(document, pipeline_pointer);
  if (pipeline != nullptr && pipeline->is_array())
    form.pipeline_steps = std::min(pipeline->size(), pipeline_steps_max);
  return form;
}

} // namespace

job_field& add_field(std::vector<job_field>& fields, std::string pointer,
                     field_access at, std::string doc) {
  return append_field<job>(fields, std::move(pointer), std::move(at),
                           std::move(doc));
}

job_result parse_job(const std::string& text,
                     const std::vector<std::string>& sets,
                     const std::string& base_folder) {
  json document;
  job_result result;
  if (failure f = read_json_text(text, errc::invalid_job, "job", document)) {
    result.mistakes.push_back(std::move(f));
    return result;
  }
  if (!document.is_object()) {
    result.mistakes.push_back(wrong_type(a_job(), "", "an object", document));
    return result;
  }
  if (failure f = apply_sets(sets, document)) {
    result.mistakes.push_back(std::move(f));
    return result;
  }
  std::vector<job_field> fields = job_fields(form_of(document));
  job read;
  result.mistakes = read_document(a_job(), document, fields, read);
  check_rules(read, result.mistakes);
  if (!result.mistakes.empty())
    return result;
  resolve_paths(fields, base_folder, read);
  result.value = std::move(read);
  return result;
}

json to_json(const job& in) {
  job copy = in;
  json out = json::object();
  std::vector<job_field> fields =
      job_fields({in.data.test.has_value(), in.data.pipeline.size()});
  out["data"]["pipeline"] = json::array();
  for (size_t i = 0; i < in.data.pipeline.size(); ++i)
    out["data"]["pipeline"].push_back(json::object());
  for (const job_field& field : fields)
    if (applies(field, fields, out))
      out[json::json_pointer(field.pointer)] = load_value(field, copy);
  return out;
}

} // namespace ballast
