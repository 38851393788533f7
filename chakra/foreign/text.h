// An ASTRA-sim 1.0 workload in memory: its layers, and how they are spread over the ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/foreign/forms.h"

namespace chakra::foreign::text_form {

/// The order of a training iteration.
enum class Loop : uint8_t { micro, data, model, hybrid, dlrm };
/// Which ranks a collective is over.
enum class Over : uint8_t { all, first_dims, other_dims };

struct PolicyRow {
  std::string_view name;
  Loop loop;
  Over activations;  ///< forward and input-gradient collectives
  Over weights;      ///< weight-gradient collectives
  std::string_view input_gradient_infix = "";
};
struct Phase {
  Picoseconds time = 0;
  std::optional<trace::CommType> comm;
  std::string_view comm_name;
  uint64_t bytes = 0;
};
struct Layer {
  std::string_view name;
  Phase forward, input_gradient, weight_gradient;
};

struct Workload {
  std::string text, file;
  const PolicyRow* policy = nullptr;
  int64_t last_bottom = 0;  ///< HYBRID_DLRM: the layer that waits for the embeddings
  int64_t model_group = 0;  ///< HYBRID_TRANSFORMER: ranks of a model-parallel group; 0: not said
  std::vector<Layer> layers;
};

/// Fills a workload whose `file` and `text` are set, and to which the layers' names refer; a time of 1 is `unit`.
/// Errors: foreign.text.*.
Result<void> parse(Workload& out, Picoseconds unit);

}  // namespace chakra::foreign::text_form
