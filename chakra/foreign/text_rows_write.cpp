// A job as rows of SimAI: what its first rank does. Forward computations and collectives stand in the columns of the
// forward pass, those of the backward pass beside them in the opposite order, data-parallel ones in the columns of
// weight gradients (docs/reference/formats/simai.md).
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "chakra/foreign/text.h"

namespace chakra::foreign::text_form {

using trace::ClassJob;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

namespace {

constexpr std::array<std::pair<CommType, std::string_view>, 5> kTypeNames{{{CommType::all_reduce, "ALLREDUCE"},
                                                                           {CommType::all_to_all, "ALLTOALL"},
                                                                           {CommType::all_gather, "ALLGATHER"},
                                                                           {CommType::reduce_scatter, "REDUCESCATTER"},
                                                                           {CommType::broadcast, "BROADCAST"}}};

std::string_view letters_of(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  return end == std::string_view::npos ? "" : name.substr(0, end + 1);
}

const trace::ProcessGroup* group_in_slot(const ClassJob& job, const ClassJob::Rank& rank, std::string_view name) {
  const auto& slots = job.group_slots[rank.cls];
  const auto slot = std::find(slots.begin(), slots.end(), name);
  if (slot != slots.end())
    return &job.groups[job.group_of[rank.first_group + static_cast<size_t>(slot - slots.begin())]];
  const auto& groups = job.classes[rank.cls].groups;  // a group that is no slot means itself
  const auto own = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.name == name; });
  return own == groups.end() ? nullptr : &*own;
}

/// The sizes of the parts of the mesh, from the names of the groups of the first rank.
RowMesh guess_mesh(const ClassJob& job) {
  RowMesh mesh;
  mesh.ranks = static_cast<int64_t>(job.ranks.size());
  int64_t data = 0, other_data = 0, stride = 1;
  const ClassJob::Rank& rank = job.ranks[0];
  for (const std::string& slot : job.group_slots[rank.cls]) {
    const trace::ProcessGroup& group = *group_in_slot(job, rank, slot);
    const std::string_view name = letters_of(group.name);
    const auto size = static_cast<int64_t>(group.ranks.empty() ? job.ranks.size() : group.ranks.size());
    if (name == "tp") mesh.tp = size;
    if (name == "ep") mesh.ep = size;
    if (name == "dp" || name == "dp-cp") data = size;
    if (name == "edp") other_data = size;
    // Ranks between two neighbours of such a group are tensor parallel, even where those never meet.
    if ((name == "dp" || name == "ep") && group.ranks.size() > 1) stride = group.ranks[1] - group.ranks[0];
  }
  if (mesh.tp == 1) mesh.tp = std::max<int64_t>(stride, 1);
  if (data == 0) data = std::max<int64_t>(other_data, 1) * mesh.ep;
  const bool has_messages = !job.peer_of.empty();
  if (has_messages && mesh.ranks % (mesh.tp * data) == 0) mesh.pp = mesh.ranks / (mesh.tp * data);
  return mesh;
}

/// What stands in one column of a row.
struct Cell {
  int64_t ns = 0;
  std::string comm = "NONE";
  uint64_t bytes = 0;
};
struct TextRow {
  std::string name;
  Cell forward, input, weights;
};

/// Collectives by slot and type: how many, and the sum of what SimAI calls their size.
using Tally = std::map<std::pair<std::string, std::string>, std::pair<int64_t, uint64_t>>;
void count(Tally& tally, std::string_view slot, std::string_view type, uint64_t bytes) {
  auto& [number, sum] = tally[{std::string(slot), std::string(type)}];
  ++number;
  sum += bytes;
}
std::string to_words(const Tally& tally) {
  std::string words;
  for (const auto& [key, sum] : tally)
    words += fmt::format("{}{} {} over {} with {} bytes together", words.empty() ? "" : ", ", sum.first, key.second,
                         key.first, sum.second);
  return words;
}

enum class Direction : uint8_t { forward, backward, step };
/// By the names of `chakra gen step`; of other jobs everything is forward.
Direction direction_of(std::string_view name) {
  for (const std::string_view part : {"gradients.", ".optimizer"})
    if (contains(name, part)) return Direction::step;
  for (const std::string_view part : {".grad", ".dgrad", ".wgrad", ".again"})
    if (contains(name, part)) return Direction::backward;
  return Direction::forward;
}

/// A collective of a class, as the form calls it.
struct Said {
  const RowGroup* group = nullptr;  ///< null: the form has no such group
  std::string_view type;            ///< "": or no such type
  std::string slot;                 ///< the group's name, without its number
  uint64_t bytes = 0;
};

