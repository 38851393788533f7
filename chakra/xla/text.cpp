#include "chakra/xla/text.h"

#include <algorithm>

#include "chakra/xla/read_detail.h"

namespace chakra::xla {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-' ||
         static_cast<unsigned char>(c) >= 0x80;
}
/// Return the place behind the text in quotes that begins at `at`.
size_t behind_quotes(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

}  // namespace

void TextCursor::skip_blanks() {
  while (at_ < text_.size()) {
    if (is_blank(text_[at_])) ++at_;
    else if (text_.substr(at_).starts_with("/*")) at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
    else break;
  }
}
bool TextCursor::at_end() {
  for (skip_blanks(); at_ < text_.size() && text_[at_] == '\n'; skip_blanks()) ++at_;
  return at_ >= text_.size();
}
bool TextCursor::at_line_end() {
  skip_blanks();
  return at_ >= text_.size() || text_[at_] == '\n';
}
char TextCursor::peek() {
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}
bool TextCursor::take(char wanted) {
  if (peek() != wanted || at_ >= text_.size()) return false;
  ++at_;
  return true;
}
bool TextCursor::take(std::string_view wanted) {
  skip_blanks();
  if (!text_.substr(at_).starts_with(wanted)) return false;
  at_ += wanted.size();
  return true;
}
std::string_view TextCursor::name() {
  take('%');
  const size_t begin = at_;
  while (at_ < text_.size() && in_name(text_[at_])) {
    if (text_.substr(at_).starts_with("->")) break;
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}
bool TextCursor::number(int64_t& value) {
  skip_blanks();
  size_t end = at_ + (at_ < text_.size() && text_[at_] == '-');
  while (end < text_.size() && is_digit(text_[end])) ++end;
  if (!parse_integer(text_.substr(at_, end - at_), value)) return false;
  at_ = end;
  return true;
}
bool TextCursor::skip_brackets() {
  int64_t depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      at_ = behind_quotes(text_, at_);
      continue;
    }
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    ++at_;
    if (depth <= 0) return true;
  }
  return false;
}
std::string_view TextCursor::value() {
  skip_blanks();
  const size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') {
    const char c = text_[at_];
    if (c == '"') at_ = behind_quotes(text_, at_);
    else if (c == '(' || c == '[' || c == '{') skip_brackets();
    else ++at_;
  }
  return text_.substr(begin, at_ - begin);
}
void TextCursor::skip_line() { at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1; }

std::vector<int64_t> numbers_in(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; (at = text.find_first_of("0123456789", at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    int64_t number = 0;
    numbers.push_back(parse_integer(text.substr(at, end - at), number) ? number : -1);  // -1: too large
    at = end;
  }
  return numbers;
}

std::string_view unquoted(std::string_view text, Program& p) {
  if (text.size() < 2 || text.front() != '"') return text;
  text = text.substr(1, text.size() - 2);
  if (text.find('\\') == std::string_view::npos) return text;
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      plain += text[at];
      continue;
    }
    const char c = text[++at];
    const auto is_octal = [&](size_t place) { return place < text.size() && text[place] >= '0' && text[place] <= '7'; };
    if (c == 'n' || c == 't' || c == 'r') {
      plain += c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
    } else if (is_octal(at) && is_octal(at + 1) && is_octal(at + 2)) {  // "\303\251" for bytes that are not ASCII
      plain += static_cast<char>((text[at] - '0') * 64 + (text[at + 1] - '0') * 8 + (text[at + 2] - '0'));
      at += 2;
    } else {
      plain += c;
    }
  }
  p.kept_texts.push_back(std::make_shared<const std::string>(std::move(plain)));
  return *p.kept_texts.back();
}

