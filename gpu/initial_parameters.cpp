#include "gpu/initial_parameters.hpp"

#include "data/model/number_type.hpp"
#include "data/model/weights_file.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>

namespace ballast::gpu {
namespace {

constexpr const char* init_pointer = "/model/init";

/// Finds the wanted tensors in a file, and collects mismatches.
struct matcher {
  const data::weights_file& file;
  std::vector<data::weights_file::wish> wishes;
  std::set<std::string> known;
  std::vector<std::string> missing;
  std::vector<std::string> misshapen;

  void take(const std::string& name, const std::vector<int64_t>& shape,
            std::span<float> out) {
    known.insert(name);
    const data::tensor_place* found = file.find(name);
    if (!found)
      missing.push_back(name + " " + to_string(shape));
    else if (found->shape != shape)
      misshapen.push_back(name + " has " + to_string(found->shape) +
                          ", the model " + to_string(shape));
    else
      wishes.push_back({found, out});
  }
  /// An alias may be missing, but must equal its parameter.
  void check(const std::string& name, std::span<const float> values) {
    const data::tensor_place* found = file.find(name);
    if (found && !file.equals(*found, values))
      misshapen.push_back(name + " differs from the parameter it is tied to");
  }
  std::vector<std::string> unexpected() const {
    std::vector<std::string> out;
    for (const data::tensor_place& t : file.tensors())
      if (!known.contains(t.name) && !(t.shape.empty() && t.type->integer))
        out.push_back(t.name + " " + to_string(t.shape));
    return out;
  }
  /// All of them; empty if there are none.
  std::string problems() const {
    std::string why;
    auto add = [&why](const char* what, const std::vector<std::string>& names) {
      if (!names.empty())
        why += (why.empty() ? "" : "; ") + std::string(what) + listed(names);
    };
    add("it lacks ", missing);
    add("of another shape or value: ", misshapen);
    add("the model has no ", unexpected());
    return why;
  }
};

} // namespace

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t named_max = 8;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), named_max); ++i)
    out += (i == 0 ? "'" : ", '") + names[i] + "'";
  if (names.size() > named_max)
    out += " and " + std::to_string(names.size() - named_max) + " more";
  return out;
}

size_t weight_readers() {
  // More would not read any faster, and other workers of the host read it too.
  constexpr size_t readers_max = 4;
  return std::min<size_t>(readers_max,
                          std::max(2U, std::thread::hardware_concurrency()));
}

std::string to_string(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + "]";
}

std::vector<parameter_info> lay_out(
    const std::vector<std::pair<std::string, std::vector<int64_t>>>& shapes) {
  std::vector<parameter_info> out;
  size_t offset = 0;
  for (const auto& [name, shape] : shapes) {
    size_t count = 1;
    for (int64_t dimension : shape)
      count *= size_t(dimension);
    out.push_back({name, shape, offset, count});
    offset += count;
  }
  return out;
}

bool initialize_as_asked(const model_spec& spec, const model_tensors& of,
                         std::span<float> arena) {
  const std::optional<model_init> word = parse_word<model_init>(spec.init);
  if (word == model_init::seeded)
    return false;
  if (word == model_init::zeros)
    return true; // as they come
  auto refuse = [&](const std::string& why) {
    throw ballast_error(errc::invalid_job, why, init_pointer);
  };
  auto misfit = [&](const std::string& why) {
    if (!why.empty())
      refuse(spec.init + ": does not fit the model: " + why);
  };
  try {
    const data::weights_file file(spec.init);
    matcher found{file, {}, {}, {}, {}};
    for (const parameter_info& p : of.parameters)
      found.take(p.name, p.shape, arena.subspan(p.offset, p.count));
    for (const model::buffer& b : of.buffers)
      found.take(b.name, b.shape, b.values);
    for (const model::alias& a : of.aliases)
      found.known.insert(a.name);
    misfit(found.problems());
    file.read(found.wishes, weight_readers());
    for (const model::alias& a : of.aliases) {
      const parameter_info& p = of.parameters.at(a.parameter);
      found.check(a.name, arena.subspan(p.offset, p.count));
    }
    misfit(found.problems());
  } catch (const ballast_error& e) {
    refuse(e.what());
  }
  return true;
}

} // namespace ballast::gpu
