/// The job: a user's request with every default filled in. A plain value that
/// travels as JSON. job_fields.cpp describes each field once; parsing,
/// defaults, validation, JSON Schema and the job reference all derive from that
/// table.
#pragma once

#include "runtime/augment/augment_steps.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/graph/data_graph.hpp"
#include "runtime/job/checkpoint_spec.hpp"
#include "runtime/job/evaluate_spec.hpp"
#include "runtime/job/importance_spec.hpp"
#include "runtime/job/init_spec.hpp"
#include "runtime/job/job_words.hpp"
#include "runtime/job/optimizer_spec.hpp"
#include "runtime/job/sampling_spec.hpp"
#include "runtime/job/source_spec.hpp"
#include "runtime/job/stop_spec.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast {

struct pipeline_step {
  pipeline_op op{};            // required
  double factor = 1;           // scale
  std::vector<uint32_t> shape; // reshape
};

struct placement_spec {
  placement_kind kind = placement_kind::contiguous;
  double alpha = 0.5;              // dirichlet, inner_dirichlet
  std::vector<double> shares;      // sizes, inner_dirichlet (empty = equal)
  double sigma = 0.5;              // lognormal
  uint64_t min_rows = 1;           // dirichlet
  bool balanced = false;           // dirichlet
  uint32_t shards_per_worker = 2;  // shards
  uint32_t classes_per_worker = 2; // classes
  std::vector<std::vector<double>> matrix; // matrix: workers x classes
  std::string column;                      // column, continuous
  double strictness = 1;                   // continuous
};

struct data_spec {
  std::map<std::string, source_spec> sources; // of the graph, by name
  std::vector<graph::node> graph;
  source_spec train;
  std::optional<source_spec> test;
  error_policy on_error = error_policy::fail;
  double errors_max = 0.01;   // of the rows read; skip, quarantine
  double test_fraction = 0.2; // without `test`; stratified; 0 = no evaluation
  std::vector<pipeline_step> pipeline;
  std::vector<augment::step> augment; // of images, when a batch is made
  std::optional<uint64_t> chunk_rows; // null = derived from the size of a share
  std::optional<uint64_t> memory_mb;  // of a worker; null = as its host has
  std::optional<uint64_t> disk_mb;    // of a worker; null = none
  placement_spec placement;
};

struct model_spec {
  model_kind kind{};                        // required
  std::vector<uint32_t> hidden;             // mlp
  std::vector<uint32_t> channels;           // cnn
  bool batch_norm = false;                  // cnn
  double dropout = 0;                       // cnn
  resnet_stem stem = resnet_stem::imagenet; // resnet18
  uint32_t layers = 4;                      // transformer
  uint32_t width = 128;                     // transformer
  uint32_t heads = 4;                       // transformer
  std::optional<uint64_t> vocabulary; // transformer; null = that of the data
  std::string init = to_string(model_init::seeded); // or a .safetensors path
  std::string path;                                 // torchscript
  std::string loss;           // torchscript: a method of it; empty = train.loss
  uint64_t parameters = 0;    // emulated
  uint64_t us_per_sample = 0; // emulated
  uint64_t us_per_step = 0;   // emulated
};

struct shuffle_spec {
  std::optional<uint64_t> window_chunks; // null = the whole share

  /// As a sequence takes it.
  uint32_t window() const { return uint32_t(window_chunks.value_or(0)); }
};

struct train_spec {
  uint64_t epochs = 1;
  uint64_t global_batch = 256;
  loss_kind loss = loss_kind::cross_entropy;
  double huber_delta = 1;     // huber
  double label_smoothing = 0; // of the loss in training alone
  optimizer_spec optimizer;
  schedule_spec schedule;
  std::optional<double> clip_norm;
  std::optional<uint64_t> micro_batch;
  /// Empty: all 1, or, if they are balanced, what the data say
  /// (runtime/sampling/class_weights.hpp).
  std::vector<double> class_weights;
  bool class_weights_balanced = false;
  shuffle_spec shuffle;
  sampling_spec sampling;
  importance_spec importance;
  compute_precision precision = compute_precision::float32;
  bool activation_checkpointing = false;
  train_strategy strategy = train_strategy::allreduce;
  sample_order order = sample_order::local;
  reduction_kind reduction = reduction_kind::fused;
  kernel_choice kernels = kernel_choice::native; // canonical
  uint32_t leaves = 8;                           // of a step; order global
  compression_kind compression = compression_kind::none;
  double compression_ratio = 0.01;       // topk: of the values
  uint64_t compression_warmup_steps = 0; // topk: to come to that part
  uint32_t compression_rank = 4;         // powersgd
  uint32_t digest_every_steps = 50;      // canonical; 0 = never
  collective_kind collective = collective_kind::automatic;
  uint32_t threads = 0; // compute threads a worker; 0 = cores / local workers
};

struct elastic_spec {
  uint32_t workers = 2;
  uint32_t min_workers = 1;
  uint32_t max_workers = 64;
  bool respawn = true;
  uint32_t respawn_limit = 5;
  uint32_t respawn_window_s = 60;
  uint32_t heartbeat_ms = 200;
  uint32_t grace_s = 30;
  uint32_t orphan_s = 60;
};

struct balance_spec {
  bool enabled = true;
  double skew_tv = 0.1;
  std::vector<std::string> by; // columns; empty = the label
  std::string group;           // column; empty = none
};

struct verify_spec {
  uint32_t every_steps = 0; // reduction canonical; 0 = never
};

struct job {
  int version = 1;
  std::string name = "job";
  uint64_t seed = 1;
  data_spec data;
  model_spec model;
  train_spec train;
  elastic_spec elastic;
  balance_spec balance;
  checkpoint_spec checkpoint;
  verify_spec verify;
  evaluate_spec evaluate;
  stop_spec stop;
  keep_spec keep;
  init_spec init;
  std::map<std::string, std::string> card; // for those who use the model
  std::vector<std::string> track;          // words of track_kind
  bool faults = false;
  bool trace_samples = false;
};

/// Either a job or every mistake in the text, never both.
struct job_result {
  std::optional<job> value;
  std::vector<failure> mistakes; // each with its JSON pointer
};

/// `text` is the JSON document as the user wrote it. `sets` are the
/// "/json/pointer=value" arguments of --set, applied in order before
/// validation. Relative paths become absolute against `base_folder`.
job_result parse_job(const std::string& text,
                     const std::vector<std::string>& sets,
                     const std::string& base_folder);

/// The job as JSON with every default filled in. parse_job(dump) == job.
nlohmann::json to_json(const job& in);

/// JSON Schema (2020-12) of the job.
nlohmann::json job_schema();
/// The text of docs/job.md.
std::string job_reference();

} // namespace ballast
