#include "chakra/job/workloads.h"

#include <fmt/core.h>

#include "chakra/filetype/filetype.h"
#include "chakra/foreign/foreign.h"

namespace chakra::job {

std::string_view workload_form(std::string_view head) {
  const filetype::Row* const row = filetype::recognise(head, filetype::kAllGroups);
  if (row && (row->marked || row->group != filetype::Group::trace)) return "";
  const foreign::FormRow* const form = foreign::form_of(head);
  return form ? form->name : "";
}

Result<void> refuse_workload(const std::string& path, std::string_view expected) {
  if (!is_file(path)) return {};
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  CHAKRA_ASSIGN(const std::string_view head, source.peek(filetype::kHead));
  if (const std::string_view form = workload_form(head); !form.empty())
    return fail(Code::bad_input, "kind.other",
                fmt::format("this is a workload of the form {}, not {}; 'chakra import' reads it", form, expected),
                {path});
  return {};
}

}  // namespace chakra::job
