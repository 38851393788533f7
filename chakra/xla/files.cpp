#include "chakra/xla/files.h"

#include <fmt/core.h>

#include "chakra/filetype/filetype.h"

namespace chakra::xla {
namespace {

constexpr std::string_view kProfile = "xplane", kBrowser = "xla-chrome", kProgram = "hlo-proto", kText = "hlo";

Result<const filetype::Row*> kind_of(const std::string& path) {
  return filetype::recognise(path, static_cast<unsigned>(filetype::Group::other));
}

bool is_kind(const filetype::Row* row) {
  return row && (row->name == kProfile || row->name == kBrowser || row->name == kProgram || row->name == kText);
}

}  // namespace

bool is_program(std::string_view head) {
  const filetype::Row* const row = filetype::recognise(head, filetype::Group::other);
  return row && (row->name == kProgram || row->name == kText);
}
bool is_text_program(std::string_view head) {
  const filetype::Row* const row = filetype::recognise(head, filetype::Group::other);
  return row && row->name == kText;
}

Result<bool> is_ours(const std::string& path) {
  CHAKRA_ASSIGN(const filetype::Row* const row, kind_of(path));
  return is_kind(row);
}

Result<std::shared_ptr<const std::string>> read_all(ByteSource source) {
  std::string text;
  CHAKRA_ASSIGN(const bool whole, read_whole(source, size_t{1} << 32, text));
  if (!whole) return fail(Code::bad_input, "xla.program.large", "the file is larger than 4 GiB", {source.file()});
  return std::make_shared<const std::string>(std::move(text));
}

Result<Inputs> read_inputs(const std::vector<std::string>& files) {
  Inputs inputs;
  std::vector<std::string> browsers;
  for (const std::string& file : files) {
    CHAKRA_ASSIGN(const filetype::Row* const row, kind_of(file));
    if (!is_kind(row)) continue;
    if (row->name == kBrowser) {
      browsers.push_back(file);
      continue;
    }
    CHAKRA_ASSIGN(ByteSource source, ByteSource::open(file));
    CHAKRA_ASSIGN(auto bytes, read_all(std::move(source)));
    if (row->name == kProfile) {
      CHAKRA_ASSIGN(Profile profile, parse_profile(std::move(bytes), file));
      inputs.profiles.push_back(std::move(profile));
    } else if (row->name == kText) {
      if (Result<Program> program = parse_text(std::move(bytes), file)) inputs.dumps.push_back(std::move(*program));
      else inputs.unreadable.push_back(program.error());
    } else {
      CHAKRA_ASSIGN(Program program, parse_program(std::move(bytes), file));
      inputs.dumps.push_back(std::move(program));
    }
  }
  if (!inputs.profiles.empty()) inputs.unused_profiles = std::move(browsers);
  else
    for (const std::string& file : browsers) {
      CHAKRA_ASSIGN(ByteSource source, ByteSource::open(file));
      CHAKRA_ASSIGN(Profile profile, parse_chrome(std::move(source)));
      inputs.profiles.push_back(std::move(profile));
    }
  if (inputs.profiles.empty())
    return fail(Code::bad_input, "xla.profile.none",
                inputs.dumps.empty() && inputs.unreadable.empty()
                    ? "no file is a profile of XLA (XPlane)"
                    : "a program without a profile has no times; 'chakra import' makes traces of it",
                {files.empty() ? "" : files.front()});
  return inputs;
}

std::string program_name(std::string_view module, int64_t id) { return fmt::format("{}({})", module, id); }

Result<std::optional<Program>> find_program(const Inputs& inputs, const Profile& own, std::string_view module,
                                            int64_t id, const ExecutedParts& executed, bool lenient) {
  const std::vector<std::string_view> ops(executed.ops.begin(), executed.ops.end());
  const std::string numbered = program_name(module, id);
  // The profile of a TPU shows numbers without a sign.
  const std::string positive = fmt::format("{}({})", module, static_cast<uint64_t>(id));
  std::string_view missing;
  std::optional<Program> best;  // without some instructions
  std::vector<const Profile*> profiles{&own};
  for (const Profile& profile : inputs.profiles)
    if (&profile != &own) profiles.push_back(&profile);
  for (const Profile* const profile : profiles)
    for (const Profile::Program& part : profile->programs) {
      if (part.name != numbered && part.name != positive) continue;
      CHAKRA_ASSIGN(Program program, parse_program(profile->bytes, part.bytes, profile->file));
      if (const std::string_view first = first_missing(program, ops); first.empty())
        return std::optional(std::move(program));
      else if (missing.empty()) missing = first;
      if (!best) best = std::move(program);
    }
  CHAKRA_ASSIGN(const std::optional<size_t> dump,
                find_dump(inputs.dumps, module, id, ops, {executed.devices.begin(), executed.devices.end()}));
  if (dump) return std::optional(inputs.dumps[*dump]);
  if (lenient) return best;
  const Place place{own.file};
  if (missing.empty()) return no_program(inputs, numbered, module, ops, place);
  return fail(Code::bad_input, "xla.program.other",
              fmt::format("the program {} of the profile has no instruction {}, which the profile executed",
                          quote(numbered), quote(missing)),
              place);
}

}  // namespace chakra::xla
