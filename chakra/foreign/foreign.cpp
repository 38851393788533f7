#include "chakra/foreign/foreign.h"

#include <fmt/core.h>

#include <map>

#include "chakra/filetype/filetype.h"
#include "chakra/foreign/forms.h"
#include "chakra/foreign/rows.h"

namespace chakra::foreign {

constexpr FormRow kFormRows[] = {
    {"text", "*.txt", "ASTRA-sim 1.0 or SimAI workload: rows of compute times and collectives; read and written",
     is_text_form, read_text, write_text, read_text_job},
    {"flexflow", "*.graph", "FlexFlow task graph (Graphviz); read", is_flexflow, read_flexflow, nullptr},
    {"msccl", "*.xml", "MSCCL algorithm of a collective, verified; read", is_msccl, read_msccl, nullptr},
    {"feeder-json", "*.json", "JSON that mlcommons/chakra's feeder reads (workload_graph); read", is_feeder_json,
     read_feeder_json, nullptr},
    {"linked-json", "*.json", "JSON that mlcommons/chakra's linker writes (ET+); read", is_linked_json,
     read_linked_json, nullptr},
    {"torch", "*.json", "Program of torch.compile, written by chakra_et.export; read", is_torch_program, read_torch,
     nullptr, read_torch_job},
    {kXla, "*.hlo.pb, *.txt", "optimized program of XLA (HloProto, HLO as text); read", is_xla, read_xla, nullptr,
     read_xla_job},
};
constinit const std::span<const FormRow> kForms = kFormRows;

const FormRow* find(std::string_view name) {
  const std::string lower = to_lower(name);
  for (const FormRow& row : kFormRows)
    if (row.name == lower) return &row;
  return nullptr;
}

const FormRow* form_of(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, filetype::kHead);
  for (const FormRow& row : kFormRows)
    if (row.matches(head)) return &row;
  return nullptr;
}

namespace {

Failure no_form(std::string_view name, Place place = {}) {
  const std::string known = names_of(kForms);
  return name.empty()
             ? fail(Code::bad_input, "foreign.form", fmt::format("unrecognized file format; known: {}", known),
                    std::move(place))
             : fail(Code::usage, "foreign.form", fmt::format("unknown format {}; known: {}", quote(name), known));
}

}  // namespace

Result<trace::TraceSet> read(std::string_view form, const std::string& path, const Options& options,
                             Findings& findings) {
  if (!form.empty()) {
    if (!find(form)) return no_form(form);
    CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
    return read(form, std::move(source), options, findings);
  }
  CHAKRA_ASSIGN(ByteSource head_source, ByteSource::open(path));
  CHAKRA_ASSIGN(const std::string_view head, head_source.peek(filetype::kHead));
  const FormRow* row = form_of(head);
  if (!row) return no_form("", {path});
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  return row->read(std::move(source), options, findings);
}

Result<trace::TraceSet> read(std::string_view form, ByteSource source, const Options& options, Findings& findings) {
  const FormRow* row = find(form);
  if (!row) return no_form(form, {source.file()});
  return row->read(std::move(source), options, findings);
}

Result<Job> read_job(std::string_view form, ByteSource source, const Options& options, Findings& findings) {
  const FormRow* row = find(form);
  if (!row) return no_form(form, {source.file()});
  if (row->read_job) return row->read_job(std::move(source), options, findings);
  CHAKRA_ASSIGN(trace::TraceSet job, row->read(std::move(source), options, findings));
  return Job(std::move(job));
}

Result<std::string> to_text(std::string_view form, const Job& job, Findings& findings) {
  const FormRow* row = find(form);
  if (!row) return no_form(form);
  if (!row->write)
    return fail(Code::usage, "foreign.write.none",
                fmt::format("the format {} can be read, but not written", row->name));
  return row->write(job, findings);
}

Result<void> write(std::string_view form, const Job& job, const std::string& path, Findings& findings) {
  CHAKRA_ASSIGN(const std::string text, to_text(form, job, findings));
  return write_file(path, text);
}

// ---- what the forms share ------------------------------------------------------------------------

Result<std::string> read_all(ByteSource source) {
  std::string text;
  CHAKRA_ASSIGN(const bool whole, read_whole(source, size_t{1} << 30, text));
  if (!whole) return fail(Code::bad_input, "foreign.large", "the file is larger than 1 GiB", {source.file()});
  return text;
}

Result<Picoseconds> unit_ps(const std::string& name, std::string_view otherwise) {
  static const std::map<std::string_view, Picoseconds> units{
      {"ns", kPsPerNs}, {"us", kPsPerUs}, {"ms", 1000 * kPsPerUs}, {"s", 1000 * 1000 * kPsPerUs}};
  const auto found = units.find(name.empty() ? otherwise : std::string_view(name));
  if (found == units.end())
    return fail(Code::usage, "foreign.time_unit",
                fmt::format("unknown time unit {}; known: ns, us, ms, s", quote(name)));
  return found->second;
}

Result<trace::TraceSet> rank_by_rank(const trace::ClassJob& classes) {
  uint64_t size = 0;  // in nodes; what else a trace carries counts by its bytes
  for (const trace::ClassJob::Rank& rank : classes.ranks) {
    const trace::Trace& t = classes.classes[rank.cls];
    size += t.size();
    for (const trace::Attr& attr : t.metadata) size += attr.text().value_or("").size() / 64;
    for (size_t slot = 0; slot < classes.group_slots[rank.cls].size(); ++slot)
      size += classes.groups[classes.group_of[rank.first_group + slot]].ranks.size() / 8;
  }
  if (size > kMostNodes)
    return fail(Code::bad_input, "foreign.large",
                fmt::format("{} ranks have more than {} nodes; write them by classes (--classes)", classes.ranks.size(),
                            kMostNodes),
                {classes.classes[0].file});
  return trace::expand(classes);
}

void begin_trace(trace::Builder& builder, int64_t rank, const std::string& file) {
  builder.trace.rank = rank;
  builder.trace.says_rank = true;
  builder.trace.file = file;
}

}  // namespace chakra::foreign
