// Networks as calls: `chakra gen network` builds a blueprint, and `chakra convert` exchanges network files.
#pragma once

#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::job {

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

/// The forms of networks that convert writes: "infragraph", and "network" (devices and links).
bool is_network_form(std::string_view form);
/// Write a network file in another form, and return the number of ranks.
/// Errors: those of net::load_fabric and net::to_infragraph_file, base.file.*.
Result<int64_t> convert_network(const std::string& input, const std::string& form, const std::string& output,
                                Findings& findings);

}  // namespace chakra::job
