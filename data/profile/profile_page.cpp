#include "data/profile/profile_words.hpp"

#include "runtime/base/counted.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace ballast::data {

namespace {

constexpr size_t bars = 24;
constexpr size_t words_drawn = 12;
constexpr size_t characters_drawn = 80;
constexpr size_t columns_correlated_max = 40; // wider is not readable

constexpr const char* page_head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>)";

constexpr const char* page_style = R"(</title><style>
:root{--ink:#1d2430;--soft:#5d6878;--line:#dfe4ea;--bar:#3572b0;--ground:#fff;--warn:#b4540a;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa5b4;--line:#333b47;--bar:#6ea8dc;--ground:#161b22;--warn:#e8a25e;--bad:#f2857d}}
body{font:14px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:1100px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.35rem;margin:0}h2{font-size:1.05rem;margin:2.2rem 0 .6rem}
p.sum{color:var(--soft);margin:.2rem 0 1rem}
section.col{display:grid;grid-template-columns:minmax(150px,1.2fr) 2fr 240px;gap:1rem;padding:.7rem 0;border-top:1px solid var(--line);align-items:start}
section.col h3{font-size:.95rem;margin:0;overflow-wrap:anywhere}.soft{color:var(--soft)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(92px,1fr));gap:.2rem .8rem;margin:0}
dt{color:var(--soft);font-size:.76rem}dd{margin:0 0 .25rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
svg rect{fill:var(--bar)}.word{display:grid;grid-template-columns:1fr 80px 52px;gap:.4rem;font-size:.82rem;align-items:center}
.word span:first-child{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.meter{background:var(--bar);height:.55rem;border-radius:1px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;font-weight:400}
th{color:var(--soft);font-size:.8rem}td:first-child,th:first-child{text-align:left}.some{color:var(--warn)}.large{color:var(--bad);font-weight:600}
.wide{overflow-x:auto}table.cor td{padding:.2rem .35rem;border:1px solid var(--ground);font-size:.75rem;text-align:center}
@media (max-width:700px){section.col{grid-template-columns:1fr}}
</style></head><body>
)";

std::string escaped(const std::string& text,
                    size_t characters_max = any_length) {
  std::string out;
  for (const char one : printable(text, characters_max))
    switch (one) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += one;
    }
  return out;
}

std::string number(const char* format, double value) {
  std::array<char, 48> out{};
  return {out.data(),
          size_t(std::snprintf(out.data(), out.size(), format, value))};
}

std::string share_of(double part, double of) {
  return number("%.3g %%", of == 0 ? 0 : 100 * part / of);
}

std::string fact(const std::string& name, const std::string& is) {
  return "<div><dt>" + name + "</dt><dd>" + escaped(is) + "</dd></div>";
}

std::string histogram_of(const column_profile& of) {
  const std::vector<uint64_t> counts = of.numbers.ranked().in_bins(bars).counts;
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  std::string out = "<svg viewBox=\"0 0 240 64\" width=\"240\" height=\"64\" "
                    "role=\"img\" aria-label=\"histogram\">";
  for (size_t i = 0; i < counts.size(); ++i) {
    // What there is is seen.
    const double height =
        counts[i] == 0 ? 0
                       : std::max(1.0, 62 * double(counts[i]) / double(most));
    const double width = 240 / double(counts.size());
    out += "<rect x=\"" + number("%.1f", double(i) * width) + "\" width=\"" +
           number("%.1f", std::max(1.0, width - 1)) + "\" y=\"" +
           number("%.1f", 64 - height) + "\" height=\"" +
           number("%.1f", height) + "\"><title>" + std::to_string(counts[i]) +
           "</title></rect>";
  }
  return out + "</svg><div class=\"soft\">" +
         escaped(value_text(of, of.numbers.spread.least)) + " to " +
         escaped(value_text(of, of.numbers.spread.most)) + "</div>";
}

std::string words_of(const column_profile& of) {
  std::string out;
  const word_counts& counts = of.words.counts;
  const auto words = counts.ranked();
  const auto error = double(counts.error());
  const double most = words.empty() ? 1 : double(words[0]->rows) + error;
  for (size_t i = 0; i < std::min(words_drawn, words.size()); ++i) {
    const double rows = double(words[i]->rows) + error;
    out += "<div class=\"word\"><span>" +
           (words[i]->bytes == 0
                ? "<i>empty</i>"
                : escaped(shown_word(*words[i]), characters_drawn)) +
           "</span><span class=\"meter\" style=\"width:" +
           number("%.1f", 100 * rows / most) + "%\"></span><span>" +
           (counts.is_exact() ? "" : "&le; ") +
           share_of(rows, double(of.rows)) + "</span></div>";
  }
  if (!counts.is_exact())
    out += "<div class=\"soft\">Estimates, at most " +
           share_of(error, double(of.rows)) +
           " too high; no other is in more rows than that.</div>";
  return out;
}

