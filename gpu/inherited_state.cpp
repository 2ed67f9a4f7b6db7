#include "gpu/inherited_state.hpp"

#include "data/model/checkpoint_store.hpp"
#include "data/model/number_type.hpp"
#include "data/model/weights_file.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/name_pattern.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/lr_factors.hpp"

#include <algorithm>
#include <utility>

namespace ballast::gpu {
namespace {

const std::string from_pointer = "/init/from";

[[noreturn]] void refuse(const std::string& pointer, const std::string& why) {
  throw ballast_error(errc::invalid_job, pointer + ": " + why, pointer);
}

bool fits_any(const std::vector<std::string>& patterns,
              const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& one) {
    return fits_pattern(one, name);
  });
}

/// Refuses a pattern that fits none of the names.
void check_pattern(const std::string& pattern, const std::string& pointer,
                   const std::vector<std::string>& names) {
  if (std::ranges::none_of(names, [&](const std::string& one) {
        return fits_pattern(pattern, one);
      }))
    refuse(pointer, "\"" + printable(pattern) +
                        "\" fits no parameter; there are " + listed(names));
}

bool is_counter(const data::tensor_place& one) {
  return one.shape.empty() && one.type->integer;
}

/// Finds the wanted tensors in a file, and collects what does not fit.
class inheritance {
public:
  inheritance(const init_spec& how, const data::weights_file& file)
      : how_(how), file_(file) {}

  void take(const std::string& name, const std::vector<int64_t>& shape,
            std::span<float> out) {
    known(name);
    if (fits_any(how_.except, name))
      return;
    const data::tensor_place* found = file_.find(name);
    if (!found)
      misfits("'" + name + "' " + to_string(shape) + " is not in it", name);
    else if (found->shape != shape)
      misfits("'" + name + "' has " + to_string(found->shape) +
                  " there, the model " + to_string(shape),
              name);
    else
      wishes_.push_back({found, out});
  }
  void known(const std::string& name) { names_.push_back(name); }

  /// After all of them.
  void check() {
    for (const data::tensor_place& one : file_.tensors()) {
      const bool ours = std::ranges::count(names_, one.name) > 0;
      if (ours || is_counter(one) || data::is_beside_model(one.name))
        continue;
      theirs_.push_back(one.name);
      if (!fits_any(how_.except, one.name))
        misfits("'" + one.name + "' " + to_string(one.shape) +
                    " is none of the model",
                one.name);
    }
    if (!misfits_.empty())
      refuse(from_pointer, describe());
    std::vector<std::string> all = names_;
    all.insert(all.end(), theirs_.begin(), theirs_.end());
    for (size_t i = 0; i < how_.except.size(); ++i)
      check_pattern(how_.except[i], "/init/except/" + std::to_string(i), all);
  }
  void read() const { file_.read(wishes_, weight_readers()); }

private:
  void misfits(std::string why, const std::string& name) {
    misfits_.push_back(std::move(why));
    if (const std::string one = pattern_of_layer(name);
        std::ranges::count(helpful_, one) == 0)
      helpful_.push_back(one);
  }
  std::string describe() const {
    constexpr size_t told_max = 6;
    std::string out = "that model does not fit this one: ";
    for (size_t i = 0; i < std::min(misfits_.size(), told_max); ++i)
      out += (i == 0 ? "" : "; ") + misfits_[i];
    if (misfits_.size() > told_max)
      out += "; and " + std::to_string(misfits_.size() - told_max) + " more";
    out += ". Parameters that /init/except names begin anew: ";
    for (size_t i = 0; i < std::min(helpful_.size(), told_max); ++i)
      out += (i == 0 ? "\"" : ", \"") + helpful_[i] + "\"";
    return out + (helpful_.size() > told_max ? ", .." : "");
  }

  const init_spec& how_;
  const data::weights_file& file_;
  std::vector<data::weights_file::wish> wishes_;
  std::vector<std::string> names_;   // of the model
  std::vector<std::string> theirs_;  // of the file alone
  std::vector<std::string> misfits_; // sentences
  std::vector<std::string> helpful_; // patterns
};

/// What a file is not becomes a mistake in the job.
template <class Read>
auto of_the_job(const Read& read) {
  try {
    return read();
  } catch (const ballast_error& e) {
    if (e.what_failed().code == errc::invalid_job)
      throw;
    refuse(from_pointer, e.what());
  }
}

