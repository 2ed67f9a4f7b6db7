/// Strong ids: the type says what a number counts, so that no function can take
/// a step for an epoch or a plan for a generation.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

namespace ballast {

/// A worker process of one run: a name and an incarnation, numbered from 1 in
/// the order of joining and never reused. 0 means no worker.
enum class worker_id : uint32_t {};
/// One fixed membership. Grows by one at every change, never reused.
enum class generation : uint64_t {};
/// One life of the coordinator, journaled. Messages with a lower term are
/// refused.
enum class term : uint64_t {};
/// A plan: an owner for every interval. Grows by one, never reused.
enum class plan_number : uint64_t {};
/// An immutable run of rows of the training set, numbered from 0.
enum class chunk_id : uint32_t {};
/// A row of the prepared training set, in source order, from 0.
enum class sample_id : uint64_t {};
/// One optimizer update of the run, counted from 1 over all epochs.
enum class step_number : uint64_t {};
/// One pass over the training set, from 1.
enum class epoch_number : uint64_t {};

template <class Id>
concept strong_id =
    std::is_same_v<Id, worker_id> || std::is_same_v<Id, generation> ||
    std::is_same_v<Id, term> || std::is_same_v<Id, plan_number> ||
    std::is_same_v<Id, chunk_id> || std::is_same_v<Id, sample_id> ||
    std::is_same_v<Id, step_number> || std::is_same_v<Id, epoch_number>;

/// The number inside an id, for arithmetic, JSON and printing.
template <strong_id Id>
constexpr std::underlying_type_t<Id> value(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

/// The id that follows `id`.
template <strong_id Id>
constexpr Id next(Id id) {
  return static_cast<Id>(value(id) + 1);
}

template <strong_id Id>
std::string to_string(Id id) {
  return std::to_string(value(id));
}

} // namespace ballast