std::string facts_of(const column_profile& of) {
  std::string out =
      fact("missing", share_of(double(of.missing), double(of.rows)));
  if (of.kind == profiled_kind::other)
    out += fact("values", "not looked into");
  else
    out += fact("different", number("%.0f", of.distinct));
  if (of.kind == profiled_kind::words)
    return out +
           fact("empty", share_of(double(of.words.empty), double(of.rows))) +
           fact("bytes", std::to_string(of.words.least_bytes) + " to " +
                             std::to_string(of.words.most_bytes));
  if (of.numbers.infinite > 0)
    out += fact("infinite",
                share_of(double(of.numbers.infinite), double(of.rows)));
  if (of.numbers.spread.count == 0)
    return out;
  const counted_values ranked = of.numbers.ranked();
  for (const auto& [name, part] : {std::pair("5 %", 0.05),
                                   {"25 %", 0.25},
                                   {"median", 0.5},
                                   {"75 %", 0.75},
                                   {"95 %", 0.95}})
    out += fact(name, value_text(of, ranked.quantile(part)));
  if (of.kind == profiled_kind::times)
    return out;
  const outliers far = outliers_of(of.numbers);
  return out + fact("mean", number("%.6g", of.numbers.spread.mean)) +
         fact("deviation", number("%.6g", of.numbers.spread.deviation())) +
         fact("zero", share_of(double(of.numbers.zeros), double(of.rows))) +
         fact("outliers",
              share_of(double(far.below + far.above), double(of.rows)));
}

std::string column_of(const column_profile& of) {
  std::string picture;
  if (of.kind == profiled_kind::words)
    picture = words_of(of);
  else if (of.numbers.spread.count > 0)
    picture = histogram_of(of);
  return "<section class=\"col\"><div><h3>" + escaped(of.name) +
         "</h3><span class=\"soft\">" + escaped(of.type, characters_drawn) +
         "</span></div><dl>" + facts_of(of) + "</dl><div>" + picture +
         "</div></section>\n";
}

std::string correlations_of(const table_profile& of) {
  const std::string limit = uncorrelated_note(of);
  if (of.correlations.empty() && limit.empty())
    return "";
  std::vector<size_t> columns;
  for (const correlated_pair& one : of.correlations)
    for (const size_t column : {one.a, one.b})
      columns.push_back(column);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  const size_t all = columns.size();
  columns.resize(std::min(all, columns_correlated_max));
  std::string out = "<h2>Correlations</h2>";
  if (!limit.empty())
    out += "<p class=\"sum\">Of " + escaped(limit) + ".</p>";
  if (columns.size() < all)
    out += "<p class=\"sum\">The first " + std::to_string(columns.size()) +
           " of " + std::to_string(all) +
           " columns are shown; --json has all.</p>";
  out += "<div class=\"wide\"><table class=\"cor\"><tr><th></th>";
  for (const size_t column : columns)
    out += "<th>" + escaped(of.columns[column].name) + "</th>";
  out += "</tr>";
  for (const size_t row : columns) {
    out += "<tr><td>" + escaped(of.columns[row].name) + "</td>";
    for (const size_t column : columns) {
      const auto found = std::find_if(
          of.correlations.begin(), of.correlations.end(), [&](const auto& one) {
            return one.a == std::min(row, column) &&
                   one.b == std::max(row, column);
          });
      if (found == of.correlations.end()) {
        out += "<td></td>";
        continue;
      }
      // Blue together, red against each other.
      out += "<td style=\"background:rgba(" +
             std::string(found->r > 0 ? "53,114,176," : "179,38,30,") +
             number("%.2f", 0.75 * std::abs(found->r)) + ")\">" +
             number("%.2f", found->r) + "</td>";
    }
    out += "</tr>";
  }
  return out + "</table></div>\n";
}

std::string drift_of(const table_drift& of) {
  std::string out = "<h2>Drift to " + escaped(of.after) +
                    "</h2><div class=\"wide\"><table><tr><th>column</th><th>"
                    "drift</th><th>stability index</th><th>distance</th><th>"
                    "missing before</th><th>after</th><th></th></tr>";
  const auto known = [](const std::optional<double>& one) {
    return one ? number("%.3g", *one) : std::string();
  };
  for (const column_drift& one : of.columns) {
    std::string note = escaped(one.note);
    for (const std::string& word : one.new_words)
      note += (note.empty() ? "new: " : ", ") + escaped(word, characters_drawn);
    if (one.estimated)
      note += std::string(note.empty() ? "" : "; ") + "estimated";
    out += "<tr><td>" + escaped(one.name) + "</td><td class=\"" +
           to_string(one.size) + "\">" + to_string(one.size) + "</td><td>" +
           known(one.stability) + "</td><td>" + known(one.distance) +
           "</td><td>" + share_of(one.missing_before, 1) + "</td><td>" +
           share_of(one.missing_after, 1) + "</td><td>" + note + "</td></tr>";
  }
  for (const std::string& name : of.gone)
    out +=
        "<tr><td>" + escaped(name) + "</td><td class=\"large\">gone</td></tr>";
  for (const std::string& name : of.fresh)
    out += "<tr><td>" + escaped(name) + "</td><td class=\"some\">new</td></tr>";
  return out + "</table></div>\n";
}

} // namespace

std::string profile_page(const table_profile& of, const table_drift* drift) {
  const std::string title = escaped(of.source);
  std::string out = page_head + title + page_style + "<h1>" + title +
                    "</h1><p class=\"sum\">" + counted(of.rows, "row") + ", " +
                    counted(of.columns.size(), "column");
  if (of.repeated_rows)
    out += ", " + counted(*of.repeated_rows, "repeated row");
  out += "</p>\n";
  if (drift != nullptr)
    out += drift_of(*drift) + "<h2>Columns</h2>\n";
  for (const column_profile& one : of.columns)
    out += column_of(one);
  return out + correlations_of(of) + "</body></html>\n";
}

} // namespace ballast::data
