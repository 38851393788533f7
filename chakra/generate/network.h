// `chakra gen network` as a call: build a blueprint.
#pragma once

#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::generate {

struct NetworkOptions {
  std::string blueprint;              ///< a name of infragraph::kBlueprints
  std::string output;                 ///< an InfraGraph file
  std::vector<std::string> set = {};  ///< parameters, and bandwidths and latencies of links: "hosts=8"
};
options::Options rows_of(NetworkOptions& options);

struct GeneratedNetwork {
  std::string output, blueprint;
  int64_t devices = 0, instances = 0, edges = 0;  ///< entries of the file
};

/// Write a blueprint as an InfraGraph file. Errors: those of infragraph::build, base.file.*.
Result<GeneratedNetwork> generate_network(const NetworkOptions& options);
view::Text text_of(const GeneratedNetwork& network);
answer::Answer answer_of(const GeneratedNetwork& network);

}  // namespace chakra::generate
