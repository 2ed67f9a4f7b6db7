/// Rules of `train.order`, `train.reduction` and `train.compression`: what a
/// run that is the same for every number of workers asks of the rest of its
/// job, and what sends gradients shortened. Nothing falls back in silence to
/// what is not exact.
#include "runtime/job/job_field.hpp"
#include "runtime/job/rule_book.hpp"

#include <bit>

namespace ballast {

namespace {

void check_global(const job& in, rule_book& book) {
  const train_spec& train = in.train;
  const std::string leaves = std::to_string(train.leaves);
  if (!std::has_single_bit(train.leaves))
    book.refuse({"/train/leaves", "/train/order"},
                leaves + " is no power of two; expected " +
                    std::to_string(std::bit_floor(train.leaves)) + " or " +
                    std::to_string(std::bit_ceil(train.leaves)));
  if (train.global_batch < train.leaves)
    book.refuse({"/train/global_batch", "/train/leaves", "/train/order"},
                std::to_string(train.global_batch) +
                    " rows cannot be cut into " + leaves +
                    " leaves (/train/leaves); expected at least " + leaves +
                    ", or fewer leaves");
  if (train.sampling.kind == sampling_kind::stratified)
    book.refuse({"/train/sampling/kind", "/train/order"},
                "\"stratified\" orders the rows of each chunk, the order "
                "\"global\" those of the whole set; expected another kind of "
                "sampling, or the order \"local\" (/train/order)");
}

void check_canonical(const job& in, rule_book& book) {
  const train_spec& train = in.train;
  if (train.order != sample_order::global)
    book.refuse(
        {"/train/reduction", "/train/order"},
        "\"canonical\" adds up the leaves of a step, which the order \"" +
            to_string(train.order) +
            "\" does not cut; expected \"fused\", or the order "
            "\"global\" (/train/order)");
  if (train.collective == collective_kind::gloo ||
      train.collective == collective_kind::nccl)
    book.refuse({"/train/collective", "/train/reduction"},
                "\"" + to_string(train.collective) +
                    "\" sums in an order of its own; the reduction "
                    "\"canonical\" needs \"ring\" or \"auto\"");
  if (train.importance.by != importance_score::none)
    book.refuse({"/train/importance/by", "/train/reduction"},
                "rows are drawn by scores among those of one worker, so the "
                "gradient depends on the number of workers; the reduction "
                "\"canonical\" needs \"none\"");
}

void check_compression(const job& in, rule_book& book) {
  const train_spec& train = in.train;
  const std::string kind = "\"" + to_string(train.compression) + "\"";
  if (train.reduction == reduction_kind::canonical)
    book.refuse({"/train/compression", "/train/reduction"},
                kind + " changes what is added up, by worker; the reduction "
                       "\"canonical\" (/train/reduction) adds up the same bits "
                       "for all: expected \"none\", or the reduction "
                       "\"fused\"");
  if (train.collective == collective_kind::gloo ||
      train.collective == collective_kind::nccl)
    book.refuse({"/train/compression", "/train/collective"},
                kind + " needs the collective \"ring\"; \"" +
                    to_string(train.collective) +
                    "\" (/train/collective) cannot carry it: expected "
                    "\"none\", or the collective \"ring\" or \"auto\"");
}

void check_verify(const job& in, rule_book& book) {
  if (in.train.reduction == reduction_kind::canonical)
    return;
  book.refuse({"/verify/every_steps", "/train/reduction"},
              "the reduction \"" + to_string(in.train.reduction) +
                  "\" (/train/reduction) has no leaves that another worker "
                  "could compute again to the same bits; expected 0, or the "
                  "reduction \"canonical\"");
}

} // namespace

void check_reproducible(const job& in, std::vector<failure>& mistakes) {
  rule_book book(mistakes);
  if (in.train.order == sample_order::global)
    check_global(in, book);
  if (in.train.reduction == reduction_kind::canonical)
    check_canonical(in, book);
  if (in.train.compression != compression_kind::none)
    check_compression(in, book);
  if (in.verify.every_steps > 0)
    check_verify(in, book);
}

} // namespace ballast
