#include "runtime/job/job_field.hpp"

namespace ballast {

namespace {

using fields_t = std::vector<job_field>;

std::vector<std::string> file_words() {
  std::vector<std::string> out;
  for (source_format one : table_file_formats)
    out.push_back(to_string(one));
  return out;
}

std::vector<std::string> table_words() {
  std::vector<std::string> out = file_words();
  out.push_back(to_string(source_format::sql));
  out.push_back(to_string(source_format::flight));
  out.push_back(to_string(source_format::graph));
  return out;
}

/// All but those that only a graph reads.
std::vector<std::string> trained_words() {
  std::vector<std::string> out;
  for (std::string_view one : words_of<source_format>)
    if (one != to_string(source_format::list_files))
      out.emplace_back(one);
  return out;
}

std::vector<std::string> types_of_columns() {
  return {words_of<column_type>.begin(), words_of<column_type>.end()};
}

/// What a database needs beside its address.
void add_database(fields_t& f, const std::string& prefix,
                  const source_access& of) {
  add_field(
      f, prefix + "/uri", [of](job& j) -> field_place { return &of(j).uri; },
      "`postgresql://user@host:5432/database`, `sqlite:///folder/file.db`, or "
      "of Flight SQL `grpc://host:port` or `grpc+tls://host:port`; without a "
      "password.")
      .must()
      .only_with("format", source_format::sql);
  add_field(
      f, prefix + "/uri", [of](job& j) -> field_place { return &of(j).uri; },
      "`grpc://host:port/path` or `grpc+tls://user@host:port/path`, the path "
      "as "
      "the server lists it; without a password.")
      .must()
      .only_with("format", source_format::flight);
  add_field(
      f, prefix + "/query",
      [of](job& j) -> field_place { return &of(j).query; },
      "The rows are the answer to it. Either this or `table`.")
      .only_with("format", source_format::sql);
  add_field(
      f, prefix + "/query",
      [of](job& j) -> field_place { return &of(j).query; },
      "The command that names the rows, sent as it is. Without it the path of "
      "`uri` names them.")
      .only_with("format", source_format::flight);
  add_field(
      f, prefix + "/table",
      [of](job& j) -> field_place { return &of(j).table; },
      "The rows are those of this table: `name`, or `schema.name`.")
      .only_with("format", source_format::sql);
  add_field(
      f, prefix + "/password_env",
      [of](job& j) -> field_place { return &of(j).password_env; },
      "The variable of the environment that holds the password; of a Flight "
      "server without a user in `uri` the bearer token.")
      .only_with("format", source_format::sql, source_format::flight);
  add_field(
      f, prefix + "/password_file",
      [of](job& j) -> field_place { return &of(j).password_file; },
      "Or the file that does.")
      .is(text_kind::path)
      .only_with("format", source_format::sql, source_format::flight);
  add_field(
      f, prefix + "/partition_by",
      [of](job& j) -> field_place { return &of(j).partition_by; },
      "Of PostgreSQL: a column of whole numbers, in whose order the rows come; "
      "parts of it are read side by side. Without it those of a table are, in "
      "the order of its pages.")
      .only_with("format", source_format::sql);
  add_field(
      f, prefix + "/connections",
      [of](job& j) -> field_place { return &of(j).connections; },
      "Of PostgreSQL and Flight; null: 4 where the rows can be divided, else "
      "1. "
      "The order of the rows does not depend on it.")
      .between(1, 64)
      .only_with("format", source_format::sql, source_format::flight);
}

} // namespace

void add_table_fields(fields_t& f, const std::string& prefix,
                      const source_access& of) {
  add_field(
      f, prefix + "/uri", [of](job& j) -> field_place { return &of(j).uri; },
      "A path, a glob, or a URI: `file://`, `s3://`, `gs://`, `abfs://`, "
      "`hdfs://`; `-` is standard input. Credentials come from the "
      "environment.")
      .is(text_kind::uri)
      .must()
      .only_with("format", file_words());
  add_database(f, prefix, of);
  add_field(
      f, prefix + "/null_values",
      [of](job& j) -> field_place { return &of(j).null_values; },
      "Texts of cells that are missing, such as `NA`; an empty cell always is. "
      "A missing value in a column that is trained on is an error, unless "
      "`where` takes only rows that have it.")
      .items(0, 64)
      .only_with("format", source_format::csv);
  add_field(
      f, prefix + "/columns",
      [of](job& j) -> field_place { return &of(j).columns; },
      "Of csv and jsonl: what the cells of a column are, such as {\"id\": "
      "\"text\"}; of a column that is not named its cells say so. bool: true, "
      "false, yes, no, 1, 0; date: 2026-01-31; timestamp: ISO 8601. Other "
      "formats have types of their own, which `cast` changes.")
      .items(0, 65536)
      .one_of(types_of_columns())
      .only_with("format", table_words());
}

namespace {

/// What image files need.
void add_pictures(fields_t& f, const std::string& prefix,
                  const source_access& of) {
  constexpr double side_max = 1024;
  add_field(
      f, prefix + "/uri", [of](job& j) -> field_place { return &of(j).uri; },
      "The folder, on this machine; in it a folder for each class, numbered in "
      "the order of their names.")
      .is(text_kind::uri)
      .must()
      .only_with("format", source_format::images);
  add_field(
      f, prefix + "/uri", [of](job& j) -> field_place { return &of(j).uri; },
      "The archives, also gzipped: a path, a glob, or a URI as of a table. "
      "KEY.jpg or KEY.png, and right beside it KEY.cls with a number, or "
      "KEY.json with one as `label` or `cls`.")
      .is(text_kind::uri)
      .must()
      .only_with("format", source_format::webdataset);
  add_field(
      f, prefix + "/size", [of](job& j) -> field_place { return &of(j).size; },
      "Height and width that every image is brought to, [64, 64] or 64: scaled "
      "until it just covers them, then the middle is taken. A row has the "
      "shape [3, height, width].")
      .between(1, side_max)
      .items(1, 2)
      .one_or_more()
      .must()
      .only_with("format", source_format::images, source_format::webdataset);
}

/// A set that another job prepared.
void add_prepared(fields_t& f, const std::string& prefix,
                  const source_access& of) {
  add_field(
      f, prefix + "/uri", [of](job& j) -> field_place { return &of(j).uri; },
      "The folder to which `ballast data prepare JOB --to URI` wrote a set: a "
      "path, `file://`, `s3://`, `gs://`. Each worker reads the byte ranges "
      "of its chunks there. The set says how its rows are divided, placed and "
      "cut, so the job says nothing of it.")
      .is(text_kind::uri)
      .must()
      .only_with("format", source_format::prepared);
}

/// One source of rows, at `prefix`.
void add_source(fields_t& f, const std::string& prefix,
                const source_access& of) {
  add_field(
      f, prefix + "/format",
      [of](job& j) -> field_place { return &of(j).format; },
      "`idx`: images and labels as in MNIST, also gzipped; `jsonl`: an object "
      "in each line; `arrow`: Feather, or an IPC stream; `sql`: a database; "
      "`flight`: what an Arrow Flight server lists; `synthetic`: "
      "seeded class means with noise, or with the loss `next_token` tokens of "
      "which each has a favourite successor; `graph`: what a node of "
      "`data.graph` gives, which `from` alone says, too; `images`: a folder "
      "with a folder of JPEG and PNG files for each class; `webdataset`: such "
      "files in tar archives, beside each its class; `prepared`: a set that "
      "was prepared before, wherever it lies.")
      .one_of(trained_words())
      .must();
  add_field(
      f, prefix + "/images",
      [of](job& j) -> field_place { return &of(j).images; },
      "File with the images.")
      .is(text_kind::path)
      .must()
      .only_with("format", source_format::idx);
  add_field(
      f, prefix + "/labels",
      [of](job& j) -> field_place { return &of(j).labels; },
      "File with the labels.")
      .is(text_kind::path)
      .must()
      .only_with("format", source_format::idx);
  add_table_fields(f, prefix, of);
  add_pictures(f, prefix, of);
  add_prepared(f, prefix, of);
  add_field(
      f, prefix + "/from", [of](job& j) -> field_place { return &of(j).from; },
      "The node, or the source, whose rows these are: a name of `data.graph` "
      "or `data.sources`.")
      .is(text_kind::name)
      .must()
      .only_with("format", source_format::graph);
  add_field(
      f, prefix + "/label",
      [of](job& j) -> field_place { return &of(j).label; },
      "Column with the label: class numbers from 0, or any number for `mse`; "
      "required with these. Rows for `next_token` have none.")
      .only_with("format", table_words());
  add_field(
      f, prefix + "/features",
      [of](job& j) -> field_place { return &of(j).features; },
      "Columns that the model sees, in this order; empty: every other column "
      "of numbers; those of text are named on stderr, those with both are "
      "refused. With `next_token` each holds one token of the row.")
      .items(0, 65536)
      .only_with("format", table_words());
  add_field(
      f, prefix + "/where",
      [of](job& j) -> field_place { return &of(j).where; },
      "Only rows of which this is true, such as `amount > 0 and city is not "
      "null`; of a row that lacks a value it is not.")
      .only_with("format", table_words());
  add_field(
      f, prefix + "/rows", [of](job& j) -> field_place { return &of(j).rows; },
      "Number of rows.")
      .between(1, 1e10)
      .must()
      .only_with("format", source_format::synthetic);
  add_field(
      f, prefix + "/classes",
      [of](job& j) -> field_place { return &of(j).classes; },
      "Number of classes; with `next_token` of tokens.")
      .between(2, 65536)
      .must()
      .only_with("format", source_format::synthetic);
  add_field(
      f, prefix + "/features",
      [of](job& j) -> field_place { return &of(j).width; },
      "Numbers, or tokens, in a row.")
      .between(1, 1e6)
      .only_with("format", source_format::synthetic);
}

void add_pipeline_step(fields_t& f, size_t index) {
  std::string prefix = "/data/pipeline/" + std::to_string(index);
  auto step = [index](job& j) -> pipeline_step& {
    if (j.data.pipeline.size() <= index)
      j.data.pipeline.resize(index + 1);
    return j.data.pipeline[index];
  };
  job_field& op = add_field(
      f, prefix + "/op", [step](job& j) -> field_place { return &step(j).op; },
      "What is done to every row; steps are applied in order.");
  op.must();
  op.later_open = true;
  add_field(
      f, prefix + "/factor",
      [step](job& j) -> field_place { return &step(j).factor; },
      "Every value is multiplied by it.")
      .between(-1e30, 1e30)
      .must()
      .only_with("op", pipeline_op::scale);
  add_field(
      f, prefix + "/shape",
      [step](job& j) -> field_place { return &step(j).shape; },
      "Shape of a row, such as [3, 64, 64] (channels, height, width); the "
      "values and their order stay.")
      .between(1, 1e6)
      .items(1, 4)
      .must()
      .only_with("op", pipeline_op::reshape);
}

void add_placement(fields_t& f) {
  add_field(
      f, "/data/placement/kind",
      [](job& j) -> field_place { return &j.data.placement.kind; },
      "`contiguous`: in the order of the files; `iid`: at random. "
      "By size: `sizes` in given proportions; `lognormal`; `linear`, `square`, "
      "`exponential` as i, i^2, e^i for worker i. "
      "By label: `stratified` with equal label shares; `sorted` (the worst "
      "skew); `shards` of the sorted rows, dealt at random; `classes`: only a "
      "few for each worker; `matrix` with given label shares; `dirichlet`: "
      "each label split at random; `inner_dirichlet`: given sizes, each worker "
      "a random mix of labels. "
      "By a column: `column` keeps equal values together; `continuous` sorts "
      "by it, more or less.");
  add_field(
      f, "/data/placement/alpha",
      [](job& j) -> field_place { return &j.data.placement.alpha; },
      "Concentration; the smaller, the more uneven.")
      .above(0, 1e6)
      .only_with("kind", placement_kind::dirichlet,
                 placement_kind::inner_dirichlet);
  add_field(
      f, "/data/placement/min_rows",
      [](job& j) -> field_place { return &j.data.placement.min_rows; },
      "Who would have fewer takes them from whoever has most.")
      .between(1, 1e10)
      .only_with("kind", placement_kind::dirichlet);
  add_field(
      f, "/data/placement/balanced",
      [](job& j) -> field_place { return &j.data.placement.balanced; },
      "A worker that has an equal part of all rows takes none of the classes "
      "that follow.")
      .only_with("kind", placement_kind::dirichlet);
  const field_access shares = [](job& j) -> field_place {
    return &j.data.placement.shares;
  };
  add_field(f, "/data/placement/shares", shares,
            "One positive number for each worker.")
      .above(0, 1e12)
      .items(1, 1024)
      .must()
      .only_with("kind", placement_kind::sizes);
  add_field(f, "/data/placement/shares", shares,
            "One positive number for each worker; empty: equal sizes.")
      .above(0, 1e12)
      .items(0, 1024)
      .only_with("kind", placement_kind::inner_dirichlet);
  add_field(
      f, "/data/placement/sigma",
      [](job& j) -> field_place { return &j.data.placement.sigma; },
      "Standard deviation of the logarithm of the sizes; 0: all equal.")
      .between(0, 10)
      .only_with("kind", placement_kind::lognormal);
  add_field(
      f, "/data/placement/shards_per_worker",
      [](job& j) -> field_place { return &j.data.placement.shards_per_worker; },
      "Shards that each worker gets.")
      .between(1, 65536)
      .only_with("kind", placement_kind::shards);
  add_field(
      f, "/data/placement/classes_per_worker",
      [](job& j) -> field_place {
        return &j.data.placement.classes_per_worker;
      },
      "Classes that each worker has; together all must be there.")
      .between(1, 65536)
      .only_with("kind", placement_kind::classes);
  add_field(
      f, "/data/placement/matrix",
      [](job& j) -> field_place { return &j.data.placement.matrix; },
      "A row for each worker, in it a weight for each class: the rows of a "
      "class are split in proportion to its column.")
      .between(0, 1e12)
      .items(1, 65536)
      .must()
      .only_with("kind", placement_kind::matrix);
  add_field(
      f, "/data/placement/column",
      [](job& j) -> field_place { return &j.data.placement.column; },
      "The label or one of the features (whole numbers: exact up to 2^24). "
      "`column`: the groups of equal values are dealt so that sizes become as "
      "equal as they can.")
      .must()
      .only_with("kind", placement_kind::column, placement_kind::continuous);
  add_field(
      f, "/data/placement/strictness",
      [](job& j) -> field_place { return &j.data.placement.strictness; },
      "1: sorted by the column; 0: at random; between: blurred.")
      .between(0, 1)
      .only_with("kind", placement_kind::continuous);
}

} // namespace

void add_data_fields(std::vector<job_field>& f, const job_form& form) {
  add_graph_fields(f, form);
  add_source(f, "/data/train",
             [](job& j) -> source_spec& { return j.data.train; });
  if (form.test)
    add_source(f, "/data/test", [](job& j) -> source_spec& {
      return j.data.test ? *j.data.test : j.data.test.emplace();
    });
  add_field(
      f, "/data/on_error",
      [](job& j) -> field_place { return &j.data.on_error; },
      "What becomes of a row that cannot be read, or not be trained on: "
      "`fail`: the data are refused, with the first such row; `skip`: it is "
      "left out and counted; `quarantine`: it is also written to "
      "`quarantine.jsonl` of the run, with the reason. The rows of "
      "`data.train`, "
      "`data.test` and all of `data.sources`.");
  add_field(
      f, "/data/errors_max",
      [](job& j) -> field_place { return &j.data.errors_max; },
      "The part of the rows read that may be left out; more of them are an "
      "error. Looked at from 1,000 rows on, and at the end.")
      .between(0, 1)
      .only_with("on_error", error_policy::skip, error_policy::quarantine);
  add_field(
      f, "/data/test_fraction",
      [](job& j) -> field_place { return &j.data.test_fraction; },
      "Part of the rows that is kept for evaluation, stratified by label "
      "(not for `mse`); 0: no evaluation.")
      .below(0, 1)
      .only_without("test");
  for (size_t i = 0; i < form.pipeline_steps; ++i)
    add_pipeline_step(f, i);
  add_augment_fields(f, form);
  add_field(
      f, "/data/chunk_rows",
      [](job& j) -> field_place { return &j.data.chunk_rows; },
      "Rows of a chunk, the unit in which data moves. null: 256, fewer where a "
      "worker would begin with less than 32 chunks, more where with over "
      "4096.")
      .between(1, 1048576);
  add_field(
      f, "/data/memory_mb",
      [](job& j) -> field_place { return &j.data.memory_mb; },
      "MiB of memory in which a worker keeps rows. null: its part of four "
      "fifths of its machine. A set that does not fit is drawn "
      "from a window (`train.shuffle.window_chunks`).")
      .between(1, 1e9);
  add_field(
      f, "/data/disk_mb", [](job& j) -> field_place { return &j.data.disk_mb; },
      "MiB of its cache's disk on which a worker keeps chunks that its memory "
      "has no room for, so that they come over the network once; where the "
      "cache has the prepared set, nothing is kept twice. null: none.")
      .between(1, 1e9);
  add_placement(f);
}

} // namespace ballast
