#include "data/prepared/use_order.hpp"

#include "data/prepared/set_identity.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/random.hpp"
#include "runtime/sampling/class_weights.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace ballast::data {

namespace {

constexpr uint64_t stream_interleave = 0x696E7465726CULL; // "interl"
// What a cell of that column should be.
const char* const a_weight = "a number from 0";
const char* const a_score = "a number";
const char* const a_source = "one of /train/sampling/values";

/// The class, or bin, of each training sample, as balancing counts it.
class bins_of_samples {
public:
  explicit bins_of_samples(const job_tables& from)
      : bins_(from.train.histogram_bin()), rows_(from.train_rows.rows) {}
  int32_t operator()(uint64_t sample) const {
    return bins_.empty() ? 0 : bins_[rows_[sample]];
  }

private:
  const std::vector<int32_t>& bins_;
  const row_numbers& rows_;
};

std::string name_of_row(const source_table& table, uint64_t row) {
  const uint64_t number = table.source_row(row);
  const source_table::file* in = nullptr;
  for (const source_table::file& one : table.files)
    if (one.first_row <= number)
      in = &one;
  if (in == nullptr)
    return "row " + std::to_string(number + 1);
  return printable(in->path) + ": row " +
         std::to_string(number - in->first_row + 1);
}

/// The column of the sampling, which comes last of those that were kept.
class sampling_cells {
public:
  sampling_cells(const job& what, const job_tables& from)
      : name_(what.train.sampling.column), table_(from.train),
        rows_(from.train_rows.rows), column_(from.train.kept.back()) {}

  /// Of each text of the column, by `number_of(text)`, or an error that names
  /// the first row that has it. Rows of the test set do not count.
  template <class Of>
  std::vector<double> by_sample(const std::string& expected,
                                Of number_of) const {
    std::vector<double> of_text;
    for (const std::string& text : column_.texts)
      of_text.push_back(number_of(text).value_or(NAN));
    std::vector<double> out(rows_.size());
    for (uint64_t i = 0; i < rows_.size(); ++i) {
      out[i] = of_text[column_.cells[rows_[i]]];
      if (std::isnan(out[i]))
        refuse(i, expected);
    }
    return out;
  }
  /// Those of them for which `is_known(text)` is false.
  template <class Known>
  std::vector<unusable_sample> without(const std::string& expected,
                                       Known is_known) const {
    std::vector<bool> known;
    for (const std::string& text : column_.texts)
      known.push_back(is_known(text));
    std::vector<unusable_sample> out;
    for (uint64_t i = 0; i < rows_.size(); ++i)
      if (const uint32_t cell = column_.cells[rows_[i]]; !known[cell])
        out.push_back({i, column_.texts[cell], expected});
    return out;
  }
  /// Rows of each text, by its place in `texts`.
  std::vector<uint64_t> count(const std::vector<std::string>& texts) const {
    std::vector<uint64_t> of_text(column_.texts.size());
    for (uint64_t i = 0; i < rows_.size(); ++i)
      ++of_text[column_.cells[rows_[i]]];
    std::vector<uint64_t> out;
    for (const std::string& text : texts) {
      const auto found =
          std::find(column_.texts.begin(), column_.texts.end(), text);
      out.push_back(found == column_.texts.end()
                        ? 0
                        : of_text[size_t(found - column_.texts.begin())]);
    }
    return out;
  }

private:
  [[noreturn]] void refuse(uint64_t sample, const std::string& expected) const {
    const std::string& text = column_.texts[column_.cells[rows_[sample]]];
    throw ballast_error(errc::invalid_data,
                        name_of_row(table_, rows_[sample]) + ", column \"" +
                            printable(name_) + "\" " +
                            (text.empty() ? std::string("has no value")
                                          : "is \"" + printable(text) + "\"") +
                            "; expected " + expected,
                        sampling_column_field);
  }

  const std::string name_;
  const source_table& table_;
  const row_numbers& rows_;
  const placement::kept_column& column_;
};

std::optional<double> read_number(const std::string& text) {
  double out = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || rest != end || !std::isfinite(out))
    return std::nullopt;
  return out;
}

std::optional<double> read_weight(const std::string& text) {
  const auto out = read_number(text);
  return out && *out >= 0 ? out : std::nullopt;
}

std::vector<double> weights_of_classes(const job& what,
                                       const bins_of_samples& bin,
                                       uint64_t samples, uint32_t bins) {
  std::vector<uint64_t> rows(std::max(bins, 1U));
  for (uint64_t i = 0; i < samples; ++i)
    ++rows[size_t(bin(i))];
  const std::vector<double> of_class =
      sampling::class_weights(rows, what.train.sampling.beta);
  std::vector<double> out(samples);
  for (uint64_t i = 0; i < samples; ++i)
    out[i] = of_class[size_t(bin(i))];
  return out;
}

/// Those that are named: their weights; what else is in the column is a
/// mistake.
std::vector<double> weights_of_sources(const sampling_spec& how,
                                       const sampling_cells& cells) {
  const std::vector<uint64_t> rows = cells.count(how.values);
  std::map<std::string, double> of_text;
  for (size_t i = 0; i < how.values.size(); ++i) {
    const bool each = !how.repeat.empty();
    const double said = each                  ? how.repeat[i]
                        : !how.choose.empty() ? how.choose[i]
                                              : how.proportion[i];
    if (rows[i] == 0 && said > 0)
      throw ballast_error(errc::invalid_data,
                          "/train/sampling/values/" + std::to_string(i) +
                              ": no training row has the text \"" +
                              printable(how.values[i]) + "\" in column \"" +
                              printable(how.column) + "\"",
                          "/train/sampling/values/" + std::to_string(i));
    of_text[how.values[i]] =
        each || rows[i] == 0 ? said : said / double(rows[i]);
  }
  return cells.by_sample(
      a_source, [&](const std::string& text) -> std::optional<double> {
        const auto found = of_text.find(text);
        return found == of_text.end() ? std::nullopt
                                      : std::optional(found->second);
      });
}

