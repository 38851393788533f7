// A job by classes of ranks: ranks.json and one trace per class.
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

#include "chakra/base/join.h"
#include "chakra/io/io.h"
#include "chakra/io/names.h"

namespace chakra::io {
namespace {

namespace fs = std::filesystem;
namespace dom = simdjson::dom;
using trace::ClassJob;
using trace::ProcessGroup;

constexpr std::string_view kRanksFile = "ranks.json";
constexpr std::string_view kSchema = "chakra-ranks-1";
constexpr size_t kMostBytes = size_t{1} << 28;    // of ranks.json
constexpr size_t kMostRanks = size_t{1} << 24;    // of the job
constexpr size_t kMostMembers = size_t{1} << 26;  // of all groups, ranges written out

std::string ranks_path(const std::string& path) {
  return is_directory(path) ? (fs::path(path) / kRanksFile).string() : path;
}

/// Where a rank stands in the list of ranks.
class Places {
 public:
  explicit Places(const std::vector<ClassJob::Rank>& ranks) : ranks_(ranks) {
    dense_ = !ranks.empty() && ranks.front().rank == 0 && ranks.back().rank + 1 == static_cast<int64_t>(ranks.size());
  }
  /// SIZE_MAX where the rank is unknown.
  size_t of(int64_t rank) const {
    if (dense_) return rank >= 0 && rank < static_cast<int64_t>(ranks_.size()) ? static_cast<size_t>(rank) : SIZE_MAX;
    const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank,
                                        [](const ClassJob::Rank& r, int64_t number) { return r.rank < number; });
    return found != ranks_.end() && found->rank == rank ? static_cast<size_t>(found - ranks_.begin()) : SIZE_MAX;
  }

 private:
  const std::vector<ClassJob::Rank>& ranks_;
  bool dense_ = false;
};

/// What a ClassJob requires and its shape does not already give.
class Validator {
 public:
  Validator(const ClassJob& job, const std::string& file) : job_(job), file_(file), places_(job.ranks) {}

  Result<void> run() const {
    CHAKRA_TRY(ranks());
    for (size_t c = 0; c < job_.classes.size(); ++c) CHAKRA_TRY(slots(c));
    CHAKRA_TRY(groups());
    for (const ClassJob::Rank& r : job_.ranks)
      for (uint32_t p = 0; p < job_.peer_slots[r.cls]; ++p)
        if (const int64_t peer = job_.peer_of[r.first_peer + p]; places_.of(peer) == SIZE_MAX)
          return wrong("io.ranks.peer", fmt::format("peer {} of rank {} is not a rank of the job", peer, r.rank));
    return {};
  }

 private:
  Failure wrong(const char* tag, std::string text) const {
    return fail(Code::bad_input, tag, std::move(text), {file_});
  }

  Result<void> ranks() const {
    std::vector<bool> used(job_.classes.size());
    for (size_t i = 0; i < job_.ranks.size(); ++i) {
      const ClassJob::Rank& r = job_.ranks[i];
      if (i > 0 && r.rank <= job_.ranks[i - 1].rank)
        return wrong("io.ranks.rank", fmt::format("duplicate rank {}", r.rank));
      used[r.cls] = true;
    }
    if (const auto unused = std::find(used.begin(), used.end(), false); unused != used.end())
      return wrong("io.ranks.class", fmt::format("no rank is of class {}", unused - used.begin()));
    return {};
  }

  Result<void> slots(size_t c) const {
    const trace::Trace& t = job_.classes[c];
    absl::flat_hash_set<std::string_view> names;
    for (const std::string& name : job_.group_slots[c]) {
      if (name.empty()) return wrong("io.ranks.slot", fmt::format("a group slot of class {} has no name", c));
      if (!names.insert(name).second)
        return wrong("io.ranks.slot", fmt::format("class {} has two group slots {}", c, quote(name)));
    }
    std::vector<bool> known(t.strings.size());
    known[0] = true;  // "": all ranks
    for (const std::string_view name : names) known[t.strings.find(name)] = true;
    for (const trace::NodeId n : t.nodes()) {
      const trace::Comm* comm = t.comm(n);
      if (!comm) continue;
      const auto node_wrong = [&](std::string text) {
        return wrong("io.ranks.slot", fmt::format("node {} of class {} {}", t.id[n], c, text));
      };
      if (!known[comm->group])
        return node_wrong(
            fmt::format("names the group slot {}, which the class does not have", quote(t.strings[comm->group])));
      for (const int64_t peer : {comm->src, comm->dst})
        if (peer >= int64_t{job_.peer_slots[c]})
          return node_wrong(fmt::format("names peer slot {}, but the class has {}", peer, job_.peer_slots[c]));
    }
    for (const ProcessGroup& group : t.groups)
      if (!names.contains(group.name))
        return wrong("io.ranks.slot",
                     fmt::format("the trace of class {} describes {}, which is not one of its group slots", c,
                                 quote(group.name)));
    return {};
  }

