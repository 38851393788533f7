#include "chakra/recording/public_names.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <span>

#include "chakra/base/base.h"
#include "chakra/work/work.h"

namespace chakra::recording {
namespace {

/// One name a line; tools/allowed_names.py writes the file.
constexpr std::string_view kNames =
#include "chakra/recording/public_names.txt"
    ;

const absl::flat_hash_set<std::string_view>& names() {
  static const absl::flat_hash_set<std::string_view> all = [] {
    absl::flat_hash_set<std::string_view> set;
    for (std::string_view rest = kNames; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      if (end > 0) set.insert(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return set;
  }();
  return all;
}

// ---- forms: functions that take what they know from the beginning of a text -------------------------------------

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}
/// The first word that fits, so a word must stand before its beginnings.
bool take_any(std::string_view& text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return take(text, word); });
}
bool take_digits(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end > 0;
}
/// "_" and a word; without it the text stays as it is.
void take_part(std::string_view& text, std::span<const std::string_view> words) {
  std::string_view rest = text;
  if (take(rest, "_") && take_any(rest, words) && (rest.empty() || rest[0] == '_' || rest[0] == '(')) text = rest;
}

/// ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
bool is_nccl_kernel(std::string_view text) {
  using Words = std::array<std::string_view, 8>;
  static constexpr std::array<std::string_view, 8> kOperations{"AllReduce", "AllGather", "AllToAll", "ReduceScatter",
                                                               "Reduce",    "Broadcast", "SendRecv", "Generic"};
  static constexpr Words kReductions{"Sum", "Prod", "MinMax", "Min", "Max", "Avg", "PreMulSum", "SumPostDiv"};
  static constexpr std::array<std::string_view, 15> kTypes{"f16",    "f32",    "f64", "bf16",     "f8e4m3",
                                                           "f8e5m2", "int8_t", "i8",  "u8",       "i32",
                                                           "u32",    "i64",    "u64", "bfloat16", "half"};
  static constexpr std::array<std::string_view, 1> kFloat{"float"};
  static constexpr std::array<std::string_view, 7> kAlgorithms{"RING",           "TREE",          "NVLS_TREE", "NVLS",
                                                               "COLLNET_DIRECT", "COLLNET_CHAIN", "PAT"};
  static constexpr std::array<std::string_view, 3> kProtocols{"LL128", "LL", "SIMPLE"};
  static constexpr std::array<std::string_view, 3> kUnrolls{"1", "2", "4"};
  if (!take(text, "nccl") && !take(text, "rccl")) return false;
  take(text, "Dev");
  if (!take(text, "Kernel_") || !take_any(text, kOperations)) return false;
  take_part(text, kReductions);
  take_part(text, kTypes);
  take_part(text, kFloat);
  take_part(text, kAlgorithms);
  take_part(text, kProtocols);
  take_part(text, kUnrolls);
  if (take(text, "(ncclDevKernelArgsStorage<") && !(take_digits(text) && take(text, "ul>)"))) return false;
  return text.empty();
}

/// Memcpy HtoD (Pinned -> Device), Memset (Device), CopyHostToDevice
bool is_copy(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kEnds{"H", "D", "P"};
  static constexpr std::array<std::string_view, 5> kMemories{"Pageable", "Pinned", "Device", "Unknown", "Array"};
  static constexpr std::array<std::string_view, 4> kWays{"HostToDevice", "DeviceToHost", "DeviceToDevice", "Buffer"};
  if (take(text, "Memset (")) return take_any(text, kMemories) && text == ")";
  if (take(text, "Copy") || take(text, "Fill")) return take_any(text, kWays) && text.empty();
  if (!(take(text, "Memcpy ") && take_any(text, kEnds) && take(text, "to") && take_any(text, kEnds))) return false;
  if (!take(text, " (")) return text.empty();
  return take_any(text, kMemories) && take(text, " -> ") && take_any(text, kMemories) && text == ")";
}

bool is_step(std::string_view text) { return take(text, "ProfilerStep#") && take_digits(text) && text.empty(); }

bool is_number(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (to_lower(text) == "inf" || to_lower(text) == "nan") return true;
  bool digits = take_digits(text);
  if (take(text, ".")) digits = take_digits(text) || digits;
  if (!digits) return false;
  if (text.empty()) return true;
  if (!take(text, "e") && !take(text, "E")) return false;
  if (!take(text, "-")) take(text, "+");
  return take_digits(text) && text.empty();
}

bool is_device(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kDevices{"cpu", "cuda", "xpu", "mtia", "meta"};
  if (!take_any(text, kDevices)) return false;
  return text.empty() || (take(text, ":") && take_digits(text) && text.empty());
}

}  // namespace

bool is_public_name(std::string_view text) {
  if (names().contains(text) || is_device(text) || is_step(text) || work::is_hidden_name(text) ||
      is_nccl_kernel(text) || is_copy(text) || work::parse_kernel(text))
    return true;
  return take(text, "autograd::engine::evaluate_function: ") && names().contains(text);
}

bool is_public_word(std::string_view text) { return is_public_name(text) || is_number(text); }

}  // namespace chakra::recording