std::vector<double> weights_of(const job& what, const job_tables& from,
                               const bins_of_samples& bin) {
  const sampling_spec& how = what.train.sampling;
  if (how.kind == sampling_kind::class_balanced)
    return weights_of_classes(what, bin, from.train_rows.rows.size(),
                              histogram_bins(from.train.row));
  const sampling_cells cells(what, from);
  if (how.kind == sampling_kind::sources)
    return weights_of_sources(how, cells);
  return cells.by_sample(a_weight, read_weight);
}

/// Every stretch of the list has every class in the list's proportions, within
/// a row.
std::vector<uint64_t> interleaved(const std::vector<uint64_t>& rows,
                                  const bins_of_samples& bin,
                                  const counter_random& random) {
  std::map<int32_t, uint64_t> count;
  for (uint64_t row : rows)
    ++count[bin(row)];
  std::map<int32_t, uint64_t> met;
  std::vector<std::pair<double, uint64_t>> placed;
  placed.reserve(rows.size());
  for (uint64_t row : rows) {
    const int32_t label = bin(row);
    const double ahead = random.unit(uint64_t(uint32_t(label)));
    placed.emplace_back((double(met[label]++) + ahead) / double(count[label]),
                        row);
  }
  std::sort(placed.begin(), placed.end());
  std::vector<uint64_t> out;
  out.reserve(placed.size());
  for (const auto& [at, row] : placed)
    out.push_back(row);
  return out;
}

template <class Key>
void sort_in_chunks(balance::chunk_layout& list, Key key) {
  auto begin = list.rows.begin();
  for (uint32_t rows : list.chunk_rows) {
    const auto end = begin + rows;
    std::stable_sort(begin, end,
                     [&](uint64_t a, uint64_t b) { return key(a) < key(b); });
    begin = end;
  }
}

void stratify(const job& what, const bins_of_samples& bin,
              std::vector<balance::chunk_layout>& lists) {
  for (size_t rank = 0; rank < lists.size(); ++rank) {
    balance::chunk_layout& list = lists[rank];
    const uint32_t chunk_rows =
        list.chunk_rows.empty()
            ? 1
            : *std::max_element(list.chunk_rows.begin(), list.chunk_rows.end());
    list = balance::cut_in_order(
        interleaved(list.rows, bin,
                    counter_random(what.seed, mix(stream_interleave, rank))),
        chunk_rows);
    sort_in_chunks(list, bin);
  }
}

} // namespace

std::vector<unusable_sample> unusable_samples(const job& what,
                                              const job_tables& from) {
  const sampling_spec& how = what.train.sampling;
  if (how.column.empty())
    return {};
  const sampling_cells cells(what, from);
  if (how.kind == sampling_kind::curriculum)
    return cells.without(a_score, [](const std::string& text) {
      return read_number(text).has_value();
    });
  if (how.kind == sampling_kind::weighted)
    return cells.without(a_weight, [](const std::string& text) {
      return read_weight(text).has_value();
    });
  return cells.without(a_source, [&](const std::string& text) {
    return std::find(how.values.begin(), how.values.end(), text) !=
           how.values.end();
  });
}

double uses_in_epoch(const job& what, const job_tables& from) {
  const sampling_spec& how = what.train.sampling;
  if (!how.counts_uses())
    return double(how.rows.value_or(from.train_rows.rows.size()));
  if (how.repeat.empty())
    return std::accumulate(how.choose.begin(), how.choose.end(), 0.0);
  const std::vector<uint64_t> rows =
      sampling_cells(what, from).count(how.values);
  double out = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    out += double(rows[i]) * how.repeat[i];
  return out;
}

std::vector<double> order_for_uses(const job& what, const job_tables& from,
                                   std::vector<balance::chunk_layout>& lists) {
  const sampling_spec& how = what.train.sampling;
  const bins_of_samples bin(from);
  if (how.kind == sampling_kind::once)
    return {};
  if (how.kind == sampling_kind::stratified) {
    stratify(what, bin, lists);
    return {};
  }
  if (how.kind == sampling_kind::curriculum) {
    const std::vector<double> scores =
        sampling_cells(what, from).by_sample(a_score, read_number);
    for (balance::chunk_layout& list : lists)
      sort_in_chunks(list, [&](uint64_t sample) { return scores[sample]; });
    return {};
  }
  std::vector<double> weights = weights_of(what, from, bin);
  for (balance::chunk_layout& list : lists)
    sort_in_chunks(list, [&](uint64_t sample) {
      return std::tuple(bin(sample), weights[sample]);
    });
  return weights;
}

void describe_weights(const std::vector<double>& of_sample,
                      const std::vector<std::span<const uint64_t>>& chunks,
                      std::vector<ledger::chunk_info>& into) {
  if (of_sample.empty())
    return;
  for (size_t i = 0; i < chunks.size(); ++i) {
    std::vector<ledger::weight_run>& runs = into[i].weights;
    for (uint64_t sample : chunks[i])
      if (!runs.empty() && runs.back().weight == of_sample[sample])
        ++runs.back().rows;
      else
        runs.push_back({1, of_sample[sample]});
  }
}

} // namespace ballast::data
