/// The lines of events.jsonl about the files of a run: a part of
/// event_text.hpp. Pure.
#pragma once

#include "monitor/logs/event_text.hpp"
#include "runtime/coordinator/file_event.hpp"

namespace ballast::monitor {

event_text line(const coordinator::events::checkpoint& e);
event_text line(const coordinator::events::no_memory_checkpoints& e);
event_text line(const coordinator::events::checkpoint_failed& e);
event_text line(const coordinator::events::checkpoint_refused& e);
event_text line(const coordinator::events::checkpoint_copied& e);
event_text line(const coordinator::events::checkpoint_not_copied& e);
event_text line(const coordinator::events::model_copied& e);
event_text line(const coordinator::events::model_not_copied& e);
event_text line(const coordinator::events::checkpoint_fetched& e);
event_text line(const coordinator::events::branched& e);
event_text line(const coordinator::events::model_refused& e);
event_text line(const coordinator::events::steps_restored& e);
event_text line(const coordinator::events::manifest_restored& e);
event_text line(const coordinator::events::damaged_tail& e);

} // namespace ballast::monitor
