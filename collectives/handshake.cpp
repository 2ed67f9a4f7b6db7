#include "collectives/handshake.hpp"

#include "data/model/sha256.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace ballast::collectives {

namespace {

constexpr std::array<char, 8> hello_magic = {'B', 'A', 'L', 'L',
                                             'R', 'I', 'N', 'G'};
constexpr uint32_t hello_version = 1;

} // namespace

nonce fresh_nonce() {
  nonce out;
  if (getrandom(out.data(), out.size(), 0) !=
      static_cast<ssize_t>(out.size())) {
    throw std::system_error(errno, std::generic_category(), "no random bytes");
  }
  return out;
}

std::string to_string(verdict v) {
  switch (v) {
  case verdict::welcome:
    return "welcome";
  case verdict::prove_yourself:
    return "prove yourself";
  case verdict::unknown_generation:
    return "it does not expect this generation";
  case verdict::wrong_rank:
    return "it expects another rank";
  case verdict::wrong_size:
    return "it has another number of ranks";
  case verdict::wrong_layout:
    return "it has another bucket layout";
  case verdict::wrong_proof:
    return "the tokens differ";
  case verdict::wrong_version:
    return "it speaks another version";
  }
  return "an unknown verdict";
}

hello_frame make_hello(const collective_options& options, int to) {
  hello_frame hello{};
  hello.magic = hello_magic;
  hello.version = hello_version;
  hello.from = options.rank;
  hello.to = to;
  hello.size = options.size;
  hello.generation = value(options.generation);
  hello.layout_hash = options.layout_hash;
  hello.nonce = fresh_nonce();
  return hello;
}

verdict judge(const hello_frame& hello, const collective_options& options) {
  if (hello.magic != hello_magic || hello.version != hello_version) {
    return verdict::wrong_version;
  }
  if (hello.generation != value(options.generation)) {
    return verdict::unknown_generation;
  }
  if (hello.size != options.size) {
    return verdict::wrong_size;
  }
  // The higher rank connects to the lower one.
  if (hello.to != options.rank || hello.from <= options.rank ||
      hello.from >= options.size) {
    return verdict::wrong_rank;
  }
  if (hello.layout_hash != options.layout_hash) {
    return verdict::wrong_layout;
  }
  return verdict::prove_yourself;
}

proof_bytes make_proof(const std::string& token, const std::string& side,
                       const hello_frame& hello, const nonce& acceptor) {
  std::string message = side;
  message.append(reinterpret_cast<const char*>(&hello), sizeof hello);
  message.append(acceptor.begin(), acceptor.end());
  return data::hmac_sha256(token, message);
}

bool same_proof(const proof_bytes& a, const proof_bytes& b) {
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned>(a[i] ^ b[i]);
  }
  return different == 0;
}

nonce link_nonce(const nonce& connector, const nonce& acceptor) {
  nonce out;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = connector[i] ^ acceptor[i];
  }
  return out;
}

} // namespace ballast::collectives