/// What the ranks of a class do.
class ClassReader {
 public:
  ClassReader(const ClassJob& job, const ClassJob::Rank& rank, const RowMesh& mesh)
      : job_(job), rank_(rank), mesh_(mesh), t_(job.classes[rank.cls]) {}

  Said collective(NodeId node) {
    const trace::Comm& comm = *t_.comm(node);
    const std::string_view slot = t_.strings[comm.group];
    auto [known, is_new] = groups_.try_emplace(std::string(slot));
    if (is_new) known->second = find(slot);
    Said said = known->second;
    for (const auto& [type, name] : kTypeNames)
      if (type == comm.type) said.type = name;
    said.bytes = comm.bytes;
    if (comm.type != CommType::all_gather || !said.group) return said;
    const auto ranks = static_cast<uint64_t>(mesh_.size(said.group->over));
    if (comm.out_bytes > 0) said.bytes = comm.out_bytes;
    else if (__builtin_mul_overflow(comm.bytes, ranks, &said.bytes)) said.group = nullptr;
    return said;
  }
  /// A message to or from a rank with the same place in another stage.
  bool is_between_stages(NodeId node) const {
    const trace::Comm& comm = *t_.comm(node);
    const auto slot = static_cast<uint64_t>(t_.type[node] == NodeType::send ? comm.dst : comm.src);
    if (mesh_.pp == 1 || slot >= job_.peer_slots[rank_.cls]) return false;
    return (job_.peer_of[rank_.first_peer + slot] - rank_.rank) % mesh_.stage_ranks() == 0;
  }
  const Trace& trace() const { return t_; }

 private:
  /// The group of the mesh with the same members, one of the same name first.
  Said find(std::string_view slot) const {
    const trace::ProcessGroup* const group = group_in_slot(job_, rank_, slot);
    Said said;
    said.slot = group ? std::string(letters_of(group->name)) : "";
    if (said.slot.empty()) said.slot = slot.empty() ? "all ranks" : fmt::format("group {}", quote(slot));
    for (const bool by_name : {true, false})
      for (const RowGroup& row : kRowGroups)
        if ((!by_name || row.slot == said.slot) && stands_for(slot, row.over)) {
          said.group = &row;
          return said;
        }
    return said;
  }

  /// Whether all ranks of the class have such a group of the mesh there. Cost: O(ranks + members of the groups).
  bool stands_for(std::string_view slot, Over over) const {
    std::map<const trace::ProcessGroup*, int64_t> numbers;
    for (const ClassJob::Rank& rank : job_.ranks) {
      if (rank.cls != rank_.cls) continue;
      const trace::ProcessGroup* const group = group_in_slot(job_, rank, slot);
      const int64_t number = mesh_.group(over, rank.rank);
      const auto [known, is_new] = numbers.try_emplace(group, number);
      if (known->second != number) return false;
      if (!is_new) continue;
      if (!group || group->ranks.empty()) {
        if (mesh_.size(over) != mesh_.ranks) return false;
        continue;
      }
      std::vector<int64_t> ranks = group->ranks;
      std::sort(ranks.begin(), ranks.end());
      if (mesh_.members(over, rank.rank) != ranks) return false;
    }
    return true;
  }

  const ClassJob& job_;
  const ClassJob::Rank& rank_;
  const RowMesh& mesh_;
  const Trace& t_;
  std::map<std::string, Said> groups_;
};

/// What the ranks of a class do, summed up.
struct RowSums {
  Tally said, unsaid;
  std::map<uint64_t, int64_t> messages;  ///< between stages: sends by their bytes
  int64_t computed_ns = 0;
  int64_t moved = 0;    ///< collectives of the forward pass that stand beside the backward pass
  int64_t rounded = 0;  ///< computations of no whole number of nanoseconds
  int64_t hops = 0;     ///< messages inside a stage
  int64_t others = 0;   ///< nodes that are neither computation on a device nor communication

  int64_t sends() const {
    int64_t sum = 0;
    for (const auto& [bytes, number] : messages) sum += number;
    return sum;
  }
};

/// Computations and collectives of one direction, on the way into cells. A computation stands before its collective.
struct Run {
  std::string name;
  std::vector<std::pair<Cell, Cell>> cells;  ///< forward; or input gradient and weight gradient
};

/// Sorts what the class does into the rows of its micro-batches and of the step.
class RowWriter {
 public:
  RowWriter(const ClassJob& job, const ClassJob::Rank& rank, const RowMesh& mesh)
      : reader_(job, rank, mesh), t_(reader_.trace()) {
    count_micro_batches();
    forward_.resize(static_cast<size_t>(batches_));
    backward_.resize(static_cast<size_t>(batches_));
  }

