#include "runtime/job/job_field.hpp"
#include "runtime/job/track_kind.hpp"

namespace ballast {

namespace {

using fields_t = std::vector<job_field>;

void add_head(fields_t& f) {
  add_field(
      f, "/version", [](job& j) -> field_place { return &j.version; },
      "Version of this format.")
      .between(1, 1);
  add_field(
      f, "/name", [](job& j) -> field_place { return &j.name; },
      "Name of the run; its run directory is `runs/NAME-N`.")
      .is(text_kind::name);
  add_field(
      f, "/seed", [](job& j) -> field_place { return &j.seed; },
      "Everything random follows from it: initial weights, order, split. With "
      "`balance` enabled the same seed may still give other weights, because "
      "how many rows of a step each worker takes follows measured speeds; "
      "with `train.reduction` canonical it gives the same bits.")
      .between(0, 9007199254740991.0); // exact in every JSON reader
}

void add_model(fields_t& f) {
  add_field(
      f, "/model/kind", [](job& j) -> field_place { return &j.model.kind; },
      "What is trained. `linear` has one output column (regression), "
      "`logistic` one per class; `emulated` measures the runtime itself. "
      "docs/models.md describes them.")
      .must();
  add_field(
      f, "/model/hidden", [](job& j) -> field_place { return &j.model.hidden; },
      "Widths of the hidden layers.")
      .between(1, 1e6)
      .items(1, 64)
      .otherwise({128})
      .only_with("kind", model_kind::mlp);
  add_field(
      f, "/model/channels",
      [](job& j) -> field_place { return &j.model.channels; },
      "Channels of the 3x3 convolutions, each followed by a 2x2 pooling.")
      .between(1, 65536)
      .items(1, 16)
      .otherwise({16, 32})
      .only_with("kind", model_kind::cnn);
  add_field(
      f, "/model/batch_norm",
      [](job& j) -> field_place { return &j.model.batch_norm; },
      "Batch normalisation after each convolution.")
      .only_with("kind", model_kind::cnn);
  add_field(
      f, "/model/dropout",
      [](job& j) -> field_place { return &j.model.dropout; },
      "Part of the last layer's inputs that is dropped in training.")
      .below(0, 1)
      .only_with("kind", model_kind::cnn);
  add_field(
      f, "/model/stem", [](job& j) -> field_place { return &j.model.stem; },
      "First layers. `imagenet`: convolution 7x7 with stride 2, then a "
      "pooling with stride 2, as published; images from 33 x 33. `cifar`: "
      "convolution 3x3 with stride 1; images from 9 x 9.")
      .only_with("kind", model_kind::resnet18);
  add_field(
      f, "/model/layers", [](job& j) -> field_place { return &j.model.layers; },
      "Blocks of attention and MLP.")
      .between(1, 1024)
      .only_with("kind", model_kind::transformer);
  add_field(
      f, "/model/width", [](job& j) -> field_place { return &j.model.width; },
      "Values that stand for a token; a multiple of `heads`.")
      .between(1, 65536)
      .only_with("kind", model_kind::transformer);
  add_field(
      f, "/model/heads", [](job& j) -> field_place { return &j.model.heads; },
      "Heads of each attention.")
      .between(1, 1024)
      .only_with("kind", model_kind::transformer);
  add_field(
      f, "/model/vocabulary",
      [](job& j) -> field_place { return &j.model.vocabulary; },
      "Number of tokens that it knows; null: as many as the data need.")
      .between(2, 16777216)
      .only_with("kind", model_kind::transformer);
  add_field(
      f, "/model/init", [](job& j) -> field_place { return &j.model.init; },
      "Initial parameters: `default` (seeded), `zeros` (`linear` and "
      "`logistic` only), or the path of a `.safetensors` file.")
      .one_of({to_string(model_init::seeded), to_string(model_init::zeros)})
      .is(text_kind::path_or_word)
      .only_with("kind", model_kind::linear, model_kind::logistic,
                 model_kind::mlp, model_kind::cnn, model_kind::resnet18,
                 model_kind::transformer, model_kind::torchscript);
  add_field(
      f, "/model/path", [](job& j) -> field_place { return &j.model.path; },
      "A TorchScript module, read by every worker.")
      .is(text_kind::path)
      .must()
      .only_with("kind", model_kind::torchscript);
  add_field(
      f, "/model/loss", [](job& j) -> field_place { return &j.model.loss; },
      "Name of a method of the module, of outputs and labels, that returns the "
      "loss of each row, in place of the formula of `train.loss`, which then "
      "says what the label is, how many outputs there are and which metrics "
      "fit. Empty: that formula. [models.md](models.md#a-loss-of-your-own) has "
      "an example.")
      .only_with("kind", model_kind::torchscript);
  add_field(
      f, "/model/parameters",
      [](job& j) -> field_place { return &j.model.parameters; },
      "Number of parameters of the emulated model.")
      .between(0, 1e10)
      .only_with("kind", model_kind::emulated);
  add_field(
      f, "/model/us_per_sample",
      [](job& j) -> field_place { return &j.model.us_per_sample; },
      "Microseconds that a row costs.")
      .between(0, 60e6)
      .only_with("kind", model_kind::emulated);
  add_field(
      f, "/model/us_per_step",
      [](job& j) -> field_place { return &j.model.us_per_step; },
      "Microseconds that a step costs, whatever its rows.")
      .between(0, 600e6)
      .only_with("kind", model_kind::emulated);
}

void add_modes(fields_t& f) {
  add_field(
      f, "/train/precision",
      [](job& j) -> field_place { return &j.train.precision; },
      "Number format of forward and backward passes. `bfloat16`: of their "
      "matrix products, convolutions and attention; parameters, gradients, "
      "sums and the update stay float32.");
  add_field(
      f, "/train/strategy",
      [](job& j) -> field_place { return &j.train.strategy; },
      "How workers agree on an update.")
      .later_builds({"local_sgd", "parameter_server", "pipeline", "hybrid"});
  add_field(
      f, "/train/order", [](job& j) -> field_place { return &j.train.order; },
      "`local`: every worker draws from the rows it owns. `global`: all rows "
      "are drawn in one order, whatever workers there are; what a worker owns "
      "says only who holds the bytes.");
  add_field(
      f, "/train/leaves", [](job& j) -> field_place { return &j.train.leaves; },
      "The equal parts into which a step is cut, a power of two. A worker "
      "takes one or more; workers beyond that number wait as spares.")
      .between(1, 1024)
      .only_with("order", sample_order::global);
  add_field(
      f, "/train/reduction",
      [](job& j) -> field_place { return &j.train.reduction; },
      "`fused`: sums as fast as possible, in the order of the backend. "
      "`canonical`: in one fixed order over the leaves, so that the weights "
      "are the same bits for every number of workers and whatever dies.");
  add_field(
      f, "/train/kernels",
      [](job& j) -> field_place { return &j.train.kernels; },
      "`native`: models compute with the best instructions of a CPU, so that "
      "the bits are those of CPUs that are alike. `portable`: with AVX2 at "
      "most, so that they are the same on every CPU that has it.")
      .only_with("reduction", reduction_kind::canonical);
  add_field(
      f, "/train/digest_every_steps",
      [](job& j) -> field_place { return &j.train.digest_every_steps; },
      "Every so many steps all workers compare digests of their parameters, "
      "and `digests.jsonl` gets them; 0: never.")
      .between(0, 1e9)
      .only_with("reduction", reduction_kind::canonical);
  add_field(
      f, "/train/compression",
      [](job& j) -> field_place { return &j.train.compression; },
      "How gradients travel. `bf16`: half of the bytes; `int8`: a quarter; "
      "`topk`: the largest values; `powersgd`: two thin factors a matrix; "
      "`auto`: `int8` where it is faster.");
  add_field(
      f, "/train/compression_ratio",
      [](job& j) -> field_place { return &j.train.compression_ratio; },
      "The part of the values that `topk` sends.")
      .above(0, 1)
      .only_with("compression", compression_kind::topk);
  add_field(
      f, "/train/compression_warmup_steps",
      [](job& j) -> field_place { return &j.train.compression_warmup_steps; },
      "Steps of `topk` in which more than `compression_ratio` is sent: a "
      "quarter of the values first, then a quarter of that, and so on.")
      .between(0, 1e12)
      .only_with("compression", compression_kind::topk);
  add_field(
      f, "/train/compression_rank",
      [](job& j) -> field_place { return &j.train.compression_rank; },
      "Columns of the factors of `powersgd`.")
      .between(1, 64)
      .only_with("compression", compression_kind::powersgd);
  add_field(
      f, "/train/collective",
      [](job& j) -> field_place { return &j.train.collective; },
      "What sums the gradients: `ring` for workers on CPUs and on GPUs, whose "
      "buckets go through the host's memory; `nccl` between GPUs, one worker "
      "each; `auto` takes `nccl` for every generation in which that is "
      "possible, else `ring`.");
}

void add_train(fields_t& f) {
  add_field(
      f, "/train/epochs", [](job& j) -> field_place { return &j.train.epochs; },
      "Passes over the training set.")
      .between(1, 1e6);
  add_field(
      f, "/train/global_batch",
      [](job& j) -> field_place { return &j.train.global_batch; },
      "Rows of one step, over all workers. An epoch has ceil(rows / "
      "global_batch) steps, the last one short.")
      .between(1, 16777216);
  add_field(
      f, "/train/shuffle/window_chunks",
      [](job& j) -> field_place { return &j.train.shuffle.window_chunks; },
      "A worker draws its next row from so many of its chunks at a time, and "
      "takes them in a random order of their own each epoch: of a set larger "
      "than memory no more than these need to be there. null: from all of its "
      "rows, if they fit into the memory of the workers when the run begins; "
      "of `stratified` sampling 1. Of order `global` all workers draw from the "
      "same window, and null is always the whole set: what draws are from "
      "would else depend on the workers.")
      .between(1, 65536);
  add_sampling_fields(f);
  add_field(
      f, "/train/micro_batch",
      [](job& j) -> field_place { return &j.train.micro_batch; },
      "Most rows of one forward pass; gradients accumulate over the rest. "
      "null: no limit.")
      .between(1, 16777216);
  add_field(
      f, "/train/activation_checkpointing",
      [](job& j) -> field_place { return &j.train.activation_checkpointing; },
      "Of each block of a `transformer` or a `resnet18` only its input is kept "
      "until the gradients are computed, and the block is computed once more "
      "then: less memory, a third more to compute, the same gradients bit by "
      "bit.");
  add_loss_fields(f);
  add_field(
      f, "/train/clip_norm",
      [](job& j) -> field_place { return &j.train.clip_norm; },
      "Longest gradient, as an L2 norm over all parameters; longer ones are "
      "scaled down. null: no limit.")
      .above(0, 1e12);
  add_importance_fields(f);
  add_optimizer_fields(f);
  add_modes(f);
  add_field(
      f, "/train/threads",
      [](job& j) -> field_place { return &j.train.threads; },
      "Compute threads of a worker, at most its machine's cores; 0: cores / "
      "workers on the machine.")
      .between(0, 1024);
}

void add_verify(fields_t& f) {
  add_field(
      f, "/verify/every_steps",
      [](job& j) -> field_place { return &j.verify.every_steps; },
      "Every so many steps each worker computes one leaf of another worker "
      "again, and a step whose bits differ is not applied: a core or a memory "
      "that errs is found, and the worker left out. Of reduction `canonical`; "
      "0: never.")
      .between(0, 1e9);
}

void add_elastic(fields_t& f) {
  add_field(
      f, "/elastic/workers",
      [](job& j) -> field_place { return &j.elastic.workers; },
      "Workers that the job starts with.")
      .between(1, 1024);
  add_field(
      f, "/elastic/min_workers",
      [](job& j) -> field_place { return &j.elastic.min_workers; },
      "With fewer the job waits.")
      .between(1, 1024);
  add_field(
      f, "/elastic/max_workers",
      [](job& j) -> field_place { return &j.elastic.max_workers; },
      "More do not take part.")
      .between(1, 1024);
  add_field(
      f, "/elastic/respawn",
      [](job& j) -> field_place { return &j.elastic.respawn; },
      "`ballast run` starts a new worker for a lost one.");
  add_field(
      f, "/elastic/respawn_limit",
      [](job& j) -> field_place { return &j.elastic.respawn_limit; },
      "Workers that may die before their first step within the window below.")
      .between(0, 1000);
  add_field(
      f, "/elastic/respawn_window_s",
      [](job& j) -> field_place { return &j.elastic.respawn_window_s; },
      "Seconds in which they are counted.")
      .between(1, 86400);
  add_field(
      f, "/elastic/heartbeat_ms",
      [](job& j) -> field_place { return &j.elastic.heartbeat_ms; },
      "Milliseconds between signs of life; every other timeout of the "
      "failure detector derives from it.")
      .between(10, 60000);
  add_field(
      f, "/elastic/grace_s",
      [](job& j) -> field_place { return &j.elastic.grace_s; },
      "Seconds that a process gets to end in good order, and that a run "
      "waits for space on a full disk.")
      .between(0, 86400);
  add_field(
      f, "/elastic/orphan_s",
      [](job& j) -> field_place { return &j.elastic.orphan_s; },
      "Seconds that workers without a coordinator keep their state.")
      .between(0, 86400);
}

void add_tail(fields_t& f) {
  add_field(
      f, "/balance/enabled",
      [](job& j) -> field_place { return &j.balance.enabled; },
      "Whether batches follow the speed of the workers, and data their batches "
      "and the distribution of labels, while the run goes on.");
  add_field(
      f, "/balance/skew_tv",
      [](job& j) -> field_place { return &j.balance.skew_tv; },
      "Label skew of a worker that is good enough: total variation distance "
      "between the labels it owns and all of them. Moves begin beyond 1.25 "
      "times this, and beyond twice what chance gives to so few rows.")
      .between(0, 1);
  add_field(
      f, "/balance/by", [](job& j) -> field_place { return &j.balance.by; },
      "What is counted for that instead of the label (or of bins of the "
      "target): the joint values of these columns of the source, the label or "
      "any others. A column of more than 16 different numbers is cut into 16 "
      "bins of about equally many rows, one of text keeps its 64 most frequent "
      "values; an empty cell is a value, too. The model does not see them "
      "unless they are among its features.")
      .items(0, 4);
  add_field(
      f, "/balance/group",
      [](job& j) -> field_place { return &j.balance.group; },
      "Column of the source: rows with the same value of it begin on one "
      "worker, lie in one chunk and move together; a chunk then has more rows "
      "than `chunk_rows` where a group has, and none is cut. Empty: no "
      "groups.");
  add_field(
      f, "/checkpoint/every_steps",
      [](job& j) -> field_place { return &j.checkpoint.every_steps; },
      "Steps between checkpoints.")
      .between(1, 1e12);
  add_field(
      f, "/checkpoint/every_s",
      [](job& j) -> field_place { return &j.checkpoint.every_s; },
      "Least seconds between checkpoints on the disk, however quick the steps "
      "are; 0: "
      "only the steps count. A copy that is asked for, and the last one of a "
      "run that is stopped, are made in any case.")
      .between(0, 86400);
  add_field(
      f, "/checkpoint/keep",
      [](job& j) -> field_place { return &j.checkpoint.keep; },
      "Newest checkpoints on the disk that are kept.")
      .between(1, 1000);
  add_field(
      f, "/checkpoint/memory_every_s",
      [](job& j) -> field_place { return &j.checkpoint.memory_every_s; },
      "Least seconds between checkpoints in the memory of the coordinator's "
      "host, if that is less than `every_s`; 0: none are made there. Refused "
      "at the start where two of them do not fit; null: 30, and none where "
      "they do not fit.")
      .between(0, 86400);
  add_field(
      f, "/checkpoint/copy_to",
      [](job& j) -> field_place { return &j.checkpoint.copy_to; },
      "A place that each checkpoint on the disk is copied to, with what a run "
      "needs to go on from it where its folder is lost, and the model at the "
      "end: a folder, or a URI like `s3://BUCKET/FOLDER`, which no other run "
      "uses. `keep` holds there, too. Empty: nowhere.")
      .is(text_kind::place);
  add_field(
      f, "/faults", [](job& j) -> field_place { return &j.faults; },
      "Allow the control messages that inject faults.");
  add_field(
      f, "/track", [](job& j) -> field_place { return &j.track; },
      "Files for trackers, in `track/` of the run directory: `tensorboard` "
      "writes event files (`tensorboard --logdir RUN_DIR/track`), `csv` tables "
      "of the steps and of the evaluations. Each committed step is in them "
      "once, whatever died. [observing.md](observing.md#trackers) tells more.")
      .one_of({to_string(track_kind::tensorboard), to_string(track_kind::csv)})
      .items(0, 2);
  add_field(
      f, "/trace_samples",
      [](job& j) -> field_place { return &j.trace_samples; },
      "Every worker records which samples it used, in `trace/`.");
}

} // namespace

std::vector<job_field> job_fields(const job_form& form) {
  fields_t fields;
  add_head(fields);
  add_data_fields(fields, form);
  add_model(fields);
  add_train(fields);
  add_elastic(fields);
  add_verify(fields);
  add_evaluate_fields(fields);
  add_course_fields(fields);
  add_tail(fields);
  return fields;
}

} // namespace ballast