std::vector<std::vector<std::string>> names_of(const model& of) {
  std::vector<std::vector<std::string>> out;
  for (const parameter_info& one : of.parameters())
    out.push_back({one.name});
  for (const model::alias& one : of.aliases())
    out.at(one.parameter).push_back(one.name);
  return out;
}

/// Behind the range before, if that is treated alike.
void add_range(std::vector<update_range>& to, const parameter_info& one,
               double factor) {
  if (one.count == 0)
    return;
  if (!to.empty() && to.back().first + to.back().count == one.offset &&
      to.back().lr_factor == factor)
    to.back().count += one.count;
  else
    to.push_back({one.offset, one.count, factor});
}

double factor_of(const optimizer_spec& how,
                 const std::vector<std::string>& names) {
  std::string counts;
  for (const std::string& name : names)
    if (const std::string one = lr_pattern_of(how, name);
        one.size() > counts.size())
      counts = one;
  return counts.empty() ? 1 : read_lr_factor(how.lr_of.at(counts)).value_or(1);
}

} // namespace

void inherit_parameters(const init_spec& how, const model_tensors& of,
                        std::span<float> arena) {
  of_the_job([&] {
    const data::weights_file file(how.from);
    inheritance found(how, file);
    for (const parameter_info& p : of.parameters)
      found.take(p.name, p.shape, arena.subspan(p.offset, p.count));
    for (const model::buffer& b : of.buffers)
      found.take(b.name, b.shape, b.values);
    for (const model::alias& a : of.aliases)
      found.known(a.name);
    found.check();
    found.read();
  });
}

std::vector<inherited_vector>
inherit_optimizer(const init_spec& how,
                  const std::vector<parameter_info>& parameters,
                  const std::vector<std::string>& wanted) {
  return of_the_job([&] {
    const data::weights_file file(how.from);
    size_t here = 0;
    uint64_t there = 0; // of the checkpoint's arena, which has the same order
    std::vector<std::pair<size_t, uint64_t>> from; // of each parameter
    for (const parameter_info& one : parameters) {
      const data::tensor_place* found = file.find(one.name);
      from.emplace_back(one.offset, there);
      here = one.offset + one.count;
      there += found ? (found->end - found->begin) / found->type->bytes : 0;
    }
    std::vector<inherited_vector> out;
    for (const std::string& name : wanted) {
      const data::tensor_place* found =
          file.find(data::optimizer_prefix + name);
      if (!found)
        refuse("/init/optimizer",
               "the checkpoint has no '" + name +
                   "': it was made by another optimizer; expected the same "
                   "kind, or false");
      std::vector<float> all((found->end - found->begin) / found->type->bytes);
      if (all.size() != there)
        refuse("/init/optimizer",
               "'" + name + "' of the checkpoint has " +
                   std::to_string(all.size()) +
                   " values, its parameters of "
                   "these names have " +
                   std::to_string(there) +
                   "; expected a model of the same layers, or false");
      file.read({{found, all}}, weight_readers());
      inherited_vector& made = out.emplace_back(name, std::vector<float>(here));
      for (size_t i = 0; i < parameters.size(); ++i)
        if (!fits_any(how.except, parameters[i].name))
          std::copy_n(all.begin() + ptrdiff_t(from[i].second),
                      parameters[i].count,
                      made.values.begin() + ptrdiff_t(from[i].first));
    }
    return out;
  });
}

update_groups arrange_updates(const job& what, const model& of) {
  const init_spec& init = what.init;
  const optimizer_spec& how = what.train.optimizer;
  if (init.freeze.empty() && how.lr_of.empty())
    return {};
  const auto names = names_of(of);
  std::vector<std::string> all;
  for (const auto& some : names)
    all.insert(all.end(), some.begin(), some.end());
  for (size_t i = 0; i < init.freeze.size(); ++i)
    check_pattern(init.freeze[i], "/init/freeze/" + std::to_string(i), all);
  for (const auto& [pattern, factor] : how.lr_of)
    check_pattern(pattern, "/train/optimizer/lr_of/" + pattern, all);
  update_groups out;
  for (size_t i = 0; i < names.size(); ++i) {
    const parameter_info& one = of.parameters()[i];
    if (std::ranges::any_of(names[i], [&](const std::string& name) {
          return fits_any(init.freeze, name);
        }))
      add_range(out.still, one, 1);
    else
      add_range(out.changed, one, factor_of(how, names[i]));
  }
  if (out.changed.empty())
    refuse("/init/freeze", "leaves no parameter to train; expected patterns "
                           "that leave some out");
  return out;
}

} // namespace ballast::gpu
