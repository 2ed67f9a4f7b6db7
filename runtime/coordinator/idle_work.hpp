/// What the coordinator computes while others work for it: the survivors answer
/// a fence, the shard manager plans. A recovery then finds it made. Changes
/// nothing that anybody can see; pure.
#pragma once

#include "runtime/coordinator/parts.hpp"

namespace ballast::coordinator {

/// Called behind every event, once what it led to is sent. Cheap where there is
/// nothing to prepare, or all is.
void prepare_next(const coordinator_parts& p);

} // namespace ballast::coordinator
