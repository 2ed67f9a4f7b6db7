/// How the large parts of an order travel: numbers as varints, whole runs of
/// consecutive chunks as one entry. A plan of a thousand workers is a tenth of
/// what its fields take, and every worker gets one. Comes from the network:
/// unpacking trusts nothing.
#pragma once

#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/plan.hpp"

#include <string>
#include <vector>

namespace ballast {

std::string pack(const ledger::plan& what);
std::string pack(const std::vector<ledger::worker_cursor>& what);
std::string pack(const std::vector<std::string>& what);

/// False if the bytes are none of these; `out` is then of no meaning.
bool unpack(const std::string& bytes, ledger::plan& out);
bool unpack(const std::string& bytes, std::vector<ledger::worker_cursor>& out);
bool unpack(const std::string& bytes, std::vector<std::string>& out);

} // namespace ballast