  /// Members are ranks of the job, each once, and each rank that takes part is one of them.
  Result<void> groups() const {
    // Who takes part in each group, group after group.
    std::vector<uint32_t> begin(job_.groups.size() + 1, 0);
    for (const uint32_t group : job_.group_of) ++begin[group + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<uint32_t> users(job_.group_of.size());
    std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
    for (uint32_t i = 0; i < job_.ranks.size(); ++i) {
      const ClassJob::Rank& r = job_.ranks[i];
      for (size_t s = 0; s < job_.group_slots[r.cls].size(); ++s) users[next[job_.group_of[r.first_group + s]]++] = i;
    }
    std::vector<uint32_t> seen_in(job_.ranks.size(), UINT32_MAX);
    for (uint32_t g = 0; g < job_.groups.size(); ++g) {
      const ProcessGroup& group = job_.groups[g];
      if (group.size < 0)
        return wrong("io.ranks.group",
                     fmt::format("groups[{}], {}, has the size {}", g, quote(group.name), group.size));
      if (group.ranks.empty()) continue;  // all ranks, or the members are unknown
      for (const int64_t rank : group.ranks) {
        const size_t place = places_.of(rank);
        if (place == SIZE_MAX)
          return wrong("io.ranks.group",
                       fmt::format("rank {} of groups[{}], {}, is not a rank of the job", rank, g, quote(group.name)));
        if (seen_in[place] == g)
          return wrong("io.ranks.group",
                       fmt::format("duplicate rank {} in groups[{}], {}", rank, g, quote(group.name)));
        seen_in[place] = g;
      }
      for (uint32_t u = begin[g]; u < begin[g + 1]; ++u)
        if (seen_in[users[u]] != g)
          return wrong("io.ranks.group", fmt::format("rank {} takes part in groups[{}], {}, but is not in it",
                                                     job_.ranks[users[u]].rank, g, quote(group.name)));
    }
    return {};
  }

  const ClassJob& job_;
  const std::string& file_;
  Places places_;
};

/// ranks.json -> ClassJob.
class Reader {
 public:
  Reader(const std::string& folder, const std::string& file, const ReadOptions& options)
      : folder_(folder), file_(file), options_(options) {}

  Result<ClassJob> run(std::string_view json) {
    dom::parser parser;
    dom::element document;
    // Copied by the parser, which reads beyond the end.
    if (const auto code = parser.parse(json.data(), json.size(), true).get(document))
      return wrong("io.ranks.syntax", simdjson::error_message(code));
    Value schema, classes, groups, ranks;
    CHAKRA_TRY(fields(
        document,
        {{"schema", &schema, true}, {"classes", &classes, true}, {"groups", &groups, false}, {"ranks", &ranks, true}}));
    std::string_view version;
    CHAKRA_TRY(text(*schema, "schema", version));
    if (version != kSchema)
      return wrong("io.ranks.schema", fmt::format("unknown schema {}; this version reads {}", quote(version), kSchema));
    CHAKRA_TRY(each(*classes, "classes", [&](dom::element e) { return read_class(e); }));
    CHAKRA_TRY(count_ranks(*ranks));
    if (groups) CHAKRA_TRY(each(*groups, "groups", [&](dom::element e) { return read_group(e); }));
    CHAKRA_TRY(each(*ranks, "ranks", [&](dom::element e) { return read_rank(e); }));
    std::stable_sort(job_.ranks.begin(), job_.ranks.end(),
                     [](const ClassJob::Rank& a, const ClassJob::Rank& b) { return a.rank < b.rank; });
    for (const std::string& name : files_) {
      const std::string path = (fs::path(folder_) / name).string();
      if (!is_file(path)) return fail(Code::io, "io.ranks.class", "the file of a class does not exist", {path});
      CHAKRA_ASSIGN(trace::Trace t, read_et(path, options_));
      job_.classes.push_back(std::move(t));
    }
    CHAKRA_TRY(Validator(job_, file_).run());
    return std::move(job_);
  }

