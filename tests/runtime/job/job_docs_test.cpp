/// Goal: what is written about the job is what the program does. Method: the
/// committed documents are compared with what generates them; the schema is
/// walked beside the table of fields.
#include "runtime/job/job.hpp"
#include "runtime/job/job_field.hpp"

#include "tests/source_root.hpp"

#include "runtime/job/job_field.hpp"
#include "runtime/messages/control.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace ballast {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(job_reference, is_the_committed_document) {
  EXPECT_EQ(read(source_root() / "docs/job.md"), job_reference())
      << "run: ballast docs job > docs/job.md";
}

TEST(job_reference, has_a_place_for_every_field) {
  const std::string text = job_reference();
  for (const job_field& field : job_fields({false, 1})) {
    const std::string key = field.pointer.substr(field.pointer.rfind('/') + 1);
    EXPECT_NE(text.find("| `" + key + "` |"), std::string::npos)
        << field.pointer << ": name its object in `sections`";
  }
}

TEST(error_reference, is_the_committed_document) {
  EXPECT_EQ(read(source_root() / "docs/errors.md"), error_reference())
      << "run: ballast docs errors > docs/errors.md";
}

TEST(error_catalogue, has_unique_names_and_the_exit_codes_of_the_contract) {
  std::set<std::string_view> names;
  for (const error_entry& entry : error_catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(&describe(entry.code), &entry);
    EXPECT_THAT(entry.exit_code, ::testing::AnyOf(0, 1, 2, 130)) << entry.name;
    EXPECT_EQ(entry.exit_code == 0, entry.code == errc::none);
  }
}

TEST(example_jobs, are_valid) {
  size_t found = 0;
  for (const auto& entry :
       fs::directory_iterator(source_root() / "examples/jobs")) {
    job_result result =
        parse_job(read(entry.path()), {}, entry.path().parent_path());
    for (const failure& mistake : result.mistakes)
      ADD_FAILURE() << entry.path() << ": " << mistake.message;
    ++found;
  }
  EXPECT_GE(found, 4u);
}

/// The schema of the value at a pointer of the schema's document.
const json* schema_at(const json& schema, const std::string& pointer) {
  const json* at = &schema;
  std::istringstream parts(pointer.substr(1));
  for (std::string part; std::getline(parts, part, '/');) {
    const bool item = part == "0" && at->contains("items");
    const bool any = part == "*" && at->contains("additionalProperties");
    const json& inside = item || any ? *at : at->at("properties");
    const std::string key = item  ? "items"
                            : any ? "additionalProperties"
                                  : part;
    if (!inside.contains(key))
      return nullptr;
    at = &inside.at(key);
  }
  return at;
}

TEST(job_schema, describes_every_field_and_no_other) {
  json schema = job_schema();
  std::set<std::string> described;
  for (const job_field& field : job_fields({true, 1, {"*"}, 1, 1})) {
    const json* found = schema_at(schema, field.pointer);
    ASSERT_NE(found, nullptr) << field.pointer;
    std::string text = found->dump();
    EXPECT_NE(text.find(json(field.doc).dump()), std::string::npos)
        << field.pointer;
    described.insert(field.pointer);
  }
  // Count the leaves: every property that is no object or list of objects.
  std::function<size_t(const json&)> leaves = [&](const json& object) {
    size_t count = 0;
    EXPECT_EQ(object.at("additionalProperties"), false);
    for (const auto& [key, value] : object.at("properties").items())
      if (value.contains("properties"))
        count += leaves(value);
      else if (value.contains("items") && value["items"].contains("properties"))
        count += leaves(value["items"]);
      else if (value.contains("additionalProperties") &&
               value["additionalProperties"].contains("properties"))
        count += leaves(value["additionalProperties"]); // by any name
      else
        ++count;
    return count;
  };
  EXPECT_EQ(leaves(schema), described.size() + 1) << "and \"$schema\"";
}

TEST(job_schema, gives_the_defaults_of_the_parser) {
  json schema = job_schema();
  job_result result = parse_job(
      R"({"data": {"train": {"format": "synthetic", "rows": 9, "classes": 2}},
          "model": {"kind": "cnn"}})",
      {}, "");
  ASSERT_TRUE(result.value);
  json full = to_json(*result.value);
  for (const job_field& field : job_fields({})) {
    const json* value = find_value(full, field.pointer);
    const json* described = schema_at(schema, field.pointer);
    if (value != nullptr && described->contains("default")) {
      EXPECT_EQ((*described)["default"], *value) << field.pointer;
    }
  }
}

TEST(control_schema, describes_the_types_of_this_build) {
  json schema = control_schema();
  std::vector<std::string> types;
  for (const json& choice : schema["oneOf"]) {
    types.push_back(choice["properties"]["type"]["const"]);
    EXPECT_EQ(choice["additionalProperties"], false);
  }
  EXPECT_EQ(types, control_types());
  EXPECT_EQ(api_schema()["control"], schema);
  EXPECT_EQ(api_schema()["job"], job_schema());
}

} // namespace
} // namespace ballast
