// Draws batches of samples: see sample_batch.h.
#include "sample/sample_batch.h"

namespace qe {
SampleBatch::SampleBatch(const MatchPlan& plan, int32_t method, int depth, uint64_t seed, const GuideLevel* guide,
                         const Control* control)
    : plan_(plan), method_(method), depth_(depth), seed_(seed), slot_(kBatchSamples),
      values_(static_cast<size_t>(kBatchSamples) * static_cast<size_t>(depth)), weights_(kBatchSamples),
      blocks_(kBatchSamples), pending_(kBatchSamples), walk_(walk_ops(current_isa())), picks_(1), guide_(guide),
      control_(control), fine_(guide ? kBatchSamples : 0) {
  for (int level = 0; level < depth; ++level) plain_.push_back(plain_level(level));
}

void SampleBatch::draw(uint64_t first, int n, SampleSums* sums) {
  begin(first, n);
  for (int level = 0; level < depth_ && alive_ > 0; ++level) advance(level, &sums[level]);
}

void SampleBatch::begin(uint64_t first, int n) {
  first_ = first;
  alive_ = n;
  for (int k = 0; k < n; ++k) {
    slot_[static_cast<size_t>(k)] = k;
    weights_[static_cast<size_t>(k)] = 1;
  }
}

void SampleBatch::advance(int level, SampleSums* sums) {
  if (level % kBlockLevels == 0) draw_blocks(level);
  if (guide_ && level % kGuidedLevels == 0) draw_fine(level);
  const SampleWork cost = work(level);
  sums->work += int64_t{cost.walk} * alive_;
  int64_t places = 0;
  if (plan_.levels[level].kind == kEdgeLevel) extend_edges(level);
  else if (plain_[static_cast<size_t>(level)].extends())
    places = method_ == kWanderJoin ? walk_plain(level) : refine_plain(level);
  else if (method_ == kWanderJoin) places = walk_vertices(level);
  else places = refine_vertices(level);
  sums->work += cost.place * places;
  for (int k = 0; k < alive_; ++k) {
    const double each = weight(k);
    sums->weight += each;
    sums->square += each * each;
  }
  sums->reached += alive_;
}

void SampleBatch::draw_blocks(int level) {
  walk_.draw({seed_, first_}, block_of(level), slot_.data(), alive_, blocks_.data());
}

void SampleBatch::draw_fine(int level) {
  walk_.draw({seed_, first_}, guide_block_of(level), slot_.data(), alive_, fine_.data());
}

// Plain levels are refined by intersecting lists, others by validating each place against each source.
SampleWork SampleBatch::work(int index) const {
  const PlanLevel& level = plan_.levels[index];
  if (level.kind == kEdgeLevel) return {kLevelWork + kSourceWork * level.types.count, 0};
  const bool intersects = method_ == kAlley && plain_[static_cast<size_t>(index)].extends();
  const int32_t looked_up = level.sources.count - (intersects ? 1 : 0);
  const int32_t weighed = level.sources.count > 0 && guide_of(index) ? 1 : 0;
  return {kLevelWork + kSourceWork * level.sources.count, kMemberWork * looked_up + weighed};
}

// Asks for the row index of each source's lists.
void SampleBatch::prefetch_lists(const PlanLevel& level, int slot) {
  for (int k = 0; k < level.sources.count; ++k) {
    const PlanSource& source = plan_.sources[level.sources.first + k];
    const auto v = static_cast<uint32_t>(value(slot)[source.level]);
    for (int j = 0; j < source.lists.count; ++j) {
      const Pcsr& list = plan_.lists[plan_.list_ids[source.lists.first + j]];
      if (list.form == kDense && v >= list.lo && v < list.hi) __builtin_prefetch(list.offsets + (v - list.lo));
      else if (list.form == kGroups && list.n_keys > 0) __builtin_prefetch(list.groups + group_hash(v, list.n_keys));
    }
  }
}

// Asks for the middles of the lists that validation searches.
void SampleBatch::prefetch_members(const PlanLevel& level, const SampleStep& step, int slot) {
  for (int k = level.sources.first; k < level.sources.first + level.sources.count; ++k) {
    if (k == step.source) continue;
    const PlanSource& source = plan_.sources[k];
    const auto v = static_cast<uint32_t>(value(slot)[source.level]);
    for (int j = 0; j < source.lists.count; ++j) {
      const Pcsr& list = plan_.lists[plan_.list_ids[source.lists.first + j]];
      if (list.form != kDense || v < list.lo || v >= list.hi) continue;
      const uint64_t begin = list.offsets[v - list.lo], end = list.offsets[v - list.lo + 1];
      __builtin_prefetch(list.neighbours + begin + (end - begin) / 2);
    }
  }
}

// WanderJoin: all samples pick, then all read what they picked and validate it.
int64_t SampleBatch::walk_plain(int level) {
  const PlainLevel& plain = plain_[static_cast<size_t>(level)];
  const int picked = walk_.pick(plain, level, walks(), alive_, picks_[0]);
  alive_ = walk_.validate(plain, level, walks(), picked, picks_[0]);
  return picked;
}

int64_t SampleBatch::walk_vertices(int level) {
  if (const PlainLevel plain = plain_roots(level); plain.n_roots > 0) {
    walk_.roots(plain, level, walks(), alive_);
    return alive_;
  }
  const PlanLevel& plan = plan_.levels[level];
  const int before = alive_;
  int picked = 0;
  for (int k = 0; k < kAhead && k < before; ++k) prefetch_lists(plan, slot_[static_cast<size_t>(k)]);
  for (int k = 0; k < before; ++k) {
    if (k + kAhead < before) prefetch_lists(plan, slot_[static_cast<size_t>(k + kAhead)]);
    const int slot = slot_[static_cast<size_t>(k)];
    Pending& pending = pending_[static_cast<size_t>(picked)];
    pending.step = sample_step(plan_, plan, value(slot));
    const SampleStep& step = pending.step;
    if (step.n == 0) continue;
    const uint64_t choice = pick(id(slot), level, word(slot, level), step.n);
    const bool one_list = step.source >= 0 && plan_.sources[step.source].lists.count == 1;
    if (one_list) {
      const Pcsr& list = plan_.lists[plan_.list_ids[plan_.sources[step.source].lists.first]];
      pending.where = list.neighbours + step.slice.begin + choice;
      pending.after_first = choice > 0;
      __builtin_prefetch(pending.where);
    } else {
      pending.where = nullptr;
      pending.place = sample_place(plan_, plan, step, value(slot), choice);
    }
    prefetch_members(plan, step, slot);
    slot_[static_cast<size_t>(picked++)] = slot;
  }
  alive_ = 0;
  for (int k = 0; k < picked; ++k) {
    const int slot = slot_[static_cast<size_t>(k)];
    const Pending& pending = pending_[static_cast<size_t>(k)];
    SamplePlace place = pending.place;
    if (pending.where) place = {*pending.where, pending.after_first && pending.where[-1] == *pending.where};
    if (!validate_vertex(plan_, level, pending.step, place, value(slot))) continue;
    weights_[static_cast<size_t>(slot)] *= static_cast<double>(pending.step.n);
    slot_[static_cast<size_t>(alive_++)] = slot;
  }
  return picked;
}

// Alley: each sample refines its candidates and picks one of those that are left. Levels without a source have the same
// candidates for every sample: they are picked and validated, not refined.
int64_t SampleBatch::refine_vertices(int level) {
  const PlanLevel& plan = plan_.levels[level];
  const GuideLevel* guide = guide_of(level);
  if (plan.sources.count == 0) return guide ? guide_roots(level) : walk_vertices(level);
  const int before = alive_;
  uint64_t validated = 0;
  alive_ = 0;
  for (int k = 0; k < kAhead && k < before; ++k) prefetch_lists(plan, slot_[static_cast<size_t>(k)]);
  for (int k = 0; k < before; ++k) {
    if (k + kAhead < before) prefetch_lists(plan, slot_[static_cast<size_t>(k + kAhead)]);
    const int slot = slot_[static_cast<size_t>(k)];
    const SampleStep step = sample_step(plan_, plan, value(slot));
    if (step.n == 0) continue;
    make_room(step.n);
    validated += step.n;
    refined(step.n);
    uint32_t* out = refined_.data();
    refine(plan_, level, step, value(slot), [&out](uint32_t vertex) { *out++ = vertex; });
    const auto kept = static_cast<uint64_t>(out - refined_.data());
    if (kept == 0) continue;
    if (guide) {
      if (bind_guided(level, slot, {refined_.data(), kept}, nullptr, nullptr, 0)) slot_[static_cast<size_t>(alive_++)] = slot;
      continue;
    }
    value(slot)[level] = refined_[pick(id(slot), level, word(slot, level), kept)];
    weights_[static_cast<size_t>(slot)] *= static_cast<double>(kept);
    slot_[static_cast<size_t>(alive_++)] = slot;
  }
  return static_cast<int64_t>(validated);
}

void SampleBatch::extend_edges(int level) {
  const int before = alive_;
  alive_ = 0;
  for (int k = 0; k < before; ++k) {
    const int slot = slot_[static_cast<size_t>(k)];
    const uint64_t factor = sample_edge(plan_, level, method_, id(slot), word(slot, level), value(slot));
    if (factor == 0) continue;
    weights_[static_cast<size_t>(slot)] *= static_cast<double>(factor);
    slot_[static_cast<size_t>(alive_++)] = slot;
  }
}

}  // namespace qe