 private:
  using Value = std::optional<dom::element>;
  struct Field {
    std::string_view name;
    Value* value;
    bool required;
  };

  Failure wrong(const char* tag, std::string text) const {
    return fail(Code::bad_input, tag, std::move(text), {file_});
  }

  /// The fields of an object, each once, no others.
  Result<void> fields(dom::element element, std::initializer_list<Field> known) const {
    dom::object object;
    if (element.get_object().get(object)) return wrong("io.ranks.form", "an object is expected");
    for (const auto& [key, value] : object) {
      const std::string_view name = key;  // clang 14 does not capture structured bindings
      const auto found = std::find_if(known.begin(), known.end(), [&](const Field& f) { return f.name == name; });
      if (found == known.end()) return wrong("io.ranks.form", fmt::format("unknown key {}", quote(key)));
      if (*found->value) return wrong("io.ranks.form", fmt::format("duplicate key {}", quote(key)));
      *found->value = value;
    }
    for (const Field& f : known)
      if (f.required && !*f.value) return wrong("io.ranks.form", fmt::format("{} is missing", f.name));
    return {};
  }

  template <class Use>
  Result<void> each(dom::element list, std::string_view name, const Use& use) {
    dom::array array;
    if (list.get_array().get(array)) return wrong("io.ranks.form", fmt::format("{} is not a list", name));
    size_t i = 0;
    for (const dom::element element : array) {
      if (Result<void> used = use(element); !used) {
        used.error().text = fmt::format("{}[{}]: {}", name, i, used.error().text);
        return used;
      }
      ++i;
    }
    return {};
  }

  Result<void> text(dom::element element, std::string_view name, std::string_view& value) const {
    if (element.get_string().get(value)) return wrong("io.ranks.form", fmt::format("{} is not a text", name));
    return {};
  }
  Result<void> whole(dom::element element, std::string_view name, int64_t least, int64_t& value) const {
    if (element.get_int64().get(value) || value < least)
      return wrong("io.ranks.form", fmt::format("{} is not a whole number of at least {}", name, least));
    return {};
  }
  template <class T>
  Result<void> numbers(dom::element element, std::string_view name, std::vector<T>& to, int64_t most) const {
    dom::array array;
    if (element.get_array().get(array)) return wrong("io.ranks.form", fmt::format("{} is not a list", name));
    for (const dom::element item : array) {
      int64_t number = 0;
      CHAKRA_TRY(whole(item, fmt::format("an element of {}", name), 0, number));
      if (number > most) return wrong("io.ranks.form", fmt::format("{} in {} is larger than {}", number, name, most));
      to.push_back(static_cast<T>(number));
    }
    return {};
  }

  Result<void> read_class(dom::element element) {
    Value file, slots, peers;
    CHAKRA_TRY(fields(element, {{"file", &file, true}, {"group_slots", &slots, false}, {"peer_slots", &peers, false}}));
    std::string_view name;
    CHAKRA_TRY(text(*file, "file", name));
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos ||
        name.find('\0') != std::string_view::npos)
      return wrong("io.ranks.form", fmt::format("{} is not the name of a file beside ranks.json", quote(name)));
    if (!file_names_.insert(std::string(name)).second)
      return wrong("io.ranks.class", fmt::format("two classes have the file {}", quote(name)));
    files_.emplace_back(name);
    std::vector<std::string>& names = job_.group_slots.emplace_back();
    if (slots) {
      dom::array array;
      if (slots->get_array().get(array)) return wrong("io.ranks.form", "group_slots is not a list");
      for (const dom::element slot : array) {
        std::string_view slot_name;
        CHAKRA_TRY(text(slot, "a group slot", slot_name));
        names.emplace_back(slot_name);
      }
    }
    int64_t count = 0;
    if (peers) CHAKRA_TRY(whole(*peers, "peer_slots", 0, count));
    if (count > static_cast<int64_t>(kMostRanks))
      return wrong("io.ranks.large", "more peer slots than the largest number of ranks");
    job_.peer_slots.push_back(static_cast<uint32_t>(count));
    return {};
  }

  /// Before any list is written out: a group is no larger than the job.
  Result<void> count_ranks(dom::element ranks) {
    dom::array array;
    if (ranks.get_array().get(array)) return wrong("io.ranks.form", "ranks is not a list");
    for ([[maybe_unused]] const dom::element rank : array) ++count_;
    if (count_ == 0) return wrong("io.ranks.form", "the list of ranks is empty");
    if (count_ > kMostRanks)
      return wrong("io.ranks.large", fmt::format("{} ranks; at most {} are possible", count_, kMostRanks));
    job_.ranks.reserve(count_);
    return {};
  }