namespace {

/// Return what is between the first of two brackets.
std::string_view part(std::string_view text, char open, char close) {
  const size_t begin = text.find(open), end = text.find(close, begin == std::string_view::npos ? 0 : begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  return text.substr(begin + 1, end - begin - 1);
}

/// "[2,4]T(1,0)" or "[8]", then anything.
void read_devices(std::string_view text, Groups::Devices& devices) {
  devices.dims = numbers_in(part(text, '[', ']'));
  const std::string_view behind = text.substr(std::min(text.find(']'), text.size() - 1) + 1);
  if (behind.starts_with("T(")) devices.order = numbers_in(part(behind, '(', ')'));
}

/// "{{0,1},{2,3}}", "[4,2]<=[2,4]T(1,0)" or "mesh['dp'=2,'ep'=4], device_ids=(...) {'ep','dp':(1)2}".
void read_groups(std::string_view value, Groups& groups) {
  if (value.starts_with("mesh")) {
    groups.is_mesh = true;
    std::vector<std::string_view> names;
    TextCursor axes(part(value, '[', ']'));
    const auto quoted = [](TextCursor& text) {
      const bool quote = text.take('\'');
      const std::string_view name = text.name();
      if (quote) text.take('\'');
      return name;
    };
    for (bool more = !axes.at_end(); more; more = axes.take(',')) {
      names.push_back(quoted(axes));
      int64_t size = 0;
      if (!axes.take('=') || !axes.number(size)) size = -1;
      groups.mesh.sizes.push_back(size);
    }
    constexpr std::string_view kDevices = "device_ids=(";
    if (const size_t at = value.find(kDevices); at != std::string_view::npos) {
      const std::string_view devices = value.substr(at + kDevices.size());
      if (devices.find("]T(") != std::string_view::npos) read_devices(devices, groups.mesh.reordered);
      else groups.mesh.devices = numbers_in(devices.substr(0, devices.find(')')));
    }
    const size_t last = value.rfind('{');
    TextCursor used(last == std::string_view::npos ? std::string_view() : part(value.substr(last), '{', '}'));
    for (bool more = !used.at_end(); more; more = used.take(',')) {
      Groups::Mesh::Axis axis;
      axis.axis = std::find(names.begin(), names.end(), quoted(used)) - names.begin();
      if (used.take(':') && !(used.take('(') && used.number(axis.before) && used.take(')') && used.number(axis.size)))
        axis.axis = -1;
      groups.mesh.axes.push_back(axis);
    }
  } else if (value.starts_with('[')) {
    groups.is_iota = true;
    const size_t arrow = value.find("<=");
    const std::vector<int64_t> shape = numbers_in(value.substr(0, arrow));
    groups.iota.groups = shape.size() == 2 ? shape[0] : 0, groups.iota.members = shape.size() == 2 ? shape[1] : 0;
    if (arrow == std::string_view::npos) return;
    read_devices(value.substr(arrow), groups.iota.devices);
  } else if (value.size() > 2) {
    for (size_t at = 1; (at = value.find('{', at)) != std::string_view::npos; ++at)
      groups.lists.push_back(numbers_in(value.substr(at, value.find('}', at) - at)));
  }
}

std::vector<std::pair<int64_t, int64_t>> pairs_in(std::string_view value) {
  const std::vector<int64_t> all = numbers_in(value);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t n = 0; n + 1 < all.size(); n += 2) pairs.emplace_back(all[n], all[n + 1]);
  return pairs;
}

/// "{size=3x3 stride=2x2 pad=1_1x1_1}". Numbers of pads may be negative.
void read_window(std::string_view value, Detail& d) {
  TextCursor text(value);
  text.take('{');
  while (!text.at_end() && text.peek() != '}') {
    const std::string_view key = text.name();
    if (key.empty() || !text.take('=')) return;
    size_t n = 0;
    do {
      int64_t number = 0, high = 0;
      if (!text.number(number)) return;
      if (key == "pad" && !(text.take('_') && text.number(high))) return;
      if (d.window.size() <= n) d.window.resize(n + 1);
      WindowDim& dim = d.window[n++];
      if (key == "size") dim.size = number;
      else if (key == "stride") dim.stride = number;
      else if (key == "pad") dim.low = number, dim.high = high;
      else if (key == "rhs_dilate") dim.dilation = number;
      else if (key == "lhs_dilate") dim.base_dilation = std::max<int64_t>(1, number);
    } while (text.take('x'));
  }
}

/// "b01f_01io->b01f": what each dimension of input, kernel and result is.
void read_labels(std::string_view value, Detail& d, Program& p) {
  const size_t kernel = value.find('_'), result = value.find("->");
  if (kernel == std::string_view::npos || result == std::string_view::npos || result < kernel) return;
  const auto place = [](std::string_view labels, char label) {
    const size_t at = labels.find(label);
    return at == std::string_view::npos ? int64_t{0} : static_cast<int64_t>(at);
  };
  const auto spatial = [&](std::string_view labels) {
    const auto begin = static_cast<uint32_t>(p.numbers.size());
    for (char digit = '0'; digit <= '9' && labels.find(digit) != std::string_view::npos; ++digit)
      p.numbers.push_back(place(labels, digit));
    return Range{begin, static_cast<uint32_t>(p.numbers.size())};
  };
  const std::string_view in = value.substr(0, kernel), of_kernel = value.substr(kernel + 1, result - kernel - 1),
                         out = value.substr(result + 2);
  d.input_batch = place(in, 'b'), d.input_feature = place(in, 'f'), d.output_feature = place(out, 'f');
  d.input_spatial = spatial(in), d.kernel_spatial = spatial(of_kernel), d.output_spatial = spatial(out);
}

Range keep_numbers(std::string_view value, Program& p) {
  const auto begin = static_cast<uint32_t>(p.numbers.size());
  for (const int64_t number : numbers_in(value)) p.numbers.push_back(number);
  return {begin, static_cast<uint32_t>(p.numbers.size())};
}
int64_t first_number(std::string_view value, int64_t missing) {
  const std::vector<int64_t> numbers = numbers_in(value);
  return numbers.empty() ? missing : numbers.front();
}

using Read = void (*)(std::string_view value, Instruction& i, Program& p);
struct AttributeRow {
  std::string_view name;
  Read read = nullptr;
};
/// Attributes that change the work, the groups or the calls have a function; others are known and have no effect here.
constexpr AttributeRow kAttributes[] = {
    {"index", [](std::string_view v, Instruction& i, Program&) { i.number = first_number(v, 0); }},
    {"channel_id",
     [](std::string_view v, Instruction& i, Program& p) { detail_of(i, p).channel = first_number(v, 0); }},
    {"use_global_device_ids",
     [](std::string_view v, Instruction& i, Program& p) { detail_of(i, p).global_ids = v.starts_with("true"); }},
    {"replica_groups", [](std::string_view v, Instruction& i, Program& p) { read_groups(v, detail_of(i, p).groups); }},
    {"source_target_pairs",
     [](std::string_view v, Instruction& i, Program& p) { detail_of(i, p).pairs = pairs_in(v); }},
    {"custom_call_target",
     [](std::string_view v, Instruction& i, Program& p) {
       const std::string_view target = unquoted(v, p);
       detail_of(i, p).target = target;
     }},
    {"lhs_contracting_dims",
     [](std::string_view v, Instruction& i, Program& p) {
       const Range range = keep_numbers(v, p);
       detail_of(i, p).contracting = range;
     }},
    {"fft_length",
     [](std::string_view v, Instruction& i, Program& p) {
       const Range range = keep_numbers(v, p);
       detail_of(i, p).fft_length = range;
     }},
    {"window", [](std::string_view v, Instruction& i, Program& p) { read_window(v, detail_of(i, p)); }},
    {"dim_labels", [](std::string_view v, Instruction& i, Program& p) { read_labels(v, detail_of(i, p), p); }},
    {"feature_group_count",
     [](std::string_view v, Instruction& i, Program& p) {
       detail_of(i, p).feature_groups = std::max<int64_t>(1, first_number(v, 1));
     }},
    {"batch_group_count", [](std::string_view v, Instruction& i,
                             Program& p) { detail_of(i, p).batch_groups = std::max<int64_t>(1, first_number(v, 1)); }},
    {"backend_config",
     [](std::string_view v, Instruction& i, Program& p) {
       if (i.kind() == Kind::loop) detail_of(i, p).trips = trip_count(unquoted(v, p));
       if (!i.opcode.starts_with("custom-call")) return;
       const std::string_view config = unquoted(v, p);
       detail_of(i, p).config = config;
     }},
    {"metadata",
     [](std::string_view v, Instruction& i, Program& p) {
       constexpr std::string_view kKey = "op_name=";
       const size_t at = v.find(kKey);
       if (at == std::string_view::npos || at + kKey.size() >= v.size()) return;
       const size_t begin = at + kKey.size();
       i.op_name = unquoted(v.substr(begin, behind_quotes(v, begin) - begin), p);
     }},
    {"frontend_attributes",
     [](std::string_view v, Instruction& i, Program& p) {
       constexpr std::string_view kKey = "_xla_send_recv_source_target_pairs=";
       const size_t at = v.find(kKey);
       if (at == std::string_view::npos) return;
       const size_t begin = at + kKey.size();
       const size_t end = begin < v.size() && v[begin] == '"' ? behind_quotes(v, begin) : v.find("}}", begin);
       detail_of(i, p).pairs = pairs_in(v.substr(begin, end == std::string_view::npos ? end : end - begin));
     }},
    {"algorithm"},
    {"api_version"},
    {"async_execution_thread"},
    {"custom_call_has_side_effect"},
    {"cholesky"},
    {"comparison_direction"},
    {"constrain_layout"},
    {"control"},
    {"custom_call_schedule"},
    {"delta"},
    {"diag"},
    {"dimensions"},
    {"direction"},
    {"distribution"},
    {"dynamic_slice_sizes"},
    {"entry"},
    {"epsilon"},
    {"exponent_bits"},
    {"feature_index"},
    {"fft_type"},
    {"frontend"},
    {"index_vector_dim"},
    {"indices_are_sorted"},
    {"inserted_window_dims"},
    {"iota_dimension"},
    {"is_cross_program_prefetch"},
    {"is_host_transfer"},
    {"is_stable"},
    {"k"},
    {"kind"},
    {"largest"},
    {"left_side"},
    {"lhs_batch_dims"},
    {"lhs_ragged_dims"},
    {"literal"},
    {"lower"},
    {"mantissa_bits"},
    {"offset_dims"},
    {"operand_batching_dims"},
    {"operand_layout_constraints"},
    {"operand_precision"},
    {"origin"},
    {"original_value"},
    {"outfeed_config"},
    {"infeed_config"},
    {"outfeed_shape"},
    {"output_to_operand_aliasing"},
    {"padding"},
    {"parameter_replication"},
    {"result_accuracy"},
    {"rhs_batch_dims"},
    {"rhs_contracting_dims"},
    {"rhs_group_dims"},
    {"schedule"},
    {"scatter_dims_to_operand_dims"},
    {"sharding"},
    {"slice"},
    {"slice_sizes"},
    {"sparsity"},
    {"split_dimension"},
    {"start_index_map"},
    {"statistics"},
    {"collapsed_slice_dims"},
    {"start_indices_batching_dims"},
    {"input_batching_dims"},
    {"scatter_indices_batching_dims"},
    {"transpose_a"},
    {"type"},
    {"unique_indices"},
    {"unit_diagonal"},
    {"update_window_dims"},
    {"cross_program_prefetch_index"},
    {"exec_time"},
    {"is_composite"},
};

}  // namespace

bool read_attribute(std::string_view name, std::string_view value, Instruction& i, Program& p) {
  for (const AttributeRow& row : kAttributes)
    if (row.name == name) {
      if (row.read) row.read(value, i, p);
      return true;
    }
  return false;
}

}  // namespace chakra::xla
