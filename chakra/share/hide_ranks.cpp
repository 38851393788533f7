#include "chakra/share/hide_ranks.h"

#include <fmt/core.h>

#include <filesystem>
#include <mutex>
#include <utility>

#include "chakra/job/parts.h"
#include "chakra/share/zero_of_times.h"
#include "chakra/trace/metadata.h"

namespace chakra::share {

namespace {

std::string_view mark_of(const trace::Trace& trace) {
  const auto mark = trace::metadata(trace, edit::kHiddenMark);
  return mark ? mark->text().value_or("") : "";
}

/// Hides one rank after another, and counts. Can be called by several threads.
class RankHider {
 public:
  RankHider(const std::vector<io::RankFile>& files, const RankHiding& by) : by_(by), zero_(files) {
    made_.files.resize(files.size());
    if (by.options.level > 2) made_.layers.resize(files.size());
  }

  Result<void> hide(size_t i, const trace::Trace& before) {
    const ObfuscateOptions& o = by_.options;
    CHAKRA_TRY(check_mark(before, o, by_.revealed.mark));
    edit::Hidden names;
    edit::HiddenSizes sizes;
    edit::HiddenLayers layers;
    edit::HiddenStages stages;
    edit::Hiding hiding = by_.names;
    if (!o.reveal) {
      CHAKRA_ASSIGN(hiding.zero_ns, zero_(before));
    }
    trace::Trace fewer = before;
    if (o.level > 2) {
      CHAKRA_ASSIGN(fewer, edit::hide_layers(before, by_.layers.hiding(), layers));
      CHAKRA_ASSIGN(fewer, by_.stages.keep(std::move(fewer), stages));
    }
    CHAKRA_ASSIGN(const trace::Trace after,
                  o.reveal ? edit::reveal(before, by_.revealed.texts)
                  : o.level == 1
                      ? edit::hide(before, hiding, names)
                      : edit::hide(edit::hide_sizes(fewer, {}, by_.sizes, sizes, layers.grows), hiding, names));
    const std::string name = fmt::format("trace.{}.et", after.rank);
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create((std::filesystem::path(o.output) / name).string()));
    CHAKRA_TRY(io::write_et(after, file));
    CHAKRA_TRY(file.close());
    made_.files[i] = std::move(file);
    if (o.level > 2) made_.layers[i] = FewerLayers::of_rank(before, std::move(layers));
    const std::lock_guard lock(mutex_);
    made_.outputs.insert(name);
    made_.nodes += after.size();
    made_.sizes.add(std::move(sizes));
    made_.stages.unstretched += stages.unstretched;
    return made_.names.add(std::move(names));
  }

  HiddenRanks finish() && { return std::move(made_); }

 private:
  const RankHiding& by_;
  ZeroOfTimes zero_;
  HiddenRanks made_;
  std::mutex mutex_;
};

}  // namespace

Result<void> check_mark(const trace::Trace& trace, const ObfuscateOptions& o, std::string_view mark) {
  const std::string_view found = mark_of(trace);
  if (!o.reveal && !found.empty())
    return fail(Code::bad_input, "job.obfuscate.again",
                fmt::format("rank {} is hidden already; --reveal restores the names", trace.rank), {o.path});
  if (o.reveal && found.empty())
    return fail(Code::bad_input, "job.obfuscate.plain", fmt::format("rank {} is not hidden", trace.rank), {o.path});
  if (o.reveal && found != mark)
    return fail(Code::bad_input, "job.obfuscate.names",
                fmt::format("the names are not those of rank {}: the marks differ", trace.rank), {names_file_of(o)});
  return {};
}

Result<HiddenRanks> hide_ranks(const std::vector<io::RankFile>& files, const RankHiding& by,
                               std::map<int64_t, std::optional<trace::Trace>>& kept) {
  RankHider hider(files, by);
  io::RankTraces traces(files, {.texts = true});
  CHAKRA_TRY(each_in_parallel(files.size(), [&](size_t i) -> Result<void> {
    const auto found = kept.find(files[i].rank);
    if (found == kept.end() || !found->second) {
      CHAKRA_ASSIGN(const trace::Trace trace, traces.read(i));
      return hider.hide(i, trace);
    }
    const trace::Trace trace = *std::exchange(found->second, std::nullopt);
    return hider.hide(i, trace);
  }));
  return std::move(hider).finish();
}

}  // namespace chakra::share