  Result<void> read_group(dom::element element) {
    Value name, description, backend, size, ranks;
    CHAKRA_TRY(fields(element, {{"name", &name, true},
                                {"description", &description, false},
                                {"backend", &backend, false},
                                {"size", &size, false},
                                {"ranks", &ranks, true}}));
    ProcessGroup& group = job_.groups.emplace_back();
    for (const auto& [from, key, to] :
         {std::tuple(&name, "name", &group.name), std::tuple(&description, "description", &group.description),
          std::tuple(&backend, "backend", &group.backend)})
      if (*from) {
        std::string_view value;
        CHAKRA_TRY(text(**from, key, value));
        *to = value;
      }
    if (ranks->is_object()) {
      Value first, step, count;
      CHAKRA_TRY(fields(*ranks, {{"first", &first, true}, {"step", &step, true}, {"count", &count, true}}));
      int64_t rank = 0, by = 0, many = 0, last = 0;
      CHAKRA_TRY(whole(*first, "first", 0, rank));
      CHAKRA_TRY(whole(*step, "step", 1, by));
      CHAKRA_TRY(whole(*count, "count", 1, many));
      if (many > static_cast<int64_t>(count_) || __builtin_mul_overflow(by, many, &last) ||
          __builtin_add_overflow(last, rank, &last))
        return wrong("io.ranks.group", fmt::format("{} ranks are more than the job has, {}", many, count_));
      for (; many > 0 && members_ <= kMostMembers; --many, rank += by, ++members_) group.ranks.push_back(rank);
    } else {
      CHAKRA_TRY(numbers(*ranks, "ranks", group.ranks, INT64_MAX));
      members_ += group.ranks.size();
    }
    if (members_ > kMostMembers)
      return wrong("io.ranks.large", fmt::format("the groups have more than {} members in all", kMostMembers));
    group.size = static_cast<int64_t>(group.ranks.size());
    if (size) CHAKRA_TRY(whole(*size, "size", 0, group.size));
    return {};
  }

  Result<void> read_rank(dom::element element) {
    Value rank, cls, groups, peers;
    CHAKRA_TRY(fields(
        element, {{"rank", &rank, true}, {"class", &cls, true}, {"groups", &groups, false}, {"peers", &peers, false}}));
    ClassJob::Rank& r = job_.ranks.emplace_back();
    r.first_group = static_cast<uint32_t>(job_.group_of.size());
    r.first_peer = static_cast<uint32_t>(job_.peer_of.size());
    int64_t number = 0;
    CHAKRA_TRY(whole(*rank, "rank", 0, r.rank));
    CHAKRA_TRY(whole(*cls, "class", 0, number));
    if (number >= static_cast<int64_t>(files_.size()))
      return wrong("io.ranks.class",
                   fmt::format("rank {} is of class {}, but there are {}", r.rank, number, files_.size()));
    r.cls = static_cast<uint32_t>(number);
    if (groups) CHAKRA_TRY(numbers(*groups, "groups", job_.group_of, static_cast<int64_t>(job_.groups.size()) - 1));
    if (peers) CHAKRA_TRY(numbers(*peers, "peers", job_.peer_of, INT64_MAX));
    const auto count = [&](const char* what, size_t has_it, size_t needs) -> Result<void> {
      if (has_it == needs) return {};
      return wrong("io.ranks.slot",
                   fmt::format("rank {} has {} {}, but its class has {} slots", r.rank, has_it, what, needs));
    };
    CHAKRA_TRY(count("groups", job_.group_of.size() - r.first_group, job_.group_slots[r.cls].size()));
    return count("peers", job_.peer_of.size() - r.first_peer, job_.peer_slots[r.cls]);
  }

