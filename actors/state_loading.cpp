#include "actors/state_loading.hpp"

#include "data/model/checkpoint_store.hpp"
#include "data/model/safetensors.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace ballast::actors {

namespace {

/// A tensor of the state, and where it is.
struct state_place {
  std::string name;
  gpu::compute_device* device = nullptr;
  std::span<float> values;
};

std::vector<state_place> places_of(const replica& of) {
  std::vector<state_place> out;
  for (const gpu::state_part& part : parts_of(of))
    for (const gpu::part_tensor& one : part.tensors)
      out.push_back(
          {one.name, part.device, part.values.subspan(one.first, one.count)});
  return out;
}

/// Where each tensor of a checkpoint goes; null: nowhere.
std::vector<const state_place*>
fitting(const std::vector<state_place>& wanted,
        const std::vector<data::tensor_place>& tensors) {
  std::vector<const state_place*> out(tensors.size(), nullptr);
  for (const state_place& one : wanted) {
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const data::tensor_place& there) {
                                      return there.name == one.name;
                                    });
    const uint64_t bytes = found == tensors.end() || !found->float32
                               ? 0
                               : found->end - found->begin;
    if (found == tensors.end() || bytes != one.values.size_bytes())
      throw ballast_error(
          errc::invalid_data,
          "the checkpoint does not fit the model: '" + one.name + "' has " +
              std::to_string(bytes / sizeof(float)) + " values there, " +
              std::to_string(one.values.size()) + " here");
    out[size_t(found - tensors.begin())] = &one;
  }
  return out;
}

/// The tensors of a file, and where each goes.
struct state_layout {
  std::vector<state_place> wanted;
  std::vector<data::tensor_place> tensors; // ascending
  std::vector<const state_place*> places;  // of each tensor
  uint64_t values_begin = 0;               // of the file's bytes
};

/// A piece of a block: some bytes of one tensor.
struct block_piece {
  std::span<char> bytes; // where they are read to
  const state_place* place = nullptr;
  uint64_t at = 0; // of the place's bytes
};

/// Reads one block after another into one layout. Each thread has its own.
class block_loader {
public:
  block_loader(const state_layout& layout, const state_source& from,
               data::state_check& check, gpu::compute_device& device)
      : layout_(layout), check_(check), reader_(from.open()),
        room_(new float[from.block_bytes / sizeof(float) + 1]) {
    if (!device.is_host())
      room_ = device.pin(std::move(room_), from.block_bytes / sizeof(float));
  }

  void operator()(uint64_t at, uint64_t count) {
    cut(at, count);
    to_.clear();
    came_.clear();
    for (const block_piece& one : pieces_) {
      to_.push_back(one.bytes);
      came_.push_back(one.bytes);
    }
    reader_->read(at, to_);
    check_.add(at, came_);
    for (const block_piece& one : pieces_)
      if (one.place && !one.place->device->is_host())
        one.place->device->upload(
            one.place->values.data() + one.at / sizeof(float),
            reinterpret_cast<const float*>(one.bytes.data()),
            one.bytes.size() / sizeof(float));
  }

private:
  /// What the host cannot touch, and what nobody wants, goes through the room.
  void cut(uint64_t at, uint64_t count) {
    pieces_.clear();
    char* room = reinterpret_cast<char*>(room_.get());
    uint64_t begin = at - layout_.values_begin;
    const uint64_t end = begin + count;
    auto next =
        std::upper_bound(layout_.tensors.begin(), layout_.tensors.end(), begin,
                         [](uint64_t there, const data::tensor_place& one) {
                           return there < one.end;
                         });
    for (; begin < end; ++next) {
      const uint64_t bytes = std::min(end, next->end) - begin;
      block_piece& one = pieces_.emplace_back();
      one.place = layout_.places[size_t(next - layout_.tensors.begin())];
      one.at = begin - next->begin;
      if (one.place && one.place->device->is_host())
        one.bytes = {reinterpret_cast<char*>(one.place->values.data()) + one.at,
                     bytes};
      else
        one.bytes = {std::exchange(room, room + bytes), bytes};
      begin += bytes;
    }
  }

  const state_layout& layout_;
  data::state_check& check_;
  std::unique_ptr<data::block_reader> reader_;
  std::shared_ptr<float[]> room_; // of one block
  std::vector<block_piece> pieces_;
  std::vector<std::span<char>> to_;
  std::vector<std::span<const char>> came_;
};

/// Throws invalid_data for what is no such file.
state_layout layout_of(replica& into, const state_source& from,
                       std::map<std::string, std::string>& metadata) {
  state_layout out;
  out.wanted = places_of(into);
  out.values_begin = from.header.size();
  out.tensors = data::tensor_places(from.header.substr(sizeof(uint64_t)),
                                    from.name, metadata);
  const uint64_t end =
      out.values_begin + (out.tensors.empty() ? 0 : out.tensors.back().end);
  if (end != from.expected.bytes)
    throw ballast_error(
        errc::invalid_data,
        from.name + " has " + std::to_string(from.expected.bytes) +
            " bytes, its tensors end at " + std::to_string(end));
  return out;
}

} // namespace

step_number load_state(replica& into, const state_source& from,
                       step_number start,
                       const std::function<bool()>& given_up) {
  const step_number wanted{value(start) - 1};
  const auto damaged_where_invalid = [&](const auto& read) {
    try {
      read();
    } catch (const ballast_error& e) {
      if (e.what_failed().code != errc::invalid_data)
        throw;
      throw damaged_state(wanted, e.what());
    }
  };
  state_layout layout;
  std::map<std::string, std::string> metadata;
  damaged_where_invalid([&] { layout = layout_of(into, from, metadata); });
  layout.places = fitting(layout.wanted, layout.tensors);
  const step_number step{std::strtoull(metadata["step"].c_str(), nullptr, 10)};
  if (step != wanted)
    throw ballast_error(errc::invalid_data,
                        "the checkpoint is of step " + to_string(step) +
                            ", the run goes on with step " + to_string(start));
  for (size_t i = 0; i < layout.places.size(); ++i)
    if (layout.places[i] &&
        (layout.values_begin + layout.tensors[i].begin) % sizeof(float) != 0)
      throw ballast_error(errc::invalid_data,
                          "the checkpoint's values begin at half a number");
  damaged_where_invalid([&] {
    data::state_check check(from.name, from.expected);
    const std::span<const char> header(from.header);
    check.add(0, std::span(&header, 1));
    data::for_each_block(
        {layout.values_begin, from.expected.bytes, from.block_bytes,
         from.threads, given_up},
        [&]() -> data::block_work {
          return [loader = std::make_shared<block_loader>(layout, from, check,
                                                          *into.device)](
                     uint64_t at, uint64_t count) { (*loader)(at, count); };
        },
        [&] { check.stop(); });
  });
  return step;
}

} // namespace ballast::actors