  Result<void> run() {
    const trace::Order order = trace::topological_order(t_.deps);
    if (!order.cycle.empty()) return cannot_hold("its nodes wait for each other");
    for (const NodeId node : order.order) {
      if (t_.type[node] == NodeType::comp && !t_.on_cpu(node)) compute(node);
      else if (t_.type[node] == NodeType::coll) collective(node);
      else if (t_.type[node] != NodeType::send && t_.type[node] != NodeType::recv) ++sums_.others;
      else if (!reader_.is_between_stages(node)) ++sums_.hops;
      else if (t_.type[node] == NodeType::send) ++sums_.messages[t_.comm(node)->bytes];
    }
    return {};
  }

  std::vector<TextRow> rows() const {
    std::vector<TextRow> rows;
    for (size_t i = step_.size(); i-- > 0;) {  // backward, the rows before the micro-batches come last
      TextRow row{"grad_" + step_[i].name, {}, {}, {}};
      std::tie(row.input, row.weights) = step_[i].cells[0];
      rows.push_back(std::move(row));
    }
    for (size_t batch = 0; batch < forward_.size(); ++batch) merge(forward_[batch], backward_[batch], rows);
    return rows;
  }

  int64_t batches() const { return batches_; }
  const RowSums& sums() const { return sums_; }

 private:
  /// As often as the first computation is done, if the names say what is backward; else one.
  void count_micro_batches() {
    std::optional<StringId> first;
    bool backward = false;
    for (const NodeId node : t_.nodes()) {
      ++times_[t_.name[node]];
      const Direction direction = direction_of(t_.name_of(node));
      backward |= direction == Direction::backward;
      if (!first && t_.type[node] == NodeType::comp && direction == Direction::forward) first = t_.name[node];
    }
    if (first && backward) batches_ = times_[*first];
  }
  size_t batch_of(NodeId node) {
    const int64_t all = times_[t_.name[node]], before = done_[t_.name[node]]++;
    return static_cast<size_t>(all % batches_ == 0 ? before / (all / batches_) : std::min(before, batches_ - 1));
  }
  static std::string part_of(std::string_view name) {
    std::string part(name.substr(0, name.find('.')));
    for (char& c : part)
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') c = '_';
    return part.empty() ? "row" : part;
  }

  /// The cells that the node's direction writes now: a new pair where the last one is `full`.
  template <class Full>
  std::pair<Cell, Cell>& cells(NodeId node, Direction direction, const Full& full) {
    std::string name = part_of(t_.name_of(node));
    if (direction == Direction::step) {
      if (step_.empty() || full(step_.back().cells[0])) step_.push_back({std::move(name), {{}}});
      return step_.back().cells[0];
    }
    batch_ = batch_of(node);
    last_ = direction;
    return cells_of(std::move(name), direction, full);
  }
  template <class Full>
  std::pair<Cell, Cell>& cells_of(std::string name, Direction direction, const Full& full) {
    std::vector<Run>& runs = (direction == Direction::forward ? forward_ : backward_)[batch_];
    if (runs.empty() || runs.back().name != name) runs.push_back({std::move(name), {}});
    auto& list = runs.back().cells;
    if (list.empty() || full(list.back())) list.emplace_back();
    return list.back();
  }

  void compute(NodeId node) {
    const Direction direction = direction_of(t_.name_of(node));
    if (direction == Direction::step) stepping_ = true;
    const int64_t ns = (t_.dur_ps[node] + kPsPerNs / 2) / kPsPerNs;
    sums_.rounded += t_.dur_ps[node] % kPsPerNs != 0;
    sums_.computed_ns += ns;
    cells(node, direction, [](const auto& pair) {
      return pair.first.comm != "NONE" || pair.second.comm != "NONE";
    }).first.ns += ns;
  }

