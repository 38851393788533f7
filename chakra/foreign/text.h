// A workload of ASTRA-sim 1.0 or of SimAI in memory: its layers, and the distribution of the layers over the ranks.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/foreign/forms.h"

namespace chakra::foreign {

/// The function of a row (foreign.cpp). The writer uses the function to read its text again.
Result<Job> read_text_job(ByteSource source, const Options& options, Findings& findings);

}  // namespace chakra::foreign

namespace chakra::foreign::text_form {

/// The order of a training iteration.
enum class Loop : uint8_t { micro, data, model, hybrid, dlrm, rows, inference };
/// The ranks of a collective. The last four are SimAI's, the others ASTRA-sim's.
enum class Over : uint8_t { all, first_dims, other_dims, nobody, tp, dp, ep, edp };

struct PolicyRow {
  std::string_view name;
  Loop loop;
  Over activations;  ///< forward and input-gradient collectives
  Over weights;      ///< weight-gradient collectives
  std::string_view input_gradient_infix = "";
  std::string_view time_unit = "us";
};
struct Phase {
  Picoseconds time = 0;
  std::optional<trace::CommType> comm;
  std::string_view comm_name;
  uint64_t bytes = 0;
  Over over = Over::all;
};
struct Layer {
  std::string_view name;
  Phase forward, input_gradient, weight_gradient;
};

/// The header of HYBRID_TRANSFORMER_FWD_IN_BCKWD.
struct Spread {
  int64_t tp = 0;  ///< model_parallel_NPU_group; 0: not given
  int64_t ep = 1, pp = 1, vpp = 1, ga = 1;
  int64_t ranks = 0;      ///< all_gpus; 0: not given
  uint64_t pp_bytes = 0;  ///< pp_comm: bytes of a message between stages
  /// `checkpoints`: rows that keep their input; `initiates`: rows that start recomputation from the last checkpoint.
  std::vector<int64_t> checkpoints, initiates;
};

/// The ranks of such rows: tensor-parallel ranks are neighbours, followed by
/// experts, the other data-parallel ranks, and the stages of the pipeline.
struct RowMesh {
  int64_t ranks = 1, tp = 1, ep = 1, pp = 1;

  int64_t stage_ranks() const { return ranks / pp; }
  int64_t dp() const { return stage_ranks() / tp; }
  bool divides() const { return ranks % pp == 0 && stage_ranks() % tp == 0 && dp() % ep == 0; }
  int64_t size(Over over) const;                                ///< of a group
  int64_t group(Over over, int64_t rank) const;                 ///< the group's number
  std::vector<int64_t> members(Over over, int64_t rank) const;  ///< of the rank's group; ascending
};
/// The groups in rows: the slot, as `chakra gen step` calls the slot, and SimAI's suffix for a collective's name in
/// the columns of forward and input gradient, and of the weight gradient; "-": impossible in that column.
struct RowGroup {
  Over over;
  std::string_view slot, description, activations, weights;
};
inline constexpr std::array<RowGroup, 4> kRowGroups{{
    {Over::tp, "tp", "tensor parallel", "", "-"},
    {Over::dp, "dp", "data parallel", "-", ""},
    {Over::ep, "ep", "expert parallel", "_EP", "_EP"},
    {Over::edp, "edp", "data parallel, of experts", "_DP_EP", "_DP_EP"},
}};

struct Workload {
  std::string text, file;
  const PolicyRow* policy = nullptr;
  int64_t last_bottom = 0;  ///< HYBRID_DLRM: the layer that waits for the embeddings
  int64_t model_group = 0;  ///< HYBRID_TRANSFORMER: ranks of a model-parallel group; 0: not given
  Spread spread;            ///< HYBRID_TRANSFORMER_FWD_IN_BCKWD
  std::vector<Layer> layers;
  std::vector<std::string> unknown_keys;  ///< of the header
  int64_t sized_nones = 0;                ///< number of NONE entries with a size, which has no meaning
};

/// Fill in a workload whose `file` and `text` are set; the layers' names refer to `text`. An empty
/// `time_unit` means the unit of the policy. Errors: foreign.text.*, foreign.time_unit.
Result<void> parse(Workload& out, const std::string& time_unit);

/// Add findings about input that the parser noticed and no node shows.
void note_unused(const Workload& work, Findings& findings);

/// Return the number of ranks from --dims and --num-npus, else from the file; 0: given in neither.
/// Errors: foreign.text.ranks.
Result<int64_t> rank_count(const Options& options, int64_t said);

/// Convert rows of HYBRID_TRANSFORMER_FWD_IN_BCKWD into a job by classes, one per pipeline stage. Slots "tp", "dp",
/// "ep" and "edp", if rows use the slots. Errors: foreign.text.*, foreign.large. Cost: O(nodes of the classes + ranks).
Result<trace::ClassJob> spread_rows(const Workload& work, const Options& options, Findings& findings);

/// Return the text of a job that was not read from text: the work of the first rank, which SimAI gives to all ranks.
/// Everything that the text cannot express is a finding. Errors: foreign.write.cannot_hold.
Result<std::string> write_rows(const trace::ClassJob& job, Findings& findings);

}  // namespace chakra::foreign::text_form
