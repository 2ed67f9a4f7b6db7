/// The copying half of a shard move: gets chunks from the worker that owns
/// them, at a bounded rate, beside training; from the origin where that worker
/// is gone or sends rubbish. The store is a cache, so it may be broken off
/// anywhere; chunk_release.hpp is the other half.
#pragma once

#include "data/chunk_store.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/messages/messages.hpp"

#include <functional>

namespace ballast {

/// Takes as long as the rate says; ends early, with whatever is here, once
/// `given_up` says so. Never throws: the answer says what went wrong.
chunks_fetched copy_chunks(chunk_store& into, const manifest& set,
                           const assignment& self, const fetch_order& what,
                           const std::function<bool()>& given_up);

} // namespace ballast
