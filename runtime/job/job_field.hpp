/// The fields of a job, for those who read, check, change or describe jobs:
/// parsing, defaults, validation, `--set`, JSON Schema and the job reference
/// all come from this table. Pure values.
#pragma once

#include "runtime/job/field.hpp"
#include "runtime/job/job.hpp"

#include <functional>
#include <string>
#include <vector>

namespace ballast {

using job_field = field;
using field_access = std::function<field_place(job&)>;

/// Appends a field; the reference holds until the next is appended.
job_field& add_field(std::vector<job_field>& fields, std::string pointer,
                     field_access at, std::string doc);

/// The properties of a document that determine which fields exist.
struct job_form {
  bool test = false;                     // has data.test
  size_t pipeline_steps = 0;             // length of data.pipeline
  std::vector<std::string> sources = {}; // keys of data.sources
  size_t graph_nodes = 0;                // length of data.graph
  size_t augment_steps = 0;              // length of data.augment
};

using source_access = std::function<source_spec&(job&)>;

/// Every field of a job of this form; a selector comes before the fields that
/// it selects.
std::vector<job_field> job_fields(const job_form& form);
/// Parts of the table, in files of their own to bound file sizes.
void add_data_fields(std::vector<job_field>& fields, const job_form& form);
void add_graph_fields(std::vector<job_field>& fields, const job_form& form);
void add_augment_fields(std::vector<job_field>& fields, const job_form& form);
void add_sampling_fields(std::vector<job_field>& fields);
void add_loss_fields(std::vector<job_field>& fields);
void add_optimizer_fields(std::vector<job_field>& fields);
void add_importance_fields(std::vector<job_field>& fields);
void add_evaluate_fields(std::vector<job_field>& fields);
void add_course_fields(std::vector<job_field>& fields);
/// Where the rows of a source lie and how to read them. `formats`: which a
/// table may have here.
void add_table_fields(std::vector<job_field>& fields, const std::string& prefix,
                      const source_access& of);

// -- the document as a whole
// ---------------------------------------------------

/// Applies --set strings to a document (job_set.cpp).
failure apply_sets(const std::vector<std::string>& sets,
                   nlohmann::json& document);
/// The rules that involve several fields (job_rules.cpp). A rule is skipped if
/// one of its fields has a mistake already.
void check_rules(const job& in, std::vector<failure>& mistakes);
/// Those of `train.loss` and what belongs to it (job_rules_loss.cpp).
void check_losses(const job& in, std::vector<failure>& mistakes);
/// Those of `data.sources` and `data.graph` (job_rules_graph.cpp).
void check_graph(const job& in, std::vector<failure>& mistakes);
/// Those of the `columns` of a source (job_rules_columns.cpp).
void check_columns(const job& in, std::vector<failure>& mistakes);
/// Those of `data.augment` (job_fields_augment.cpp).
void check_augment(const job& in, std::vector<failure>& mistakes);
/// Those of `train.sampling` (job_fields_sampling.cpp).
void check_sampling(const job& in, std::vector<failure>& mistakes);
/// Those of `train.importance` (job_fields_importance.cpp).
void check_importance(const job& in, std::vector<failure>& mistakes);
/// Those of `evaluate` (job_fields_evaluate.cpp).
void check_evaluate(const job& in, std::vector<failure>& mistakes);
/// Those of `init` and `train.optimizer.lr_of` (job_rules_init.cpp).
void check_init(const job& in, std::vector<failure>& mistakes);
/// What `stop` and `keep` look at.
void check_course(const job& in, std::vector<failure>& mistakes);
/// Those of `train.order` and `train.reduction` (job_rules_reproducible.cpp).
void check_reproducible(const job& in, std::vector<failure>& mistakes);
/// Makes relative paths absolute against `base_folder` (job_rules.cpp).
void resolve_paths(const std::vector<job_field>& fields,
                   const std::string& base_folder, job& in);

} // namespace ballast
