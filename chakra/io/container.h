// stub
#pragma once
#include "chakra/io/io.h"
namespace chakra::io {
class Container;
using ContainerPtr = std::shared_ptr<Container>;
class Container : public std::enable_shared_from_this<Container> {
 public:
  static Result<ContainerPtr> open(const std::string& path) { return fail(Code::bad_input, "io.container.damaged", "no", {path}); }
  const std::vector<int64_t>& ranks() const { return ranks_; }
  Result<RecordSourcePtr> open_rank(int64_t) { return fail(Code::bad_input, "io.container.damaged", "no"); }
 private:
  std::vector<int64_t> ranks_;
};
}
