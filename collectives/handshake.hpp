/// The handshake by which two ranks of one generation authenticate each other
/// on a fresh connection.
///
///   connector -> hello   own and wanted rank, generation, size, layout
///   acceptor  -> answer  a verdict, and proof that it knows the run's token
///   connector -> proof   the same in the other direction
///   acceptor  -> welcome
///
/// The token never travels: a proof is HMAC-SHA-256 over both fresh nonces and
/// the hello. Pure functions on bytes; integers in the byte order of the
/// machine, because only equal builds join one cluster.
#pragma once

#include "collectives/collective.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace ballast::collectives {

using nonce = std::array<uint8_t, 16>;
using proof_bytes = std::array<uint8_t, 32>;

/// A nonce from the operating system.
nonce fresh_nonce();

enum class verdict : uint32_t {
  welcome = 1,
  prove_yourself, // the hello is acceptable so far
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
  collectives::nonce nonce;
};
struct answer_frame {
  verdict result;
  uint32_t unused;
  collectives::nonce nonce;
  proof_bytes proof;
};
struct proof_frame {
  proof_bytes proof;
};
struct welcome_frame {
  verdict result;
};

hello_frame make_hello(const collective_options& options, int to);
/// The verdict of an acceptor with `options` on a hello.
verdict judge(const hello_frame& hello, const collective_options& options);

/// Proof of one side ("accepts" or "connects") for this connection.
proof_bytes make_proof(const std::string& token, const std::string& side,
                       const hello_frame& hello, const nonce& acceptor);
/// Compares in constant time.
bool same_proof(const proof_bytes& a, const proof_bytes& b);

/// The nonce of the connection, from both sides' nonces: marks an orderly end
/// on it.
nonce link_nonce(const nonce& connector, const nonce& acceptor);

} // namespace ballast::collectives
