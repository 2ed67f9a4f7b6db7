#include "collectives/peer_blob.hpp"

#include "runtime/base/json_text.hpp"

#include <nlohmann/json.hpp>

namespace ballast::collectives {

namespace {

/// Increases when the blob, or the wire format behind it, changes its meaning.
constexpr int blob_version = 1;

// FNV-1a, 64 bits.
uint64_t mark_of(const std::string& token) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned char c : token) {
    hash = (hash ^ c) * 1099511628211u;
  }
  return hash;
}

std::string to_hex(const std::string& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (unsigned char c : bytes) {
    out += digits[c >> 4];
    out += digits[c & 15];
  }
  return out;
}

std::string from_hex(const std::string& text) {
  auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  if (text.size() % 2 != 0 ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw std::invalid_argument("payload is not hexadecimal");
  }
  std::string out;
  for (size_t i = 0; i < text.size(); i += 2) {
    out += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  }
  return out;
}

[[noreturn]] void mismatch(int peer, const std::string& what) {
  throw collective_error(collective_errc::mismatch, what, peer);
}

template <class T>
void must_equal(int peer, const char* field, const T& theirs, const T& ours) {
  if (theirs == ours) {
    return;
  }
  mismatch(peer, "rank " + std::to_string(peer) + " has " + field + " " +
                     json_text(nlohmann::json(theirs)) + ", this rank has " +
                     json_text(nlohmann::json(ours)) +
                     "; all ranks must be given the same");
}

} // namespace

std::string make_peer_blob(const std::string& backend,
                           const collective_options& options,
                           const std::string& payload) {
  nlohmann::json blob = {{"version", blob_version},
                         {"backend", backend},
                         {"generation", value(options.generation)},
                         {"rank", options.rank},
                         {"size", options.size},
                         {"layout_hash", options.layout_hash},
                         {"token_mark", mark_of(options.token)},
                         {"payload", to_hex(payload)}};
  return json_text(blob);
}

std::vector<std::string>
check_peer_blobs(const std::string& backend, const collective_options& options,
                 const std::vector<std::string>& blobs) {
  if (blobs.size() != static_cast<size_t>(options.size)) {
    mismatch(-1, "connect was given " + std::to_string(blobs.size()) +
                     " addresses for a collective of " +
                     std::to_string(options.size) + " ranks");
  }
  std::vector<std::string> payloads;
  for (int r = 0; r < options.size; ++r) {
    try {
      nlohmann::json blob = nlohmann::json::parse(blobs[r]);
      must_equal(r, "blob version", blob.at("version").get<int>(),
                 blob_version);
      must_equal(r, "backend", blob.at("backend").get<std::string>(), backend);
      must_equal(r, "generation", blob.at("generation").get<uint64_t>(),
                 value(options.generation));
      must_equal(r, "rank", blob.at("rank").get<int>(), r);
      must_equal(r, "size", blob.at("size").get<int>(), options.size);
      must_equal(r, "layout hash", blob.at("layout_hash").get<uint64_t>(),
                 options.layout_hash);
      must_equal(r, "token mark", blob.at("token_mark").get<uint64_t>(),
                 mark_of(options.token));
      payloads.push_back(from_hex(blob.at("payload").get<std::string>()));
    } catch (const nlohmann::json::exception& e) {
      mismatch(r, "the address of rank " + std::to_string(r) +
                      " is no collective address: " + e.what());
    } catch (const std::invalid_argument& e) {
      mismatch(r, "the address of rank " + std::to_string(r) +
                      " is no collective address: " + e.what());
    }
  }
  return payloads;
}

void check_options(const std::string& backend,
                   const collective_options& options, int ranks_max) {
  if (options.size >= 1 && options.size <= ranks_max && options.rank >= 0 &&
      options.rank < options.size) {
    return;
  }
  mismatch(-1, "collective '" + backend + "': rank " +
                   std::to_string(options.rank) + " of " +
                   std::to_string(options.size) +
                   " is not possible; expected 0 <= rank < size <= " +
                   std::to_string(ranks_max));
}

} // namespace ballast::collectives
