// Any text as a ranks.json beside one class: read it; the job comes back from the traces that are made of it.
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "chakra/io/io.h"

namespace {

/// A folder with class0.et: a collective in the slot "tp", a send to peer slot 0. Stays as long as the system keeps it.
std::string make_folder() {
  using namespace chakra;
  trace::Builder b;
  b.add(1, b.trace.strings.intern("reduce"), trace::NodeType::coll);
  b.comm(trace::NodeId(0)).type = trace::CommType::all_reduce;
  b.comm(trace::NodeId(0)).group = b.trace.strings.intern("tp");
  b.add(2, b.trace.strings.intern("send"), trace::NodeType::send);
  b.comm(trace::NodeId(1)).dst = 0;
  b.trace.groups.push_back({"tp", "", "", {}, 0});
  std::string folder = "/tmp/chakra-ranks-fuzz-XXXXXX";
  if (!mkdtemp(folder.data()) || !io::write_et(std::move(b).finish(), folder + "/class0.et")) __builtin_trap();
  return folder;
}

std::string bytes(const chakra::trace::ClassJob& job) {
  std::string all;
  for (size_t i = 0; i < job.ranks.size(); ++i) all += chakra::io::to_et(chakra::trace::concrete(job, i));
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  static const std::string folder = make_folder();
  const auto job = io::parse_class_job({reinterpret_cast<const char*>(data), size}, folder, "ranks.json");
  if (!job || job->ranks.size() > 1000) return 0;
  if (bytes(trace::by_class(trace::expand(*job))) != bytes(*job)) __builtin_trap();
  return 0;
}