  const std::string &folder_, &file_;
  const ReadOptions& options_;
  ClassJob job_;
  std::vector<std::string> files_;
  absl::flat_hash_set<std::string> file_names_;
  size_t count_ = 0;    ///< ranks
  size_t members_ = 0;  ///< of all groups
};

/// The members as a range, where they are one of several, or as a list.
void append_members(std::string& out, const std::vector<int64_t>& ranks) {
  const size_t n = ranks.size();
  const int64_t step = n > 2 ? ranks[1] - ranks[0] : 0;
  bool even = step > 0;
  for (size_t i = 1; i < n && even; ++i) even = ranks[i] - ranks[i - 1] == step;
  if (even) out += fmt::format("{{\"first\": {}, \"step\": {}, \"count\": {}}}", ranks[0], step, n);
  else out += fmt::format("[{}]", join(ranks, ", "));
}

std::string to_json(const ClassJob& job, const std::vector<std::string>& files) {
  std::string out = fmt::format("{{\"schema\": \"{}\",\n\"classes\": [", kSchema);
  const auto next = [&](bool first) { out += first ? "\n" : ",\n"; };
  for (size_t c = 0; c < job.classes.size(); ++c) {
    next(c == 0);
    out += fmt::format("{{\"file\": \"{}\", \"group_slots\": [", files[c]);
    for (size_t s = 0; s < job.group_slots[c].size(); ++s) {
      if (s > 0) out += ", ";
      append_json_string(out, job.group_slots[c][s]);
    }
    out += fmt::format("], \"peer_slots\": {}}}", job.peer_slots[c]);
  }
  out += "],\n\"groups\": [";
  for (size_t g = 0; g < job.groups.size(); ++g) {
    const ProcessGroup& group = job.groups[g];
    next(g == 0);
    out += "{\"name\": ";
    append_json_string(out, group.name);
    for (const auto& [key, value] :
         {std::pair("description", &group.description), std::pair("backend", &group.backend)})
      if (!value->empty()) {
        out += fmt::format(", \"{}\": ", key);
        append_json_string(out, *value);
      }
    if (group.size != static_cast<int64_t>(group.ranks.size())) out += fmt::format(", \"size\": {}", group.size);
    out += ", \"ranks\": ";
    append_members(out, group.ranks);
    out += "}";
  }
  out += "],\n\"ranks\": [";
  for (const ClassJob::Rank& r : job.ranks) {
    next(&r == job.ranks.data());
    const std::span groups(job.group_of.data() + r.first_group, job.group_slots[r.cls].size());
    const std::span peers(job.peer_of.data() + r.first_peer, job.peer_slots[r.cls]);
    fmt::format_to(std::back_inserter(out), "{{\"rank\": {}, \"class\": {}, \"groups\": [{}], \"peers\": [{}]}}",
                   r.rank, r.cls, join(groups, ", "), join(peers, ", "));
  }
  return out + "]}\n";
}

}  // namespace

bool is_class_job(const std::string& path) {
  return is_directory(path) ? is_file(ranks_path(path)) : fs::path(path).filename() == kRanksFile && is_file(path);
}

Result<ClassJob> parse_class_job(std::string_view json, const std::string& folder, const std::string& file,
                                 const ReadOptions& options) {
  return Reader(folder, file, options).run(json);
}

Result<ClassJob> read_class_job(const std::string& path, const ReadOptions& options) {
  const std::string file = ranks_path(path);
  if (is_directory(path)) {
    CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(path));
    std::string_view prefix;
    int64_t rank = 0;
    for (const std::string& name : names)
      if (split_name(name, ".et", prefix, rank) && is_file((fs::path(path) / name).string()))
        return fail(Code::bad_input, "io.job.ambiguous",
                    fmt::format("the folder holds {} besides ranks.json; name one of them", quote(name)), {path});
  }
  CHAKRA_ASSIGN(const std::string json, read_file(file, kMostBytes));
  return parse_class_job(json, fs::path(file).parent_path().string(), file, options);
}

Result<void> write_class_job(const ClassJob& job, const std::string& folder) {
  FilesTogether<AtomicFile> files;
  CHAKRA_TRY(write_class_job(job, folder, files));
  return files.commit();
}

Result<std::vector<std::string>> write_class_job(const ClassJob& job, const std::string& folder,
                                                 FilesTogether<AtomicFile>& files) {
  const std::string path = (fs::path(folder) / kRanksFile).string();
  CHAKRA_TRY(Validator(job, path).run());
  CHAKRA_TRY(make_directories(folder));
  std::vector<std::string> names;
  for (size_t c = 0; c < job.classes.size(); ++c) {
    names.push_back(fmt::format("class{}.et", c));
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create((fs::path(folder) / names.back()).string()));
    CHAKRA_TRY(write_et(job.classes[c], file));
    CHAKRA_TRY(files.add(std::move(file)));
  }
  CHAKRA_ASSIGN(AtomicFile ranks, AtomicFile::create(path));
  CHAKRA_TRY(ranks.write(to_json(job, names)));
  CHAKRA_TRY(files.add(std::move(ranks)));
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back((fs::path(folder) / name).string());
  paths.push_back(path);
  return paths;
}

}  // namespace chakra::io
