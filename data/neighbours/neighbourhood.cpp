#include "data/neighbours/neighbourhood.hpp"

#include <algorithm>

namespace ballast::data {

namespace {

/// Of the own class, for the witnesses. More make the radius smaller, in which
/// the other classes are searched.
constexpr size_t blocks_for_witnesses = 8;

/// The two searches of one group of queries.
class look {
public:
  look(const class_index& index, size_t most, gone_rows gone,
       const query_group& group)
      : index_(index), group_(group), own_(index, most, gone),
        foreign_(index, 1, gone) {
    own_.begin(group);
    foreign_.begin(group);
  }

  void run(neighbourhoods& out) {
    own_.look_into(group_.of_class, blocks_for_witnesses);
    for (size_t q = 0; q < group_.rows.size(); ++q)
      foreign_.look_before(q, own_.furthest(q));
    for (const uint32_t other : index_.all())
      if (other != group_.of_class)
        foreign_.look_into(other);
    for (size_t q = 0; q < group_.rows.size(); ++q) {
      if (foreign_.found(q).empty() && own_.furthest(q) != nobody)
        own_.dismiss(q);
      else if (!foreign_.found(q).empty())
        own_.look_before(q, foreign_.found(q)[0]);
    }
    own_.look_into(group_.of_class);
    for (size_t q = 0; q < group_.rows.size(); ++q) {
      const uint32_t to = group_.places[q];
      std::ranges::copy(own_.found(q), out.own.begin() + long(to * out.most));
      if (!foreign_.found(q).empty())
        out.foreign[to] = foreign_.found(q)[0];
    }
  }

private:
  const class_index& index_;
  const query_group& group_;
  block_search own_;
  block_search foreign_;
};

} // namespace

neighbourhoods look_around(const class_index& index,
                           std::span<const uint32_t> queries, size_t most,
                           const work_terms& how, gone_rows gone) {
  neighbourhoods out{most, {}, {}};
  out.own.assign(queries.size() * most, nobody);
  out.foreign.assign(queries.size(), nobody);
  const std::vector<query_group> groups = index.grouped(queries);
  parallel_work(groups.size(), how,
                [&](size_t i) { look(index, most, gone, groups[i]).run(out); });
  return out;
}

} // namespace ballast::data
