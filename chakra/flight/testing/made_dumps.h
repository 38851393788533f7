// Dumps of jobs that hang, with a known truth: collectives over random groups,
// all ranks in one global order, and one fault. Written as by PyTorch's flight
// recorder: JSON as by dump_json(), pickle as by c10's Pickler.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::flight::testing {

inline constexpr int64_t kZeroNs = 1'700'000'000'000'000'000;

struct MadeEntry {
  int64_t record = 0, pg_id = 0, collective = 0, message = 0, op = 0;
  std::string group, description, name;  ///< "nccl:all_reduce"
  int64_t created_ns = 0;
  std::vector<std::vector<int64_t>> in, out;
  std::string dtype = "Float", state = "completed";
  bool is_p2p = false;
};
struct MadeGroup {
  std::string name, description;
  std::vector<int64_t> ranks;
};
struct MadeDump {
  int64_t rank = 0;
  std::vector<MadeGroup> groups;
  std::vector<MadeEntry> entries;
  bool status = true;  ///< with pg_status
};

inline std::string ranks_text(const std::vector<int64_t>& ranks) {
  std::string text;
  for (const int64_t rank : ranks) text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
  return "[" + text + "]";
}

inline std::string to_json(const MadeDump& dump) {
  const auto sizes = [](const std::vector<std::vector<int64_t>>& shapes) {
    std::string text;
    for (const auto& shape : shapes) {
      std::string one;
      for (const int64_t size : shape) one += fmt::format("{}{}", one.empty() ? "" : ",", size);
      text += (text.empty() ? "[" : ",[") + one + "]";
    }
    return "[" + text + "]";
  };
  const auto types = [](const MadeEntry& e, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += fmt::format("{}\"{}\"", i ? "," : "", e.dtype);
    return "[" + text + "]";
  };
  std::string entries, config, status;
  for (const MadeEntry& e : dump.entries)
    entries += fmt::format(
        R"({}{{"collective_seq_id":{},"input_dtypes":{},"input_sizes":{},"is_p2p":{},"op_id":{},"output_dtypes":{},)"
        R"("output_sizes":{},"p2p_seq_id":{},"pg_id":{},"process_group":["{}","{}"],"profiling_name":"{}",)"
        R"("record_id":{},"retired":false,"state":"{}","thread_id":"1","thread_name":"python","time_created_ns":{},)"
        R"("time_discovered_completed_ns":{},"time_discovered_started_ns":0,"timeout_ms":600000}})",
        entries.empty() ? "" : ",", e.collective, types(e, e.in.size()), sizes(e.in), e.is_p2p, e.op,
        types(e, e.out.size()), sizes(e.out), e.message, e.pg_id, e.group, e.description, e.name, e.record, e.state,
        e.created_ns, e.state == "completed" ? e.created_ns + 1000 : 0);
  std::map<int64_t, int64_t> last;
  for (const MadeEntry& e : dump.entries)
    if (!e.is_p2p) last[e.pg_id] = e.collective;
  for (const MadeGroup& g : dump.groups)
    config += fmt::format(R"({}"{}":{{"desc":"{}","name":"{}","ranks":"{}"}})", config.empty() ? "" : ",", g.name,
                          g.description, g.name, ranks_text(g.ranks));
  if (dump.status)
    for (const auto& [id, number] : last)
      status += fmt::format(R"({}"{}":{{"last_completed_collective":"0","last_enqueued_collective":"{}"}})",
                            status.empty() ? "" : ",", id, number);
  return fmt::format(R"({{"comm_lib_version":"2.21.5",{}"pg_config":{{{}}},"pg_status":{{{}}},"version":"2.9"}})",
                     entries.empty() ? "" : fmt::format(R"("entries":[{}],)", entries), config, status);
}

/// Writes values as torch/csrc/jit/serialization/pickler.cpp does: protocol 2, texts memoised by value.
class Pickler {
 public:
  std::string bytes = "\x80\x02";

