#include "data/transfer/flight_ticket.hpp"

#include "runtime/base/json_text.hpp"

#include <nlohmann/json.hpp>

namespace ballast::data {

using nlohmann::json;

namespace {

constexpr int ticket_version = 1;
/// Enough for about a million randomly placed chunks.
constexpr size_t ticket_bytes_max = size_t{16} << 20;

bool read_runs(const json& in, std::vector<ledger::id_run>& out) {
  if (!in.is_array())
    return false;
  for (const json& pair : in) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
        !pair[1].is_number_unsigned())
      return false;
    const ledger::id_run run{pair[0].get<uint64_t>(), pair[1].get<uint64_t>()};
    if (run.first > UINT32_MAX || run.count == 0 ||
        run.count > UINT32_MAX - run.first + 1)
      return false;
    out.push_back(run);
  }
  return !out.empty();
}

bool read_rows(const json& in, std::vector<ledger::row_ref>& out) {
  if (!in.is_array() || in.size() > flight_ticket::rows_max)
    return false;
  for (const json& pair : in) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
        !pair[1].is_number_unsigned())
      return false;
    const auto chunk = pair[0].get<uint64_t>();
    const auto row = pair[1].get<uint64_t>();
    if (chunk > UINT32_MAX || row > UINT32_MAX)
      return false;
    out.push_back({chunk_id(uint32_t(chunk)), uint32_t(row)});
  }
  return !out.empty();
}

} // namespace

std::string encode(const flight_ticket& ticket) {
  json out{{"version", ticket_version}, {"token", ticket.token}};
  if (!ticket.blob.empty()) {
    out["blob"] = ticket.blob;
  } else {
    out["part"] = to_string(ticket.part);
    json rows = json::array();
    for (const ledger::row_ref& one : ticket.rows)
      rows.push_back({value(one.chunk), one.row});
    if (!rows.empty()) {
      out["rows"] = std::move(rows);
      return json_text(out);
    }
    json runs = json::array();
    for (const ledger::id_run& run : ticket.chunks)
      runs.push_back({run.first, run.count});
    out["chunks"] = std::move(runs);
  }
  return json_text(out);
}

std::optional<flight_ticket> decode_ticket(const std::string& text,
                                           std::string& why) {
  why = "the ticket is no request for chunks, for up to 65536 rows, or for a "
        "blob";
  if (text.size() > ticket_bytes_max)
    return std::nullopt;
  const json in = json::parse(text, nullptr, /*allow_exceptions=*/false);
  auto is_text = [&](const char* key) {
    return in.contains(key) && in[key].is_string();
  };
  if (!in.is_object() || !is_text("token"))
    return std::nullopt;
  if (in.value("version", json()) != ticket_version) {
    why = "the ticket is of another version of Ballast";
    return std::nullopt;
  }
  flight_ticket out;
  out.token = in["token"].get<std::string>();
  if (is_text("blob")) {
    out.blob = in["blob"].get<std::string>();
    return out.blob.empty() ? std::nullopt : std::optional(out);
  }
  const bool named =
      in.contains("rows")
          ? read_rows(in["rows"], out.rows)
          : in.contains("chunks") && read_runs(in["chunks"], out.chunks);
  if (!is_text("part") || !named)
    return std::nullopt;
  if (in["part"] == to_string(data_part::test))
    out.part = data_part::test;
  else if (in["part"] != to_string(data_part::train))
    return std::nullopt;
  return out;
}

bool same_token(const std::string& a, const std::string& b) {
  unsigned char differs = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i)
    differs |= static_cast<unsigned char>(a[i] ^ (i < b.size() ? b[i] : 0));
  return differs == 0;
}

} // namespace ballast::data
