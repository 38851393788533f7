#include "chakra/filetype/words.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "chakra/filetype/filetype.h"

namespace chakra::filetype {
namespace {

constexpr std::string_view kCategories[] = {"COLL\"",      "P2P\"",      "GROUP\"",   "PROXY\"",        "NET\"",
                                            "GROUP_API\"", "COLL_API\"", "P2P_API\"", "KERNEL_LAUNCH\""};
constexpr std::string_view kPhases[] = {"b\"", "e\"", "n\""};

struct WordRow {
  Word word;
  std::string_view text;                          ///< after the quotation mark
  std::span<const std::string_view> values = {};  ///< of a key: one of these must follow
};
constexpr WordRow kWords[] = {
    {Word::trace_events, "traceEvents\""},
    {Word::kineto, "schemaVersion\""},
    {Word::kineto, "deviceProperties\""},
    {Word::schema, "schema\""},
    {Word::record_function_id, "rf_id\""},
    {Word::flight, "pg_config\""},
    {Word::flight, "pg_status\""},
    {Word::flight, "collective_seq_id\""},
    {Word::no_flight, "distributedInfo\""},
    {Word::no_flight, "nodes\""},
    {Word::no_flight, "attr\""},
    {Word::xla, "/host:CPU"},
    {Word::xla, "/device:GPU:"},
    {Word::xla, "/device:TPU:"},
    {Word::xla, "/host:metadata"},
    {Word::xla, "/device:CUSTOM"},
    {Word::xla, "hlo_op\""},
    {Word::xla, "hlo_module\""},
    {Word::nccl_category, "cat\"", kCategories},
    {Word::async_phase, "ph\"", kPhases},
    {Word::devices, "devices\""},
    {Word::instances, "instances\""},
    {Word::infragraph_part, "components\""},
    {Word::infragraph_part, "device\""},
    {Word::infragraph_part, "edges\""},
};

constexpr size_t index_of(char c) { return static_cast<unsigned char>(c); }

/// By the first and by the second byte of their texts, the rows as bits: most quotation marks are passed by two looks.
constexpr std::array<std::array<uint32_t, 256>, 2> kRowsByByte = [] {
  static_assert(std::size(kWords) <= 32);
  std::array<std::array<uint32_t, 256>, 2> rows{};
  for (size_t i = 0; i < std::size(kWords); ++i)
    for (size_t byte = 0; byte < rows.size(); ++byte) rows[byte][index_of(kWords[i].text[byte])] |= uint32_t{1} << i;
  return rows;
}();

bool has_value(std::string_view rest, std::span<const std::string_view> values) {
  rest = trimmed(rest);
  if (!rest.starts_with(':')) return false;
  rest = trimmed(rest.substr(1));
  if (!rest.starts_with('"')) return false;
  rest.remove_prefix(1);
  return std::any_of(values.begin(), values.end(),
                     [&](std::string_view value) { return rest.starts_with(value[0]) && rest.starts_with(value); });
}

}  // namespace

Words words_of(std::string_view head) {
  const std::string_view text = trimmed(head);
  if (!text.starts_with('{') && !text.starts_with('[')) return {};
  Words words{is_json_object(head)};
  for (size_t at = head.find('"'); at != std::string_view::npos; at = head.find('"', at)) {
    if (++at + 1 >= head.size()) break;
    uint32_t rows = kRowsByByte[0][index_of(head[at])] & kRowsByByte[1][index_of(head[at + 1])];
    for (; rows != 0; rows &= rows - 1) {
      const WordRow& row = kWords[std::countr_zero(rows)];
      const std::string_view rest = head.substr(at);
      if (rest.starts_with(row.text) && (row.values.empty() || has_value(rest.substr(row.text.size()), row.values)))
        words.found |= uint32_t{1} << static_cast<unsigned>(row.word);
    }
  }
  return words;
}

}  // namespace chakra::filetype