  void text(const std::string& value) {
    if (const auto at = memo_.find(value); at != memo_.end()) return get(at->second);
    bytes += 'X';
    little(value.size(), 4);
    bytes += value;
    memo_[value] = next_;
    put();
  }
  void number(int64_t value) {
    if (value >= 0 && value <= 255) bytes += 'K', little(static_cast<uint64_t>(value), 1);
    else if (value >= 0 && value <= 65535) bytes += 'M', little(static_cast<uint64_t>(value), 2);
    else if (value >= INT32_MIN && value <= INT32_MAX) bytes += 'J', little(static_cast<uint64_t>(value), 4);
    else bytes += "\x8a\x08", little(static_cast<uint64_t>(value), 8);
  }
  void boolean(bool value) { bytes += value ? '\x88' : '\x89'; }
  void none() { bytes += 'N'; }
  void begin_dict() { bytes += "}("; }
  void end_dict() { bytes += 'u'; }
  void begin_list() { bytes += "]("; }
  void end_list() { bytes += 'e'; }
  void pair(const std::string& a, const std::string& b) {
    text(a);
    text(b);
    bytes += '\x86';
  }

 private:
  void little(uint64_t value, size_t count) {
    for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  }
  void put() {
    if (next_ <= 255) bytes += 'q', little(next_, 1);
    else bytes += 'r', little(next_, 4);
    ++next_;
  }
  void get(uint64_t id) {
    if (id <= 255) bytes += 'h', little(id, 1);
    else bytes += 'j', little(id, 4);
  }
  std::map<std::string, uint64_t> memo_;
  uint64_t next_ = 0;
};

inline std::string to_pickle(const MadeDump& dump) {
  Pickler p;
  const auto tensors = [&](const MadeEntry& e, const char* side, const std::vector<std::vector<int64_t>>& shapes) {
    p.text(std::string(side) + "_sizes");
    p.begin_list();
    for (const auto& shape : shapes) {
      p.begin_list();
      for (const int64_t size : shape) p.number(size);
      p.end_list();
    }
    p.end_list();
    p.text(std::string(side) + "_dtypes");
    p.begin_list();
    for (size_t i = 0; i < shapes.size(); ++i) p.text(e.dtype);
    p.end_list();
  };
  p.begin_dict();
  p.text("version"), p.text("2.9");
  p.text("pg_config");
  p.begin_dict();
  for (const MadeGroup& g : dump.groups) {
    p.text(g.name);
    p.begin_dict();
    p.text("name"), p.text(g.name), p.text("desc"), p.text(g.description), p.text("ranks"), p.text(ranks_text(g.ranks));
    p.end_dict();
  }
  p.end_dict();
  p.text("entries");
  p.begin_list();
  for (const MadeEntry& e : dump.entries) {
    p.begin_dict();
    p.text("frames"), p.begin_list(), p.begin_dict();
    p.text("name"), p.text("main"), p.text("filename"), p.text("/home/user/train.py"), p.text("line"), p.number(34);
    p.end_dict(), p.end_list();
    p.text("record_id"), p.number(e.record), p.text("pg_id"), p.number(e.pg_id);
    p.text("process_group"), p.pair(e.group, e.description);
    p.text("collective_seq_id"), p.number(e.collective), p.text("p2p_seq_id"), p.number(e.message);
    p.text("op_id"), p.number(e.op), p.text("profiling_name"), p.text(e.name);
    p.text("time_created_ns"), p.number(e.created_ns);
    tensors(e, "input", e.in);
    tensors(e, "output", e.out);
    p.text("state"), p.text(e.state);
    p.text("time_discovered_started_ns"), p.none();
    p.text("time_discovered_completed_ns");
    if (e.state == "completed") p.number(e.created_ns + 1000);
    else p.none();
    p.text("retired"), p.boolean(false), p.text("timeout_ms"), p.number(600000), p.text("is_p2p"), p.boolean(e.is_p2p);
    p.end_dict();
  }
  p.end_list();
  p.end_dict();
  return p.bytes + '.';
}

}  // namespace chakra::flight::testing
