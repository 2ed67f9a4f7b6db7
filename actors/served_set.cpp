#include "actors/served_set.hpp"

#include "actors/served_checkpoint.hpp"
#include "actors/served_parent.hpp"
#include "actors/shard_manager.hpp"
#include "data/fitting/state_files.hpp"
#include "data/prepared/prepared_folder.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/source_error.hpp"
#include "data/transfer/chunk_service.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/thread_name.hpp"
#include "runtime/base/thrown_text.hpp"
#include "runtime/ledger/epoch_uses.hpp"

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace ballast::actors {

struct served_set::parts {
  std::shared_ptr<data::prepared_set> set;
  /// As epochs use it and balancing counts it.
  std::shared_ptr<const ledger::manifest> counted;
  std::shared_ptr<const balance::chunk_labels> labels;
  std::unique_ptr<data::chunk_service> service;
  std::string manifest_text;
  std::string chunks; // the table that workers get
  std::string detail;
  std::stop_source stop; // of the thread
  std::shared_ptr<store::work_seen> seen;
  std::thread thread;
  served_checkpoint checkpoint;
  parent_weights parent;

  failure make(const prepare_set& order, const shard_manager_config& config);
  void count(const job& what);
};

void served_set::parts::count(const job& what) {
  const ledger::manifest& has = set->about();
  const sampling_spec& how = what.train.sampling;
  if (failure none = ledger::epoch_uses::mistake(how, has))
    throw ballast_error(none);
  if (const auto uses =
          ledger::epoch_uses::of(how, what.train.epochs, what.seed, has))
    counted = std::make_shared<const ledger::manifest>(uses->counted(has));
  else
    counted = {set, &has};
}

/// Reads the sources, starts serving.
failure served_set::parts::make(const prepare_set& order,
                                const shard_manager_config& config) {
  try {
    data::prepare_options options{.stop = {stop.get_token(), seen},
                                  .warn = config.warn};
    options.apart = config.apart;
    options.apart.token = order.token;
    options.apart.term = order.term;
    set = data::prepare(order.what, config.cache_folder, options);
    nlohmann::json manifest = set->about();
    data::name_states(set->folder(), manifest);
    data::name_columns(set->folder(), manifest);
    manifest_text = json_text(manifest);
    count(order.what);
    // Rows that are stratified lie class by class; balanced weights are of the
    // rows of each class.
    const train_spec& how = order.what.train;
    const bool labels_wanted = how.sampling.kind == sampling_kind::stratified ||
                               how.class_weights_balanced;
    chunks = chunk_table(set->about(),
                         labels_wanted ? data::chunk_columns_wanted::all
                                       : data::chunk_columns_wanted::no_labels);
    labels = std::make_shared<const balance::chunk_labels>(*counted);
    service = data::chunk_service::start(
        config.bind_host, 0, order.token,
        [held = set](data::data_part part, chunk_id id) {
          return held->read(part, id);
        },
        [this](const std::string& name) -> std::optional<std::string> {
          if (name == "manifest")
            return chunks;
          if (auto found = blob_of(parent, name))
            return found;
          return checkpoint.blob(name);
        });
    return {};
  } catch (const data::source_error& e) {
    detail = e.detail();
    return e.what_failed();
  } catch (const ballast_error& e) {
    return e.what_failed();
  } catch (const std::exception& e) {
    return {errc::internal, "preparing the data: " + thrown_text(e), {}};
  }
}

served_set::served_set(const prepare_set& order,
                       const shard_manager_config& config,
                       std::function<void(const failure&)> ended)
    : parts_(std::make_unique<parts>()) {
  parts_->parent = order.parent;
  parts_->seen = order.seen ? order.seen : std::make_shared<store::work_seen>();
  parts_->thread = std::thread(
      [order, config, ended = std::move(ended), made = parts_.get()] {
        name_this_thread("bl-prepare");
        ended(made->make(order, config));
      });
}

served_set::~served_set() {
  stop();
  parts_->thread.join();
  if (parts_->service)
    parts_->service->shutdown(std::chrono::seconds(1));
}

void served_set::stop() {
  parts_->stop.request_stop();
}

uint64_t served_set::progress() const {
  return parts_->seen->checks;
}

const std::string& served_set::detail() const {
  return parts_->detail;
}

set_prepared served_set::about() const {
  const ledger::manifest& has = parts_->set->about();
  set_prepared out;
  out.manifest = parts_->manifest_text;
  if (has.tables)
    out.tables = parts_->set->folder();
  out.rejected = has.rejected;
  if (has.rejected && has.rejected->kept > 0)
    out.quarantine = parts_->set->folder() / data::quarantine_name;
  const auto states = parts_->set->folder() / data::preprocessing_name;
  if (std::error_code none; std::filesystem::exists(states, none))
    out.preprocessing = states;
  out.set.content_id = has.content_id;
  out.set.origin = parts_->service->address();
  out.set.cached_as = parts_->set->folder().filename();
  out.set.train_rows = parts_->counted->train_rows;
  out.set.test_rows = has.test_rows;
  out.set.classes = has.row.classes;
  out.set.chunk_rows = counted_rows(*parts_->counted, nullptr);
  return out;
}

std::shared_ptr<const ledger::manifest> served_set::content() const {
  return parts_->counted;
}

std::shared_ptr<const balance::chunk_labels> served_set::labels() const {
  return parts_->labels;
}

void served_set::serve(const std::string& checkpoint_file) {
  parts_->checkpoint.serve(checkpoint_file);
}

} // namespace ballast::actors
