#include "chakra/recording/repeats.h"

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>

#include <tuple>

namespace chakra::recording {
namespace {

auto key_of(const Record& r) { return std::tuple(r.start_ns, r.dur_ns, r.name, r.lane); }
auto key_of(const CpuOp& op) {
  return std::tuple_cat(key_of(static_cast<const Record&>(op)),
                        std::tuple(op.rf_id, op.external_id, op.sequence, op.annotation));
}
auto key_of(const RuntimeCall& call) {
  return std::tuple_cat(key_of(static_cast<const Record&>(call)), std::tuple(call.correlation));
}
auto key_of(const DeviceOp& op) {
  return std::tuple_cat(key_of(static_cast<const Record&>(op)), std::tuple(op.correlation, op.bytes, op.kind));
}
auto key_of(const SyncRecord& s) {
  return std::tuple(s.kind, s.correlation, s.device, s.stream, s.source_stream, s.source_correlation);
}

/// Whether no second record can be equal: it has ids, or it lasts. Events of no length may repeat.
bool distinct(const Record& r) { return r.dur_ns > 0; }
bool distinct(const CpuOp& op) { return op.rf_id > 0 || op.external_id > 0 || op.dur_ns > 0; }
bool distinct(const RuntimeCall& call) { return call.correlation > 0 || call.dur_ns > 0; }
bool distinct(const DeviceOp& op) { return op.correlation > 0 || op.dur_ns > 0; }
bool distinct(const SyncRecord& sync) { return sync.correlation > 0; }

/// One bit for each value of a hash.
class Bits {
 public:
  explicit Bits(size_t size) : words_(size / 64 + 1) {}
  bool has(size_t hash) const { return words_[word(hash)] >> (hash % 64) & 1; }
  void set(size_t hash) { words_[word(hash)] |= uint64_t{1} << (hash % 64); }

 private:
  size_t word(size_t hash) const { return hash / 64 % words_.size(); }
  std::vector<uint64_t> words_;
};

/// Remove repeats, and call removed(record) for each. Few records share a bit with another: only these are compared.
template <class R, class Removed>
void remove(std::vector<R>& records, const Removed& removed) {
  using Key = decltype(key_of(records.front()));
  const auto hash = [](const R& record) { return absl::Hash<Key>()(key_of(record)); };
  Bits once(records.size() * 16), twice(records.size() * 16);
  bool any = false;
  for (const R& record : records) {
    if (!distinct(record)) continue;
    const size_t at = hash(record);
    if (!once.has(at)) once.set(at);
    else twice.set(at), any = true;
  }
  if (!any) return;
  absl::flat_hash_set<Key> seen;
  std::erase_if(records, [&](const R& record) {
    if (!distinct(record) || !twice.has(hash(record)) || seen.insert(key_of(record)).second) return false;
    removed(record);
    return true;
  });
}

}  // namespace

void remove_repeats(Profile& p) {
  Profile::Repeats& r = p.repeats;
  const auto count = [&](int64_t& number) {
    return [&](const Record& record) {
      if (r.host + r.device == 0) r.name = record.name, r.byte = record.byte;
      ++number;
    };
  };
  remove(p.device_ops, count(r.device));
  remove(p.ops, count(r.host));
  remove(p.calls, count(r.host));
  remove(p.modules, count(r.host));
  remove(p.syncs, [](const SyncRecord&) {});
}

}  // namespace chakra::recording
