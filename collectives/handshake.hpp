/// How two ranks of one generation recognise each other on a fresh connection.
///
///   connector -> hello   who I am, whom I want, which generation, size, layout
///   acceptor  -> answer  a verdict, and proof that it knows the run's token
///   connector -> proof   the same the other way round
///   acceptor  -> welcome
///
/// The token never travels: a proof is HMAC-SHA-256 over both fresh nonces and
/// the hello. Pure functions on bytes; integers in the byte order of the
/// machine, since only equal builds join one cluster.
#pragma once

#include "collectives/collective.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace ballast {

using nonce = std::array<uint8_t, 16>;
using proof_bytes = std::array<uint8_t, 32>;

/// A nonce from the operating system.
nonce fresh_nonce();

enum class verdict : uint32_t {
  welcome = 1,
  prove_yourself, // the hello is fine so far
  unknown_generation,
  wrong_rank,
  wrong_size,
  wrong_layout,
  wrong_proof,
  wrong_version,
};
std::string to_string(verdict v);

struct hello_frame {
  std::array<char, 8> magic;
  uint32_t version;
  int32_t from;
  int32_t to;
  int32_t size;
  uint64_t generation;
  uint64_t layout_hash;
  ballast::nonce nonce;
};
struct answer_frame {
  verdict result;
  uint32_t unused;
  ballast::nonce nonce;
  proof_bytes proof;
};
struct proof_frame {
  proof_bytes proof;
};
struct welcome_frame {
  verdict result;
};

hello_frame make_hello(const collective_options& options, int to);
/// What the acceptor with `options` says to a hello.
verdict judge(const hello_frame& hello, const collective_options& options);

/// Proof of one side ("accepts" or "connects") for this connection.
proof_bytes make_proof(const std::string& token, const std::string& side,
                       const hello_frame& hello, const nonce& acceptor);
/// In a time that does not depend on where the two differ.
bool same_proof(const proof_bytes& a, const proof_bytes& b);

/// Both sides' nonce of the connection: marks an orderly end on it.
nonce link_nonce(const nonce& connector, const nonce& acceptor);

} // namespace ballast
