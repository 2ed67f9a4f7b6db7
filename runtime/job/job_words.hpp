/// The words of a job: one enum for each field whose value is one of a few
/// words, and beside it those words. The table of fields (job_fields.cpp) takes
/// the allowed texts from here; a new kind is added here and at the switches
/// that no longer compile. Words of later versions are no values: the table
/// names and refuses them.
#pragma once

#include "runtime/base/words.hpp"
#include "runtime/job/loss_kind.hpp"

#include <array>
#include <cstdint>

namespace ballast {

// -- data ---------------------------------------------------------------------

enum class source_format : uint8_t {
  idx,
  csv,
  parquet,
  jsonl,
  arrow,
  orc,
  sql,
  synthetic,
  graph,
  images,
  webdataset,
  flight,
  list_files,
  prepared,
};
template <>
inline constexpr auto words_of<source_format> = std::to_array<std::string_view>(
    {"idx", "csv", "parquet", "jsonl", "arrow", "orc", "sql", "synthetic",
     "graph", "images", "webdataset", "flight", "list_files", "prepared"});
/// Rows that are made of image files, all of one size.
constexpr bool is_pictures(source_format what) {
  return what == source_format::images || what == source_format::webdataset;
}
/// Files of rows with named columns.
constexpr std::array table_file_formats{
    source_format::csv, source_format::parquet, source_format::jsonl,
    source_format::arrow, source_format::orc};
/// Rows with named columns that a database or a server sends: no files.
constexpr bool is_sent(source_format what) {
  return what == source_format::sql || what == source_format::flight;
}
/// Rows with named columns.
constexpr bool is_table(source_format what) {
  for (source_format one : table_file_formats)
    if (one == what)
      return true;
  return is_sent(what) || what == source_format::graph ||
         what == source_format::list_files;
}

/// What the cells of a column are read as where a file does not say it.
enum class column_type : uint8_t {
  text,
  int64,
  float64,
  boolean,
  date,
  timestamp,
};
template <>
inline constexpr auto words_of<column_type> = std::to_array<std::string_view>(
    {"text", "int64", "float64", "bool", "date", "timestamp"});
/// Files that do not say the types of their columns.
constexpr bool is_untyped(source_format what) {
  return what == source_format::csv || what == source_format::jsonl;
}

/// What becomes of a row that cannot be read, or not be trained on.
enum class error_policy : uint8_t { fail, skip, quarantine };
template <>
inline constexpr auto words_of<error_policy> =
    std::to_array<std::string_view>({"fail", "skip", "quarantine"});

enum class pipeline_op : uint8_t { scale, reshape };
template <>
inline constexpr auto words_of<pipeline_op> =
    std::to_array<std::string_view>({"scale", "reshape"});

enum class placement_kind : uint8_t {
  contiguous,
  iid,
  stratified,
  sorted,
  dirichlet,
  sizes,
  lognormal,
  linear,
  square,
  exponential,
  inner_dirichlet,
  shards,
  classes,
  matrix,
  column,
  continuous,
};
template <>
inline constexpr auto
    words_of<placement_kind> = std::to_array<std::string_view>(
        {"contiguous", "iid", "stratified", "sorted", "dirichlet", "sizes",
         "lognormal", "linear", "square", "exponential", "inner_dirichlet",
         "shards", "classes", "matrix", "column", "continuous"});

// -- model --------------------------------------------------------------------

enum class model_kind : uint8_t {
  linear,
  logistic,
  mlp,
  cnn,
  resnet18,
  transformer,
  torchscript,
  emulated,
};
template <>
inline constexpr auto words_of<model_kind> = std::to_array<std::string_view>(
    {"linear", "logistic", "mlp", "cnn", "resnet18", "transformer",
     "torchscript", "emulated"});

enum class resnet_stem : uint8_t { imagenet, cifar };
template <>
inline constexpr auto words_of<resnet_stem> =
    std::to_array<std::string_view>({"imagenet", "cifar"});

/// What `model.init` may be instead of the path of a file.
enum class model_init : uint8_t { seeded, zeros };
template <>
inline constexpr auto words_of<model_init> =
    std::to_array<std::string_view>({"default", "zeros"});

// -- training -----------------------------------------------------------------

enum class optimizer_kind : uint8_t { sgd, adam, adamw };
template <>
inline constexpr auto words_of<optimizer_kind> =
    std::to_array<std::string_view>({"sgd", "adam", "adamw"});

enum class schedule_kind : uint8_t { constant, step, cosine, linear };
template <>
inline constexpr auto words_of<schedule_kind> =
    std::to_array<std::string_view>({"constant", "step", "cosine", "linear"});

enum class compute_precision : uint8_t { float32, bfloat16 };
template <>
inline constexpr auto words_of<compute_precision> =
    std::to_array<std::string_view>({"float32", "bfloat16"});

enum class train_strategy : uint8_t { allreduce };
template <>
inline constexpr auto
    words_of<train_strategy> = std::to_array<std::string_view>({"allreduce"});

enum class sample_order : uint8_t { local, global };
template <>
inline constexpr auto words_of<sample_order> =
    std::to_array<std::string_view>({"local", "global"});

/// Models compute with all instructions of a CPU, or with those of all CPUs.
enum class kernel_choice : uint8_t { native, portable };
template <>
inline constexpr auto words_of<kernel_choice> =
    std::to_array<std::string_view>({"native", "portable"});

enum class reduction_kind : uint8_t { fused, canonical };
template <>
inline constexpr auto words_of<reduction_kind> =
    std::to_array<std::string_view>({"fused", "canonical"});

enum class compression_kind : uint8_t {
  none,
  bf16,
  int8,
  topk,
  powersgd,
  automatic
};
template <>
inline constexpr auto words_of<compression_kind> =
    std::to_array<std::string_view>({"none", "bf16", "int8", "topk", "powersgd",
                                     "auto"});

enum class collective_kind : uint8_t { automatic, ring, gloo, nccl };
template <>
inline constexpr auto words_of<collective_kind> =
    std::to_array<std::string_view>({"auto", "ring", "gloo", "nccl"});

} // namespace ballast