  void collective(NodeId node) {
    const Said said = reader_.collective(node);
    if (!said.group || said.type.empty()) {
      count(sums_.unsaid, said.slot, said.type.empty() ? "unknown" : said.type, said.bytes);
      return;
    }
    count(sums_.said, said.group->slot, said.type, said.bytes);
    const auto put = [&](Cell& cell, std::string_view ending) {
      cell.comm = fmt::format("{}{}", said.type, ending);
      cell.bytes = said.bytes;
    };
    Direction direction = direction_of(t_.name_of(node));
    const auto both = [](const auto& pair) { return pair.second.comm != "NONE"; };
    const auto either = [](const auto& pair) { return pair.first.comm != "NONE" || pair.second.comm != "NONE"; };
    if (said.group->over == Over::dp || said.group->over == Over::edp) {  // beside the backward pass, or after
      sums_.moved += last_ == Direction::forward && !stepping_;
      auto& pair = stepping_ ? cells(node, Direction::step, both)
                             : cells_of(part_of(t_.name_of(node)), Direction::backward, both);
      put(pair.second, said.group->weights);
      return;
    }
    if (stepping_) direction = Direction::step;
    put(cells(node, direction, either).first, said.group->activations);
  }

  /// Forward runs in order, backward ones beside those of the same part in the opposite order.
  static void merge(const std::vector<Run>& forward, const std::vector<Run>& backward, std::vector<TextRow>& rows) {
    const auto add = [&](const Run* there, const Run* back) {
      const size_t f = there ? there->cells.size() : 0, b = back ? back->cells.size() : 0, n = std::max(f, b);
      for (size_t i = 0; i < n; ++i) {
        TextRow row{there ? there->name : back->name, {}, {}, {}};
        if (i < f) row.forward = there->cells[i].first;
        if (n - 1 - i < b) std::tie(row.input, row.weights) = back->cells[n - 1 - i];
        rows.push_back(std::move(row));
      }
    };
    size_t j = backward.size();
    for (size_t i = 0; i < forward.size(); ++i) {
      const auto is_ahead = [&](const std::string& name) {
        return std::any_of(forward.begin() + static_cast<std::ptrdiff_t>(i), forward.end(),
                           [&](const Run& run) { return run.name == name; });
      };
      while (j > 0 && !is_ahead(backward[j - 1].name)) add(nullptr, &backward[--j]);
      const bool pair = j > 0 && backward[j - 1].name == forward[i].name;
      add(&forward[i], pair ? &backward[j - 1] : nullptr);
      j -= pair;
    }
    while (j > 0) add(nullptr, &backward[--j]);
  }

  ClassReader reader_;
  const Trace& t_;
  int64_t batches_ = 1;
  std::map<StringId, int64_t> times_, done_;          ///< by name
  std::vector<std::vector<Run>> forward_, backward_;  ///< by micro-batch
  std::vector<Run> step_;                             ///< one pair of cells each
  size_t batch_ = 0;                                  ///< of the last node
  bool stepping_ = false;                             ///< the optimizer has begun
  Direction last_ = Direction::forward;               ///< of the last node of a micro-batch
  RowSums sums_;
};

std::string text_of(const std::vector<TextRow>& rows, const RowMesh& mesh, const RowWriter& writer) {
  const RowSums& sums = writer.sums();
  const uint64_t bytes = sums.messages.empty() ? 0 : sums.messages.rbegin()->first;
  const int64_t chunks = std::max<int64_t>(1, (sums.sends() + writer.batches()) / (2 * writer.batches()));
  std::string text = fmt::format(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {} ep: {} pp: {} vpp: {} ga: {} all_gpus: {} "
      "checkpoints: 0 checkpoint_initiates: 0 pp_comm: {}\n{}\n",
      mesh.tp, mesh.ep, mesh.pp, chunks, writer.batches(), mesh.ranks, bytes, rows.size());
  for (const TextRow& row : rows) {
    text += row.name + "\t-1";
    for (const Cell* cell : {&row.forward, &row.input, &row.weights})
      text += fmt::format("\t{}\t{}\t{}", cell->ns, cell->comm, cell->bytes);
    text += "\t0\n";
  }
  return text;
}

/// What the ranks of a class do and the text does not have them do; "" where it is the same.
std::string row_difference(const RowSums& text, const RowSums& own) {
  std::string words;
  const auto say = [&](std::string more) { words += (words.empty() ? "" : ", ") + std::move(more); };
  Tally keys = text.said;
  keys.insert(own.said.begin(), own.said.end());
  for (const auto& [key, ignored] : keys) {
    const auto in = [&key = key](const Tally& tally) {
      const auto found = tally.find(key);
      return found == tally.end() ? std::pair<int64_t, uint64_t>{} : found->second;
    };
    const auto theirs = in(own.said), ours = in(text.said);
    if (theirs != ours)
      say(fmt::format("{} {} over {} with {} bytes, not {} with {}", theirs.first, key.second, key.first, theirs.second,
                      ours.first, ours.second));
  }
  if (own.computed_ns != text.computed_ns)
    say(fmt::format("{} ns of computations, not {}", own.computed_ns, text.computed_ns));
  if (!own.unsaid.empty()) say(to_words(own.unsaid));
  return words;
}

