/// The tokens of a text: its words, or its characters, or runs of several of
/// these; and how often each occurs in many texts. Includes Arrow; for source
/// files of data/ only.
///
/// Tokens are those of scikit-learn's CountVectorizer: a word is a run of two
/// or more letters, digits and underscores, of any script (where a word ends is
/// decided by Unicode's classes L and N); of characters a run of two or more
/// spaces is one. Letters are made small one by one, so that a text keeps its
/// number of characters.
///
/// text_tokens is immutable and used by any thread. Errors: row_error of a text
/// that is missing, or not UTF-8.
#pragma once

#include "data/fitting/column_values.hpp"
#include "runtime/graph/data_graph.hpp"
#include "runtime/graph/fitted_words.hpp"

#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ballast::data {

struct token_terms {
  graph::token_unit kind = graph::token_unit::words;
  uint64_t ngram_min = 1;
  uint64_t ngram_max = 1;
  bool lowercase = true;
  std::set<std::string, std::less<>> stop_words = {};
};
/// What a node says. ballast_error{invalid_job} at its pointer: options that
/// contradict each other.
token_terms token_terms_of(const graph::node& one, const std::string& pointer);

class text_tokens {
public:
  explicit text_tokens(token_terms terms) : terms_(std::move(terms)) {}

  /// Calls `see(row, tokens)` for each text, in order; a token that occurs
  /// twice is there twice. They live until the next call.
  void for_each(const arrow::Array& column, const cell_owner& owner,
                const row_finder& place,
                const std::function<void(
                    int64_t row, const std::vector<std::string_view>& tokens)>&
                    see) const;

private:
  const token_terms terms_;
};

/// How often each token occurs, and in how many texts, as a value that can be
/// put together of parts in any order. One owner, one thread.
class token_counts {
public:
  /// Some 400 MB.
  static constexpr size_t most = 1 << 22;

  struct count {
    uint64_t times = 0;
    uint64_t rows = 0;
    int64_t last_row = -1; // that has it, until end_rows()
  };

  /// Rows ascend, until end_rows().
  void add(int64_t row, std::string_view token);
  void end_rows();
  void merge(token_counts other);
  size_t size() const { return counts_.size(); }
  /// In no order.
  const auto& all() const { return counts_; }

private:
  struct text_hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const;
  };
  std::unordered_map<std::string, count, text_hash, std::equal_to<>> counts_;
};

} // namespace ballast::data
