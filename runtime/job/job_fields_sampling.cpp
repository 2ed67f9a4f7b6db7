/// The fields of `train.sampling`, and the rules between them.
#include "runtime/job/job_field.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace ballast {

namespace {

const std::string at = "/train/sampling";

bool needs_column(sampling_kind kind) {
  return kind == sampling_kind::weighted || kind == sampling_kind::sources ||
         kind == sampling_kind::curriculum;
}

using mistakes_t = std::vector<failure>;

void refuse_sampling(mistakes_t& mistakes, const std::string& field,
                     const std::string& why) {
  mistakes.push_back({errc::invalid_job, field + ": " + why, field});
}

void check_values(const sampling_spec& in, mistakes_t& mistakes) {
  struct list {
    const char* name;
    const std::vector<double>& numbers;
  };
  const list lists[] = {{"proportion", in.proportion},
                        {"repeat", in.repeat},
                        {"choose", in.choose}};
  const auto given =
      std::count_if(std::begin(lists), std::end(lists),
                    [](const list& one) { return !one.numbers.empty(); });
  if (in.values.empty())
    return refuse_sampling(mistakes, at + "/values",
                           "is required with the kind \"sources\": the texts "
                           "of the column " +
                               at + "/column");
  if (std::set<std::string>(in.values.begin(), in.values.end()).size() <
      in.values.size())
    refuse_sampling(mistakes, at + "/values",
                    "names a value twice; expected each once");
  if (given != 1)
    return refuse_sampling(mistakes, at,
                           "expected exactly one of \"proportion\", "
                           "\"repeat\" and \"choose\", with a number for each "
                           "of \"values\"");
  for (const list& one : lists) {
    if (one.numbers.empty())
      continue;
    if (one.numbers.size() != in.values.size())
      refuse_sampling(mistakes, at + "/" + one.name,
                      std::to_string(one.numbers.size()) + " numbers for " +
                          std::to_string(in.values.size()) +
                          " values; expected one for each");
    if (std::all_of(one.numbers.begin(), one.numbers.end(),
                    [](double number) { return number == 0; }))
      refuse_sampling(mistakes, at + "/" + one.name,
                      "all are 0; expected at least one above 0");
  }
  for (size_t i = 0; i < in.choose.size(); ++i)
    if (in.choose[i] != std::floor(in.choose[i]))
      refuse_sampling(mistakes, at + "/choose/" + std::to_string(i),
                      "is no whole number; expected how many uses these rows "
                      "have in an epoch");
  if (in.rows && in.counts_uses())
    refuse_sampling(mistakes, at + "/rows",
                    "follows from \"repeat\" or \"choose\"; leave it out, or "
                    "give \"proportion\"");
}

void add_source_fields(std::vector<job_field>& f) {
  add_field(
      f, at + "/values",
      [](job& j) -> field_place { return &j.train.sampling.values; },
      "The texts that are in the column.")
      .only_with("kind", sampling_kind::sources);
  add_field(
      f, at + "/proportion",
      [](job& j) -> field_place { return &j.train.sampling.proportion; },
      "For each value: its part of an epoch, relative to the others.")
      .between(0, 1e12)
      .only_with("kind", sampling_kind::sources);
  add_field(
      f, at + "/repeat",
      [](job& j) -> field_place { return &j.train.sampling.repeat; },
      "For each value: how often each of its rows is used in an epoch, such "
      "as 0.5 or 3.")
      .between(0, 1e6)
      .only_with("kind", sampling_kind::sources);
  add_field(
      f, at + "/choose",
      [](job& j) -> field_place { return &j.train.sampling.choose; },
      "For each value: how many uses its rows have together in an epoch, a "
      "whole number.")
      .between(0, 4e9)
      .only_with("kind", sampling_kind::sources);
}

} // namespace

void add_sampling_fields(std::vector<job_field>& f) {
  add_field(
      f, at + "/kind",
      [](job& j) -> field_place { return &j.train.sampling.kind; },
      "How often a row is used in an epoch. `once`. `class_balanced`: all "
      "classes alike. `weighted`: in proportion to a column. `sources`: by "
      "the text in a column. `stratified`: once, with every class in every "
      "batch. `curriculum`: at first only rows with a low score.");
  add_field(
      f, at + "/beta",
      [](job& j) -> field_place { return &j.train.sampling.beta; },
      "A row of a class of n rows weighs (1 - beta) / (1 - beta^n), the "
      "inverse of the class's effective number of rows. 0: all rows alike. "
      "null: 1 / n, so all classes are used equally often.")
      .below(0, 1)
      .only_with("kind", sampling_kind::class_balanced);
  add_field(
      f, at + "/column",
      [](job& j) -> field_place { return &j.train.sampling.column; },
      "The column of weights (numbers from 0), of texts, or of scores (any "
      "numbers, the easiest first). The model sees it only if `features` "
      "names it.")
      .must()
      .only_with("kind", sampling_kind::weighted, sampling_kind::sources,
                 sampling_kind::curriculum);
  add_source_fields(f);
  add_field(
      f, at + "/rows",
      [](job& j) -> field_place { return &j.train.sampling.rows; },
      "Uses in an epoch. null: as many as there are rows.")
      .between(1, 1e15)
      .only_with("kind", sampling_kind::class_balanced, sampling_kind::weighted,
                 sampling_kind::sources);
  add_field(
      f, at + "/begin",
      [](job& j) -> field_place { return &j.train.sampling.begin; },
      "The share of the rows that the first epoch uses. An epoch has the same "
      "length all the time: fewer rows are used more often.")
      .above(0, 1)
      .only_with("kind", sampling_kind::curriculum);
  add_field(
      f, at + "/full",
      [](job& j) -> field_place { return &j.train.sampling.full; },
      "The first epoch that uses all rows. null: the last.")
      .between(1, 1e6)
      .only_with("kind", sampling_kind::curriculum);
  add_field(
      f, at + "/pace",
      [](job& j) -> field_place { return &j.train.sampling.pace; },
      "How the share grows from epoch to epoch; `root`: its square does so "
      "evenly, faster at first.")
      .only_with("kind", sampling_kind::curriculum);
}

void check_sampling(const job& in, mistakes_t& mistakes) {
  for (const failure& one : mistakes)
    if (one.pointer.empty() || one.pointer.rfind("/data/train", 0) == 0 ||
        one.pointer.rfind(at, 0) == 0)
      return;
  const sampling_spec& how = in.train.sampling;
  const source_spec& train = in.data.train;
  if (needs_column(how.kind) && train.format != source_format::prepared &&
      !is_table(train.format))
    refuse_sampling(mistakes, at + "/column",
                    "\"" + to_string(train.format) +
                        "\" data have no named columns; expected a format "
                        "that has, such as \"csv\" or \"parquet\"");
  if (how.kind == sampling_kind::sources)
    check_values(how, mistakes);
  if (how.kind == sampling_kind::stratified && !in.balance.group.empty())
    refuse_sampling(mistakes, at + "/kind",
                    "a batch cannot have every class where groups of rows "
                    "stay whole; leave /balance/group out");
}

} // namespace ballast
