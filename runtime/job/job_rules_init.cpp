/// The rules of `init` and of `train.optimizer.lr_of`, as far as the job alone
/// shows them: which parameters there are is known once a model is made.
#include "runtime/base/name_pattern.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/job_field.hpp"
#include "runtime/job/lr_factors.hpp"
#include "runtime/job/rule_book.hpp"

#include <cmath>
#include <cstdlib>
#include <set>

namespace ballast {

namespace {

constexpr size_t pattern_bytes_max = 256;
constexpr size_t lr_patterns_max = 256;

/// What is wrong with a pattern by itself; empty: nothing.
std::string pattern_problem(const std::string& pattern) {
  if (pattern.empty())
    return "expected the name of a parameter, with `*` for any text";
  if (pattern.size() > pattern_bytes_max)
    return "expected at most " + std::to_string(pattern_bytes_max) + " bytes";
  return {};
}

void check_patterns(const std::vector<std::string>& patterns,
                    const std::string& pointer, rule_book& book) {
  std::set<std::string> seen;
  for (size_t i = 0; i < patterns.size(); ++i) {
    const std::string at = pointer + "/" + std::to_string(i);
    if (const std::string why = pattern_problem(patterns[i]); !why.empty())
      book.refuse({at, pointer}, why);
    else if (!seen.insert(patterns[i]).second)
      book.refuse({at, pointer},
                  "\"" + printable(patterns[i]) + "\" is named twice");
  }
}

void check_from(const job& in, rule_book& book) {
  const init_spec& init = in.init;
  if (init.from.empty()) {
    if (init.optimizer)
      book.refuse({"/init/optimizer", "/init/from"},
                  "there is no checkpoint to take the optimizer's state from; "
                  "expected one in /init/from, or false");
    if (!init.except.empty())
      book.refuse({"/init/except", "/init/from"},
                  "everything begins as the seed makes it; expected a model in "
                  "/init/from, or no exceptions");
    return;
  }
  if (parse_word<model_init>(in.model.init) != model_init::seeded)
    book.refuse({"/model/init", "/init/from"},
                "the parameters come from /init/from; expected \"" +
                    to_string(model_init::seeded) +
                    "\" here, or no /init/from");
  if (init.optimizer && init.from.ends_with("@best"))
    book.refuse({"/init/optimizer", "/init/from"},
                "\"@best\" names a model, which has no optimizer's state; "
                "expected a checkpoint, as in RUN_DIR@STEP, or false");
}

void check_lr_of(const job& in, rule_book& book) {
  const std::string pointer = "/train/optimizer/lr_of";
  const auto& factors = in.train.optimizer.lr_of;
  if (factors.size() > lr_patterns_max)
    book.refuse({pointer}, "expected at most " +
                               std::to_string(lr_patterns_max) + " patterns");
  for (const auto& [pattern, text] : factors) {
    const std::string at = pointer + "/" + pattern;
    if (const std::string why = pattern_problem(pattern); !why.empty())
      book.refuse({pointer}, why);
    else if (!read_lr_factor(text))
      book.refuse({at, pointer}, "expected a number from 0 to " +
                                     std::to_string(uint64_t(lr_factor_max)) +
                                     ", found " + printable(text));
  }
}

} // namespace

void check_init(const job& in, std::vector<failure>& mistakes) {
  rule_book book(mistakes);
  check_from(in, book);
  check_patterns(in.init.except, "/init/except", book);
  check_patterns(in.init.freeze, "/init/freeze", book);
  check_lr_of(in, book);
}

std::optional<double> read_lr_factor(const std::string& text) {
  // JSON, so that no "inf", "nan" or "0x1" is a number.
  if (text.empty() ||
      text.find_first_not_of("0123456789.eE+-") != std::string::npos)
    return std::nullopt;
  char* end = nullptr;
  const double out = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(out) || out < 0 || out > lr_factor_max)
    return std::nullopt;
  return out;
}

std::string lr_pattern_of(const optimizer_spec& how, const std::string& name) {
  std::string out;
  for (const auto& [pattern, text] : how.lr_of)
    if (pattern.size() > out.size() && fits_pattern(pattern, name))
      out = pattern;
  return out;
}

} // namespace ballast