/// Reads the text again: the rank that it was written from does what it did.
Result<void> prove(const std::string& text, const RowMesh& mesh, const RowSums& wanted, Findings& findings) {
  Findings reading;
  CHAKRA_ASSIGN(ByteSource source, ByteSource::from_memory(text, "text"));
  CHAKRA_ASSIGN(const Job read, read_text_job(std::move(source), {}, reading));
  for (Finding& finding : reading)
    if (finding.tag == "foreign.text.pipeline") findings.push_back(std::move(finding));
  const auto& job = std::get<ClassJob>(read);
  RowWriter again(job, job.ranks[0], mesh);
  CHAKRA_TRY(again.run());
  if (again.sums().said != wanted.said || again.sums().computed_ns != wanted.computed_ns)
    return cannot_hold("reading the text back gives " + row_difference(wanted, again.sums()));
  if (again.sums().sends() != wanted.sends())
    note(findings, "foreign.write.messages", Severity::warning,
         fmt::format("in the text, the first rank sends {} messages to other stages; in the job, {}",
                     again.sums().sends(), wanted.sends()));
  return {};
}

void note_left_out(const RowSums& sums, Findings& findings) {
  const auto warn = [&](std::string text) {
    note(findings, "foreign.write.left_out", Severity::warning, std::move(text));
  };
  if (!sums.unsaid.empty()) warn("no group or type of the form for " + to_words(sums.unsaid));
  if (sums.hops > 0) warn(fmt::format("{} sends and receives inside a stage are not in the text", sums.hops));
  if (sums.others > 0)
    warn(fmt::format("{} nodes that are neither computations on a device nor communication are not in the text",
                     sums.others));
  if (sums.messages.size() > 1)
    warn(fmt::format("messages between stages have from {} to {} bytes, but the text has one size",
                     sums.messages.begin()->first, sums.messages.rbegin()->first));
  if (sums.rounded > 0)
    note(findings, "foreign.write.rounded", Severity::note,
         fmt::format("{} computations are rounded to nanoseconds", sums.rounded));
  if (sums.moved > 0)
    note(
        findings, "foreign.write.moved", Severity::note,
        fmt::format("{} data-parallel collectives of the forward pass are written with the backward pass", sums.moved));
}

/// Ranks of other classes do what the first one does, in a text.
Result<void> note_other_classes(const ClassJob& job, const RowMesh& mesh, const RowSums& text, Findings& findings) {
  std::vector<bool> seen(job.classes.size());
  seen[job.ranks[0].cls] = true;
  std::map<std::string, std::vector<int64_t>> others;
  for (const ClassJob::Rank& rank : job.ranks) {
    if (seen[rank.cls]) continue;
    seen[rank.cls] = true;
    RowWriter writer(job, rank, mesh);
    CHAKRA_TRY(writer.run());
    if (std::string differs = row_difference(text, writer.sums()); !differs.empty())
      others[std::move(differs)].push_back(rank.rank);
  }
  for (const auto& [differs, ranks] : others)
    note(findings, "foreign.write.other_ranks", Severity::warning,
         fmt::format("the text describes rank {} only, but rank {}{} has {}", job.ranks[0].rank, ranks[0],
                     ranks.size() > 1 ? fmt::format(" (and those of {} other classes)", ranks.size() - 1) : "",
                     differs));
  return {};
}

}  // namespace

Result<std::string> write_rows(const ClassJob& job, Findings& findings) {
  if (job.ranks.empty()) return cannot_hold("it has no ranks");
  if (job.ranks.back().rank + 1 != static_cast<int64_t>(job.ranks.size()))
    return cannot_hold(fmt::format("its ranks are not all from 0 to {}", job.ranks.size() - 1));
  const RowMesh mesh = guess_mesh(job);
  if (!mesh.divides()) return cannot_hold("its groups tp, dp and ep do not divide its ranks");
  RowWriter writer(job, job.ranks[0], mesh);
  CHAKRA_TRY(writer.run());
  const std::vector<TextRow> rows = writer.rows();
  if (rows.empty()) return cannot_hold("its first rank has no computation and no collective that the format supports");
  note_left_out(writer.sums(), findings);
  CHAKRA_TRY(note_other_classes(job, mesh, writer.sums(), findings));
  std::string text = text_of(rows, mesh, writer);
  CHAKRA_TRY(prove(text, mesh, writer.sums(), findings));
  return text;
}

}  // namespace chakra::foreign::text_form
