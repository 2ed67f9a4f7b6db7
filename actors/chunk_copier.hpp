/// The copying half of a shard move: gets chunks from the worker that owns
/// them, at a bounded rate, beside training; from the origin where that worker
/// is gone or sends rubbish. And the other half, once a plan is in force:
/// forgets what others own now. The store is a cache, so either may be broken
/// off anywhere.
#pragma once

#include "data/chunk_store.hpp"
#include "runtime/manifest.hpp"
#include "runtime/messages.hpp"

#include <functional>

namespace ballast {

/// Takes as long as the rate says; ends early, with whatever is here, once
/// `given_up` says so. Never throws: the answer says what went wrong.
chunks_fetched copy_chunks(chunk_store& into, const manifest& set,
                           const assignment& self, const fetch_order& what,
                           const std::function<bool()>& given_up);

/// Keeps of the training chunks those that `now` gives to `self`.
void drop_chunks(chunk_store& from, const manifest& set, const plan& now,
                 worker_id self);

} // namespace ballast
