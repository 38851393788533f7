// FlexFlow task graphs: a Graphviz file with compute tasks on devices and transfers between devices
// (docs/reference/formats/flexflow.md).
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include <absl/container/flat_hash_map.h>

#include "chakra/filetype/filetype.h"
#include "chakra/foreign/forms.h"
#include "chakra/foreign/rows.h"

namespace chakra::foreign {
namespace {

using trace::Builder;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::TraceSet;

/// A node of the Graphviz file: a computation on `src` (= `dst`), or a transfer from `src` to `dst`.
struct Task {
  uint64_t number = 0;  ///< behind "node"
  bool transfer = false;
  std::string_view name, phase;
  int64_t src = 0, dst = 0;
  uint64_t bytes = 0;
  Picoseconds time = 0;
  int64_t byte = 0;  ///< where it stands
};
struct Arrow {
  uint64_t from = 0, to = 0;  ///< numbers, later rows
  int64_t byte = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class FlexFlowParser {
 public:
  FlexFlowParser(std::string_view text, const std::string& file, Picoseconds unit)
      : text_(text), file_(file), unit_(unit) {}

  std::vector<Task> tasks;
  std::vector<Arrow> arrows;

  Result<void> run() {
    CHAKRA_TRY(expect_word("digraph"));
    if (peek() != '{') (void)word();
    CHAKRA_TRY(expect('{'));
    while (peek() != '}') {
      const int64_t begin = here();
      CHAKRA_ASSIGN(const uint64_t number, node());
      if (peek() == '[') {
        CHAKRA_TRY(task(number, begin));
      } else {
        CHAKRA_TRY(expect('-'));
        if (at_ >= text_.size() || text_[at_] != '>') return syntax("'->' is expected");
        ++at_;
        CHAKRA_ASSIGN(const uint64_t to, node());
        arrows.push_back({number, to, begin});
      }
      CHAKRA_TRY(expect(';'));
    }
    ++at_;
    if (peek() != '\0' || at_ < text_.size()) return syntax("unexpected text after the closing brace");
    return {};
  }

 private:
  int64_t here() const { return static_cast<int64_t>(at_); }
  Place place() const { return {file_, here()}; }
  Failure syntax(std::string what) const {
    if (at_ >= text_.size())
      return fail(Code::bad_input, "foreign.flexflow.truncated", "the file ends inside the graph", place());
    return fail(Code::bad_input, "foreign.flexflow.syntax", std::move(what), place());
  }
  Failure bad_label(std::string what, size_t at) const {
    return fail(Code::bad_input, "foreign.flexflow.label", std::move(what), {file_, static_cast<int64_t>(at)});
  }

  /// Return the next byte that is not blank, or 0 at the end.
  char peek() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  Result<void> expect(char c) {
    if (peek() != c || at_ >= text_.size()) return syntax(fmt::format("'{}' is expected", c));
    ++at_;
    return {};
  }
  std::string_view word() {
    (void)peek();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  Result<void> expect_word(std::string_view wanted) {
    const size_t begin = at_;
    if (word() == wanted) return {};
    if (at_ < text_.size()) at_ = begin;
    return syntax(fmt::format("'{}' is expected", wanted));
  }
  Result<uint64_t> node() {
    (void)peek();
    const size_t begin = at_;
    const std::string_view name = word();
    uint64_t number = 0;
    if (name.starts_with("node") && name.size() > 4 && is_digit(name[4]) && parse_unsigned(name.substr(4), number) &&
        number < UINT64_MAX / 2)
      return number;
    if (at_ < text_.size()) at_ = begin;
    return syntax("'node' and a number are expected");
  }

  /// "[color=red,label="{...}",shape=record]"
  Result<void> task(uint64_t number, int64_t begin) {
    std::optional<std::string_view> label;
    CHAKRA_TRY(expect('['));
    while (peek() != ']') {
      const std::string_view key = word();
      if (key.empty()) return syntax("a name is expected");
      CHAKRA_TRY(expect('='));
      std::string_view value;
      if (peek() == '"') {
        const size_t end = text_.find('"', ++at_);
        value = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
        at_ = end == std::string_view::npos ? text_.size() : end;
        CHAKRA_TRY(expect('"'));
      } else {
        value = word();
      }
      if (key == "label") label = value;
      if (peek() == ',') ++at_;
      else if (peek() != ']') return syntax("',' or ']' is expected");
    }
    ++at_;
    if (!label) return syntax(fmt::format("node{} has no label", number));
    Task task;
    task.number = number;
    task.byte = begin;
    CHAKRA_TRY(read_label(*label, task));
    tasks.push_back(task);
    return {};
  }

  Result<void> read_label(std::string_view label, Task& task) {
    const auto at = static_cast<size_t>(label.data() - text_.data());
    if (label.size() < 2 || label.front() != '{' || label.back() != '}')
      return bad_label("a label must be in braces", at);
    label = label.substr(1, label.size() - 2);
    std::vector<std::string_view> fields;
    for (;;) {
      const size_t bar = label.find('|');
      fields.push_back(label.substr(0, bar));
      if (bar == std::string_view::npos) break;
      label.remove_prefix(bar + 1);
    }
    if (fields.size() < 4)
      return bad_label(fmt::format("a label has at least four fields, this one has {}", fields.size()), at);
    task.name = fields[1];
    task.phase = fields[2];
    task.transfer = fields[3] == "COMM_SEND_RECV_NODE";
    if (!task.transfer && fields[3] != "COMP_NODE")
      return bad_label(fmt::format("{} is neither COMP_NODE nor COMM_SEND_RECV_NODE", quote(fields[3])), at);
    fields.erase(fields.begin() + 1, fields.begin() + 4);
    const auto value = [&](std::string_view key) -> Result<std::string_view> {
      for (const std::string_view field : fields)
        if (field.starts_with(key) && field.size() > key.size() && field[key.size()] == '=')
          return field.substr(key.size() + 1);
      return bad_label(fmt::format("{} is missing", key), at);
    };
    const auto device = [&](std::string_view key) -> Result<int64_t> {
      CHAKRA_ASSIGN(const std::string_view text, value(key));
      int64_t number = 0;
      if (!parse_decimal(text, number) || number < 0 || number > INT32_MAX)
        return bad_label(fmt::format("{} = {} is not a device", key, quote(text)), at);
      return number;
    };
    if (task.transfer) {
      CHAKRA_ASSIGN(task.src, device("src_device_id"));
      CHAKRA_ASSIGN(task.dst, device("dst_device_id"));
      CHAKRA_ASSIGN(const std::string_view bytes, value("comm_size"));
      if (!parse_decimal(bytes, task.bytes) || task.bytes > INT64_MAX)
        return bad_label(fmt::format("{} is not a number of bytes", quote(bytes)), at);
    } else {
      CHAKRA_ASSIGN(task.src, device("device_id"));
      task.dst = task.src;
    }
    CHAKRA_ASSIGN(const std::string_view time, value(task.transfer ? "run_time" : "simulated_run_time"));
    double number = 0;
    const bool good = parse_decimal(time, number);
    // To whole nanoseconds, which is what a trace's file can say.
    const double ns = std::round(number * static_cast<double>(unit_ / kPsPerNs));
    if (!good || !(ns >= 0) || ns > static_cast<double>(kLongestPs / kPsPerNs))
      return bad_label(fmt::format("{} is not a valid time", quote(time)), at);
    task.time = static_cast<Picoseconds>(ns) * kPsPerNs;
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  Picoseconds unit_;
  size_t at_ = 0;
};

/// Where a task is found in the traces: a computation on one rank, a transfer on two.
struct Placed {
  size_t src = 0, dst = 0;  ///< indices of ranks
  NodeId begins = kNoNode;  ///< on src: the computation or the send
  NodeId ends = kNoNode;    ///< on dst: the computation or the receive
};

class Assembler {
 public:
  Assembler(const FlexFlowParser& graph, const std::string& file) : graph_(graph), file_(file) {}

  Result<TraceSet> run(Findings& findings) {
    CHAKRA_TRY(number_rows());
    CHAKRA_TRY(find_streams());
    std::map<int64_t, size_t> index;
    for (const Task& task : graph_.tasks) index.emplace(task.src, 0), index.emplace(task.dst, 0);
    builders_ = std::vector<Builder>(index.size());
    size_t next = 0;
    for (auto& [device, at] : index) {
      at = next++;
      begin_trace(builders_[at], device, file_);
      builders_[at].trace.metadata.push_back(
          {builders_[at].trace.strings.intern("schema"), builders_[at].trace.texts.add("flexflow")});
    }
    for (size_t i = 0; i < graph_.tasks.size(); ++i) {
      const Task& task = graph_.tasks[i];
      Placed placed{index.at(task.src), index.at(task.dst), kNoNode, kNoNode};
      if (task.transfer) {
        const int64_t tag = next_tag_++;
        placed.begins = message(placed.src, task.name, NodeType::send, task, tag, task.number);
        // A transfer of a device to itself has both ends there, under two ids.
        placed.ends = message(placed.dst, task.name, NodeType::recv, task, tag,
                              placed.src == placed.dst ? free_id() : task.number);
        if (placed.src == placed.dst) builders_[placed.dst].dep(placed.ends, placed.begins, kGiven);
      } else {
        Builder& builder = builders_[placed.src];
        placed.begins = placed.ends =
            add(placed.src, task.number, fmt::format("{}_{}", task.name, task.phase), NodeType::comp);
        builder.trace.lane.edit(placed.begins) = builder.lane({trace::Lane::Kind::stream, 0, stream_[i]});
        builder.trace.dur_ps.edit(placed.begins) = task.time;
        builder.trace.flags.edit(placed.begins) |= trace::kHasDuration;
      }
      placed_.push_back(placed);
    }
    for (const Arrow& arrow : arrows_) connect(arrow);
    if (orders_ > 0)
      note(
          findings, "foreign.flexflow.order", Severity::note,
          fmt::format("{} arrows lead to another device without a transfer; they become messages of 0 bytes", orders_));
    TraceSet job;
    for (Builder& builder : builders_) job.ranks.push_back(std::move(builder).finish());
    return job;
  }

 private:
  Result<void> number_rows() {
    for (size_t i = 0; i < graph_.tasks.size(); ++i) {
      const Task& task = graph_.tasks[i];
      highest_ = std::max(highest_, task.number);
      if (!row_of_.emplace(task.number, NodeId(i)).second)
        return fail(Code::bad_input, "foreign.flexflow.duplicate", fmt::format("duplicate node{}", task.number),
                    {file_, task.byte});
    }
    if (graph_.tasks.empty())
      return fail(Code::bad_input, "foreign.flexflow.empty", "the graph has no nodes", {file_, 0});
    for (Arrow arrow : graph_.arrows) {
      const auto from = row_of_.find(arrow.from), to = row_of_.find(arrow.to);
      if (from == row_of_.end() || to == row_of_.end())
        return fail(
            Code::bad_input, "foreign.flexflow.dangling",
            fmt::format("an arrow names node{}, which is missing", from == row_of_.end() ? arrow.from : arrow.to),
            {file_, arrow.byte});
      arrows_.push_back({from->second, to->second, arrow.byte});
    }
    return {};
  }

  /// The file says what waits for what, not in which order a device takes up what does not wait. So tasks go on in the
  /// stream of one they wait for, and begin a new one where there is none to go on: nothing else orders them.
  Result<void> find_streams() {
    const auto tasks = static_cast<uint32_t>(graph_.tasks.size());
    const trace::Edges edges = trace::make_edges(tasks, false, [&](const auto& visit) {
      for (const Arrow& arrow : arrows_) visit(NodeId(arrow.to), NodeId(arrow.from), 0, 0);
    });
    const trace::Order order = trace::topological_order(edges);
    if (!order.cycle.empty()) {
      const Task& task = graph_.tasks[order.cycle[0]];
      return fail(Code::bad_input, "foreign.flexflow.cycle",
                  fmt::format("node{} waits for itself, through {} nodes", task.number, order.cycle.size()),
                  {file_, task.byte});
    }
    stream_.assign(tasks, 0);
    std::vector<bool> ends_stream(tasks, false);
    std::map<int64_t, int64_t> streams;  // of each device
    for (const NodeId n : order.order) {
      const Task& task = graph_.tasks[n];
      if (task.transfer) continue;
      const auto before = edges.of(n);
      const auto found = std::find_if(before.begin(), before.end(),
                                      [&](NodeId on) { return ends_stream[on] && graph_.tasks[on].src == task.src; });
      stream_[n] = found == before.end() ? streams[task.src]++ : stream_[*found];
      if (found != before.end()) ends_stream[*found] = false;
      ends_stream[n] = true;
    }
    return {};
  }

  uint64_t free_id() { return ++highest_; }

  NodeId add(size_t rank, uint64_t id, const std::string& name, NodeType type) {
    trace::Trace& t = builders_[rank].trace;
    const NodeId node = builders_[rank].add(id, t.strings.intern(name), type);
    t.flags.edit(node) |= trace::kSaysCpuOrNot;  // on the device
    return node;
  }

  NodeId message(size_t rank, std::string_view name, NodeType type, const Task& task, int64_t tag, uint64_t id) {
    const NodeId node = add(rank, id, std::string(name), type);
    trace::Comm& comm = builders_[rank].comm(node);
    comm.bytes = task.bytes;
    comm.src = task.src;
    comm.dst = task.dst;
    comm.tag = tag;
    if (type == NodeType::send && task.time > 0)  // what FlexFlow thinks the transfer takes
      builders_[rank].attr(
          {builders_[rank].trace.strings.intern("flexflow_run_time_ns"), int64_t{task.time / kPsPerNs}});
    return node;
  }

  void connect(const Arrow& arrow) {
    const Placed &from = placed_[arrow.from], &to = placed_[arrow.to];
    if (from.dst == to.src) return builders_[to.src].dep(to.begins, from.ends, kGiven);
    // Two transfers of one sender, one after the other: the sender knows when the first is over.
    if (from.src == to.src) return builders_[to.src].dep(to.begins, from.begins, kGiven);
    ++orders_;
    Task order;
    order.src = builders_[from.dst].trace.rank;
    order.dst = builders_[to.src].trace.rank;
    const int64_t tag = next_tag_++;
    const uint64_t id = free_id();
    const NodeId send = message(from.dst, "[chakra|order]", NodeType::send, order, tag, id);
    const NodeId recv = message(to.src, "[chakra|order]", NodeType::recv, order, tag, id);
    builders_[from.dst].dep(send, from.ends, kGiven);
    builders_[to.src].dep(to.begins, recv, kGiven);
  }

  const FlexFlowParser& graph_;
  const std::string& file_;
  absl::flat_hash_map<uint64_t, NodeId> row_of_;
  std::vector<Arrow> arrows_;    ///< between rows of tasks
  std::vector<int64_t> stream_;  ///< by row, of computations
  std::vector<Builder> builders_;
  std::vector<Placed> placed_;
  uint64_t highest_ = 0;
  int64_t next_tag_ = 0, orders_ = 0;
};

}  // namespace

bool is_flexflow(std::string_view head) {
  return filetype::trimmed(head).starts_with("digraph") &&
         (contains(head, "COMP_NODE") || contains(head, "COMM_SEND_RECV_NODE"));
}

Result<TraceSet> read_flexflow(ByteSource source, const Options& options, Findings& findings) {
  const std::string file = source.file();
  CHAKRA_ASSIGN(const Picoseconds unit, unit_ps(options.time_unit, "ms"));
  CHAKRA_ASSIGN(const std::string text, read_all(std::move(source)));
  FlexFlowParser graph(text, file, unit);
  CHAKRA_TRY(graph.run());
  if (graph.tasks.size() + graph.arrows.size() > kMostNodes)
    return fail(Code::bad_input, "foreign.large", fmt::format("more than {} nodes and arrows", kMostNodes), {file});
  return Assembler(graph, file).run(findings);
}

}  // namespace chakra::foreign
