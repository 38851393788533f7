// chakra pack, chakra unpack
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

Result<void> show_stats(const std::string& path, const std::string& json_path) {
  CHAKRA_ASSIGN(const job::ContainerStats stats, job::container_stats(path));
  return show(
      json_path, [&] { return answer_of(stats); }, [&] { return to_text(stats); });
}

Result<void> run_pack(job::PackOptions& o, const Globals& globals) {
  const std::string& json = o.report = globals.json;
  if (o.output.empty()) {  // statistics of one that is there
    if (!o.stats || o.paths.size() != 1 || o.append)
      return fail(Code::usage, "cli.usage", "the output is missing: use -o job.chakra, or a container and --stats");
    CHAKRA_TRY(keep_apart(o.paths, {}, json));
    return show_stats(o.paths[0], json);
  }
  CHAKRA_ASSIGN(const job::PackedJob packed, job::pack_job(o));
  if (json != "-") print(to_text(packed));
  return o.stats || !json.empty() ? show_stats(packed.output, json) : Result<void>();
}

Result<int> run_unpack(const job::UnpackOptions& o, const Globals& globals) {
  CHAKRA_TRY(keep_apart({o.path}, {}, globals.json));
  CHAKRA_ASSIGN(const job::UnpackedJob unpacked, job::unpack_job(o));
  CHAKRA_TRY(show(
      globals.json, [&] { return answer_of(unpacked); }, [&] { return to_text(unpacked); }));
  return 0;
}

}  // namespace

Syntax pack_syntax() {
  return syntax_of<job::PackOptions>([](job::PackOptions& o, const Globals& globals) -> Result<int> {
    CHAKRA_TRY(run_pack(o, globals));
    return 0;
  });
}
Syntax unpack_syntax() { return syntax_of<job::UnpackOptions>(run_unpack); }

}  // namespace chakra::cli
