#include "chakra/link/modules.h"

#include <algorithm>

namespace chakra::link {
namespace {

using recording::Record;

/// In bytes; a path that is longer is not extended: modules that are nested without end would take square memory.
constexpr size_t kLongestPath = 2000;

/// Per call of a thread the path that is open at its start.
class OpenModules {
 public:
  OpenModules(Linking& l, std::vector<StringId>& path_of_call) : l_(l), path_of_call_(path_of_call) {}

  void sweep(const std::vector<const Record*>& modules, const std::vector<uint32_t>& calls) {
    open_.clear();
    size_t next = 0;
    for (const uint32_t call : calls) {
      const int64_t at = l_.profile().calls[call].start_ns;
      for (; next < modules.size() && modules[next]->start_ns <= at; ++next) enter(*modules[next]);
      leave(at);
      path_of_call_[call] = open_.empty() ? 0 : open_.back().path;
    }
  }

 private:
  struct Open {
    int64_t end_ns;
    StringId path;
  };

  void leave(int64_t at) {
    while (!open_.empty() && open_.back().end_ns <= at) open_.pop_back();
  }
  void enter(const Record& module) {
    leave(module.start_ns);
    text_.clear();
    if (!open_.empty()) text_.append(l_.text(open_.back().path));
    if (text_.size() > kLongestPath) return open_.push_back({module.end_ns(), open_.back().path});
    text_.append(open_.empty() ? "" : "/").append(l_.text(module.name));
    open_.push_back({module.end_ns(), l_.trace.strings.intern(text_)});
  }

  Linking& l_;
  std::vector<StringId>& path_of_call_;
  std::vector<Open> open_;
  std::string text_;
};

}  // namespace

std::vector<StringId> modules_of_device_ops(Linking& l) {
  const Profile& p = l.profile();
  if (p.modules.empty()) return {};
  std::vector<std::vector<const Record*>> modules(p.threads.size());
  for (const Record& module : p.modules) modules[module.lane].push_back(&module);
  std::vector<std::vector<uint32_t>> calls(p.threads.size());
  for (uint32_t c = 0; c < p.calls.size(); ++c) calls[p.calls[c].lane].push_back(c);
  std::vector<StringId> path_of_call(p.calls.size(), 0);
  OpenModules open(l, path_of_call);
  for (size_t thread = 0; thread < p.threads.size(); ++thread) {
    if (modules[thread].empty()) continue;
    std::stable_sort(modules[thread].begin(), modules[thread].end(), [](const Record* a, const Record* b) {
      return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->dur_ns > b->dur_ns;
    });
    sort_rows(calls[thread], [&](uint32_t a, uint32_t b) { return p.calls[a].start_ns < p.calls[b].start_ns; });
    open.sweep(modules[thread], calls[thread]);
  }
  std::vector<StringId> path(p.device_ops.size(), 0);
  for (uint32_t i = 0; i < path.size(); ++i)
    if (const uint32_t call = l.device.call_of_op[i]; call != kNone) path[i] = path_of_call[call];
  return path;
}

}  // namespace chakra::link
