#include "runtime/graph/operator_catalogue.hpp"

#include "runtime/graph/check_rules.hpp"
#include "runtime/graph/resampling_methods.hpp"

#include <algorithm>

namespace ballast::graph {

namespace {

using text = std::string;
using texts = std::vector<std::string>;
using numbers = std::vector<double>;
using by_column = std::map<std::string, std::string>;

/// All words of an enum.
template <class Enum>
texts all_words() {
  return {words_of<Enum>.begin(), words_of<Enum>.end()};
}

constexpr size_t inputs_most = 64;
constexpr double rows_most = 1e15;

/// Those whose rows come one after another, each from one row.
void add_row_by_row(std::vector<operator_about>& all) {
  all.push_back(
      {.what = op::filter,
       .doc = "Only rows of which a condition is true.",
       .options = {{"where",
                    "The condition, such as `amount > 0 and city is not "
                    "null`; of a row that lacks a value it is not true.",
                    text(), true}}});
  all.push_back(
      {.what = op::check,
       .doc = "Rules for columns. A row that breaks one is removed and told, "
              "or its value is changed; a missing value breaks none but "
              "`not_null`.",
       .options = {
           {.name = "rules",
            .doc = "Names of columns, each with what its values must be, by "
                   "any of these: `type` (a type of `cast`, which the column "
                   "becomes), `not_null` (true), `min` and `max`, or `above` "
                   "and `below` without the limit itself (numbers, or dates "
                   "as text), `matches` (a regular expression, for all of a "
                   "text), `in` (a list of values); and `then` for this "
                   "column: `{\"age\": {\"type\": \"int64\", \"min\": 0, "
                   "\"max\": 120}, \"city\": {\"in\": [\"oslo\", "
                   "\"rome\"], \"then\": \"null\"}}`.",
            .usual = by_column(),
            .required = true,
            .is = option::kind::json},
           {.name = "then",
            .doc = "What becomes of a value that breaks its rule: `remove`: "
                   "its row is removed; `clip`: it is brought to the limit "
                   "(`min` and `max` alone); `null`: it is missing then; "
                   "`mark`: a column NAME_invalid (0 or 1) says so.",
            .usual = text("remove"),
            .words = all_words<check_action>()}}});
  all.push_back({.what = op::select,
                 .doc = "Only these columns, in this order.",
                 .options = {{"columns", "Their names.", texts(), true}}});
  all.push_back({.what = op::drop,
                 .doc = "All columns but these.",
                 .options = {{"columns", "Their names.", texts(), true}}});
  all.push_back({.what = op::rename,
                 .doc = "Other names for columns.",
                 .options = {{"columns",
                              "Old names, each with the new one: "
                              "`{\"x1\": \"height\"}`.",
                              by_column(), true}}});
  all.push_back({.what = op::cast,
                 .doc = "Other types for columns. A value that the type does "
                        "not hold is an error.",
                 .options = {{.name = "columns",
                              .doc = "Names of columns, each with its type: "
                                     "`{\"id\": \"int64\"}`.",
                              .usual = by_column(),
                              .required = true,
                              .words = all_words<column_type>()}}});
  all.push_back(
      {.what = op::derive,
       .doc = "New columns, or others in the place of old ones.",
       .options = {{"columns",
                    "Names, each with the expression that makes it of the "
                    "columns that come in: `{\"rate\": \"amount / days\"}`.",
                    by_column(), true}}});
}

/// Those that make none, one or several rows of a row.
void add_flat(std::vector<operator_about>& all) {
  all.push_back(
      {.what = op::flat_map,
       .doc = "A row for each item of a list; the other columns are repeated.",
       .options = {{"columns",
                    "The columns of lists; several must have equally many "
                    "items in each row.",
                    texts(), true},
                   {"keep_empty",
                    "Whether a row whose list is empty, or missing, becomes "
                    "one with a missing item; else it becomes none.",
                    false}}});
  all.push_back(
      {.what = op::map,
       .doc = "What an operator of your own makes of the rows: a function in "
              "a library (`include/ballast/operator.h`).",
       .options = {{.name = "library",
                    .doc = "The file of the library.",
                    .usual = text(),
                    .required = true,
                    .is = option::kind::path},
                   {.name = "function",
                    .doc = "The name of the operator in it.",
                    .usual = text(),
                    .required = true},
                   {.name = "options",
                    .doc = "What it is told: an object of any JSON values.",
                    .usual = by_column(),
                    .is = option::kind::json},
                   {"columns",
                    "The columns that it is given, in this order; empty: all.",
                    texts()},
                   {.name = "rows",
                    .doc = "How many rows it is given at once, at most.",
                    .usual = uint64_t{4096},
                    .low = 1,
                    .high = 16384},
                   {"keep",
                    "Whether the columns that come in go on beside those that "
                    "it makes, which take the place of ones with their name.",
                    true}}});
}

void add_counted(std::vector<operator_about>& all) {
  all.push_back({.what = op::limit,
                 .doc = "The first rows.",
                 .options = {{.name = "rows",
                              .doc = "How many.",
                              .usual = uint64_t{0},
                              .required = true,
                              .low = 1,
                              .high = rows_most},
                             {.name = "skip",
                              .doc = "How many before them are left out.",
                              .usual = uint64_t{0},
                              .high = rows_most}}});
  all.push_back({.what = op::repeat,
                 .doc = "All rows, several times. Each time they are samples "
                        "of their own.",
                 .options = {{.name = "times",
                              .doc = "How often.",
                              .usual = uint64_t{1},
                              .required = true,
                              .low = 1,
                              .high = 1e6}}});
  all.push_back(
      {.what = op::batch,
       .doc = "Each so many rows become one, whose columns are lists. It "
              "counts as the first of them where a row is traced.",
       .options = {{.name = "rows",
                    .doc = "How many.",
                    .usual = uint64_t{0},
                    .required = true,
                    .low = 1,
                    .high = 65536},
                   {"drop_rest",
                    "Whether the last ones are left out where they are fewer.",
                    false}}});
  all.push_back(
      {.what = op::unbatch,
       .doc = "The opposite of `batch`: a row for each item of all "
              "columns of lists.",
       .options = {{"columns", "Only of these; empty: of all that hold lists.",
                    texts()}}});
}

/// Those that change when rows are computed, and not what they are.
void add_timed(std::vector<operator_about>& all) {
  all.push_back({.what = op::cache,
                 .doc = "The same rows. Where several nodes read them they are "
                        "computed once and kept, in memory as many as a `sort` "
                        "would hold, then on disk, also behind a source and a "
                        "few operators, "
                        "which would be read again. While a set is prepared "
                        "all of their columns are also kept in the cache "
                        "folder, under a key of the content of the sources, "
                        "the nodes above and the seed if one of them draws: a "
                        "later job that changes only what is below reads no "
                        "source and computes nothing above again. Not where "
                        "`data.on_error` leaves rows out."});
  all.push_back({.what = op::prefetch,
                 .doc = "The same rows, computed ahead by a thread of their "
                        "own.",
                 .options = {{.name = "batches",
                              .doc = "How many batches, of some thousand rows "
                                     "or 64 MiB at most, it is ahead.",
                              .usual = uint64_t{4},
                              .low = 1,
                              .high = 64}}});
}

/// Those that read several.
void add_united(std::vector<operator_about>& all) {
  all.push_back({.what = op::concat,
                 .doc = "The rows of one after those of another. All have the "
                        "same columns, in any order.",
                 .inputs_min = 2,
                 .inputs_max = inputs_most});
  all.push_back({.what = op::zip,
                 .doc = "Row by row side by side. All have as many rows, and "
                        "no column of the same name.",
                 .inputs_min = 2,
                 .inputs_max = inputs_most});
  all.push_back({.what = op::mix,
                 .doc = "Rows of several in turn, in given proportions, until "
                        "all have ended: who has ended is left out.",
                 .inputs_min = 2,
                 .inputs_max = inputs_most,
                 .options = {{.name = "weights",
                              .doc = "One for each input; empty: equal.",
                              .usual = numbers(),
                              .low = 0,
                              .high = 1e9,
                              .low_excluded = true}}});
  all.push_back(
      {.what = op::join,
       .doc = "Rows of the first with those of the second that have the same "
              "keys, in the order of the first, then of the second. A key "
              "that is missing equals none.",
       .inputs_min = 2,
       .inputs_max = 2,
       .how = flow::blocking,
       .options = {{"on", "The columns that hold the keys.", texts(), true},
                   {"on_right",
                    "Their names in the second input, where they differ.",
                    texts()},
                   {.name = "kind",
                    .doc = "`inner`: only pairs; `left`, `right`, `full`: also "
                           "rows of one without the other; `semi`, `anti`: "
                           "rows of the first that have, or lack, a partner.",
                    .usual = text("inner"),
                    .words = all_words<join_kind>()},
                   {"suffix",
                    "Behind the name of a column of the second input that the "
                    "first has, too.",
                    text("_right")}}});
}

/// Those that need all rows, or know what came before.
void add_ordered(std::vector<operator_about>& all) {
  all.push_back(
      {.what = op::sort,
       .doc = "By columns; rows that are equal there keep their order, "
              "missing values come last.",
       .how = flow::blocking,
       .options = {
           {"by", "The columns, the most important first.", texts(), true},
           {"descending", "Those of `by` that go down.", texts()}}});
  all.push_back(
      {.what = op::distinct,
       .doc = "The first of rows that are equal, or much alike. Of two inputs "
              "those of the first alone go on, without what is in the second, "
              "too: test rows that are no training rows.",
       .inputs_max = 2,
       .how = flow::blocking,
       .options = {
           {"on", "The columns that are compared; empty: all.", texts()},
           {.name = "similarity",
            .doc = "Below 1: also rows go that are so similar to one that "
                   "stays, by the shingles that both have over those that one "
                   "has (Jaccard). Holds the rows that stay in memory; some "
                   "such rows may be missed.",
            .usual = 1.0,
            .low = 0.1,
            .high = 1},
           {.name = "shingle",
            .doc = "A shingle is a run of so many characters or words of a "
                   "text; of numbers and booleans it is the value.",
            .usual = uint64_t{5},
            .low = 1,
            .high = 100},
           {.name = "shingle_of",
            .doc = "`characters` or `words` (between spaces).",
            .usual = text("characters"),
            .words = {"characters", "words"}},
           {.name = "permutations",
            .doc = "Of MinHash: more find more, and take longer.",
            .usual = uint64_t{128},
            .low = 8,
            .high = 1024},
           {.name = "bands",
            .doc = "Rows are compared if all permutations of one of so many "
                   "bands agree; at most as many as `permutations`. 0: so "
                   "many that 99 of 100 rows with just that similarity are "
                   "found.",
            .usual = uint64_t{0},
            .high = 1024}}});
  all.push_back({.what = op::shuffle,
                 .doc = "In an order by chance, the same for the same seed.",
                 .how = flow::blocking,
                 .seeded = true});
}

void add_drawn(std::vector<operator_about>& all) {
  all.push_back(
      {.what = op::sample,
       .doc = "Keeps so many rows, chosen by chance, in their order; however "
              "many come. Holds what it keeps in memory.",
       .how = flow::blocking,
       .seeded = true,
       .options = {
           {.name = "rows",
            .doc = "How many; of fewer, all.",
            .usual = uint64_t{0},
            .required = true,
            .low = 1},
           {"by", "A column: so many rows of each of its values.", text()},
           {"weight",
            "A column of numbers of 0 or more: a row is chosen next with its "
            "share of the weight that is left. Empty: all have the same "
            "chance.",
            text()}}});
  all.push_back(
      {.what = op::resample,
       .doc = "Other shares of the classes: draws rows, adds rows between "
              "others, or removes rows by what is around them, as `ballast "
              "data resample` does. Only for rows to train on; holds all of "
              "them in memory, and reads every column.",
       .how = flow::blocking,
       .seeded = true,
       .options = {
           {"label", "The column of the class.", text(), true},
           {.name = "method",
            .doc = "See [resampling.md](resampling.md#methods-and-options).",
            .usual = text(),
            .required = true,
            .words = all_words<resampling>()},
           {.name = "options",
            .doc = "What the method is told: `{\"k_neighbors\": 3}`; by name, "
                   "as in resampling.md.",
            .usual = by_column(),
            .is = option::kind::json}}});
  all.push_back(
      {.what = op::split,
       .doc = "Deals the rows into several parts, one for each name in `as`; "
              "the same rows always, whatever the machine.",
       .outputs_min = 2,
       .outputs_max = 16,
       .seeded = true,
       .options = {
           {.name = "fractions",
            .doc = "The size of each part: `[0.8, 0.2]`.",
            .usual = numbers(),
            .required = true,
            .low = 0,
            .high = 1,
            .low_excluded = true},
           {.name = "by",
            .doc = "`random`; `stratified`: equal shares of every value of "
                   "`column`; `group`: rows with the same value of `column` "
                   "stay together; `time`: the first part has the lowest "
                   "values of `column`.",
            .usual = text("random"),
            .words = all_words<split_kind>()},
           {"column", "For all but `random`, which has none.", text()}}});
}

} // namespace

void add_fitted(std::vector<operator_about>& all); // fitted_catalogue.cpp

const std::vector<operator_about>& operator_catalogue() {
  static const std::vector<operator_about> all = [] {
    std::vector<operator_about> out;
    add_row_by_row(out);
    add_flat(out);
    add_counted(out);
    add_united(out);
    add_ordered(out);
    add_drawn(out);
    add_timed(out);
    add_fitted(out);
    return out;
  }();
  return all;
}

const operator_about& about(op what) {
  return operator_catalogue().at(size_t(what));
}

const option* find_option(op what, std::string_view name) {
  const std::vector<option>& all = about(what).options;
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const option& o) { return o.name == name; });
  return found == all.end() ? nullptr : &*found;
}

} // namespace ballast::graph
