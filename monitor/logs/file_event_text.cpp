#include "monitor/logs/file_event_text.hpp"

#include <nlohmann/json.hpp>

namespace ballast::monitor {

namespace events = coordinator::events;

event_text line(const events::checkpoint& e) {
  return {"checkpoint",
          {{"step", value(e.step)},
           {"epoch", value(e.epoch)},
           {"bytes", e.bytes},
           {"ms", e.took.count()},
           {"where", e.in_memory ? "memory" : "disk"}}};
}

event_text line(const events::no_memory_checkpoints& e) {
  return {"no_memory_checkpoints", {{"reason", e.reason}}};
}

event_text line(const events::checkpoint_failed& e) {
  return {"checkpoint_failed",
          {{"step", value(e.step)},
           {"code", to_string(e.why.code)},
           {"message", e.why.message}}};
}

event_text line(const events::checkpoint_refused& e) {
  return {"checkpoint_refused",
          {{"checkpoint", e.checkpoint},
           {"reason", e.reason},
           {"kept", e.kept},
           {"where", e.kept.empty() ? "memory" : "disk"}}};
}

event_text line(const events::checkpoint_copied& e) {
  return {"checkpoint_copied",
          {{"step", value(e.step)},
           {"bytes", e.bytes},
           {"ms", e.took.count()},
           {"to", e.to}}};
}

event_text line(const events::checkpoint_not_copied& e) {
  return {"checkpoint_not_copied",
          {{"step", value(e.step)},
           {"code", to_string(e.why.code)},
           {"message", e.why.message}}};
}

event_text line(const events::model_copied& e) {
  return {"model_copied",
          {{"bytes", e.bytes}, {"ms", e.took.count()}, {"to", e.to}}};
}

event_text line(const events::model_not_copied& e) {
  return {"model_not_copied",
          {{"code", to_string(e.why.code)}, {"message", e.why.message}}};
}

event_text line(const events::checkpoint_fetched& e) {
  return {"checkpoint_fetched",
          {{"step", value(e.step)}, {"from", e.from}, {"reason", e.reason}}};
}

event_text line(const events::branched& e) {
  return {"branched",
          {{"parent",
            {{"run", e.run}, {"step", value(e.step)}, {"sha256", e.sha256}}}}};
}

event_text line(const events::model_refused& e) {
  return {"model_refused", {{"reason", e.reason}, {"kept", e.kept}}};
}

event_text line(const events::steps_restored& e) {
  return {"steps_restored",
          {{"from", value(e.from)},
           {"to", value(e.to)},
           {"reason", "steps.jsonl lacked them, the ledger proves them"}}};
}

event_text line(const events::manifest_restored& e) {
  return {"manifest_restored", {{"reason", e.reason}}};
}

event_text line(const events::damaged_tail& e) {
  return {"damaged_tail",
          {{"file", e.file},
           {"line", e.line},
           {"bytes", e.bytes},
           {"reason", e.reason},
           {"kept", e.kept}}};
}

} // namespace ballast::monitor
