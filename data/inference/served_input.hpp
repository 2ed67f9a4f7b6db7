/// The data of a run's job with a new file in the place of its source: the
/// nodes that change rows, and what those have learned. Includes no Arrow; one
/// thread.
///
/// Errors: as of feature_rows.hpp.
#pragma once

#include "data/fitting/fitted_states.hpp"
#include "data/inference/feature_rows.hpp"
#include "data/inference/trained_run.hpp"
#include "runtime/job/job.hpp"

#include <memory>
#include <string>

namespace ballast::data {

struct served_input {
  data_spec data;     // the source is the new file
  graph::output rows; // what the model reads, of its graph
  std::string source; // its name there
  size_t number = 0;  // of the source, by which origins begin
  std::shared_ptr<fitted_states> states;
};

/// Opens the file for its columns, where these have no types of their own: they
/// are read as what the run learned from.
served_input serve_input(const trained_run& of, const input_terms& terms);

} // namespace ballast::data
