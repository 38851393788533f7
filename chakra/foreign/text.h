// A workload of ASTRA-sim 1.0 or of SimAI in memory: its layers, and how they are spread over the ranks.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/foreign/forms.h"

namespace chakra::foreign {

/// A row's function (foreign.cpp). The writer reads its text again with it.
Result<Job> read_text_job(ByteSource source, const Options& options, Findings& findings);

}  // namespace chakra::foreign

namespace chakra::foreign::text_form {

/// The order of a training iteration.
enum class Loop : uint8_t { micro, data, model, hybrid, dlrm, rows, inference };
/// Which ranks a collective is over. The last four are SimAI's, the others ASTRA-sim's.
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
  int64_t tp = 0;  ///< model_parallel_NPU_group; 0: not said
  int64_t ep = 1, pp = 1, vpp = 1, ga = 1;
  int64_t ranks = 0;      ///< all_gpus; 0: not said
  uint64_t pp_bytes = 0;  ///< pp_comm: of a message between stages
  /// Rows that keep their input, and rows whose backward begins with the forward of all since the last such row.
  std::vector<int64_t> checkpoints, initiates;
};

/// The ranks of such rows: tensor-parallel ranks are neighbours, then come experts, then the other data-parallel ranks,
/// then stages of the pipeline.
struct RowMesh {
  int64_t ranks = 1, tp = 1, ep = 1, pp = 1;

  int64_t stage_ranks() const { return ranks / pp; }
  int64_t dp() const { return stage_ranks() / tp; }
  bool divides() const { return ranks % pp == 0 && stage_ranks() % tp == 0 && dp() % ep == 0; }
  int64_t size(Over over) const;                                ///< of a group
  int64_t group(Over over, int64_t rank) const;                 ///< its number
  std::vector<int64_t> members(Over over, int64_t rank) const;  ///< of the rank's group; ascending
};
/// The groups that rows speak of: slot, as `chakra gen step` calls it, and what SimAI appends to a collective's name in
/// the columns of forward and input gradient, and of the weight gradient; "-": it cannot stand there.
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
  int64_t model_group = 0;  ///< HYBRID_TRANSFORMER: ranks of a model-parallel group; 0: not said
  Spread spread;            ///< HYBRID_TRANSFORMER_FWD_IN_BCKWD
  std::vector<Layer> layers;
  std::vector<std::string> unknown_keys;  ///< of the header
  int64_t sized_nones = 0;                ///< NONE with a size that says nothing
};

/// Fills a workload whose `file` and `text` are set, and to which the layers' names refer; `time_unit` is that of the
/// policy where it is empty. Errors: foreign.text.*, foreign.time_unit.
Result<void> parse(Workload& out, const std::string& time_unit);

/// What the parser noticed and no node shows.
void note_unused(const Workload& work, Findings& findings);

/// The ranks that --dims and --num-npus ask for, else those that the file says; 0: it does not.
/// Errors: foreign.text.ranks.
Result<int64_t> rank_count(const Options& options, int64_t said);

/// Rows of HYBRID_TRANSFORMER_FWD_IN_BCKWD as a job by classes, one for each pipeline stage. Slots "tp", "dp", "ep" and
/// "edp", as far as rows use them. Errors: foreign.text.*, foreign.large. Cost: O(nodes of the classes + ranks).
Result<trace::ClassJob> spread_rows(const Workload& work, const Options& options, Findings& findings);

/// The text of a job that does not come from one: what the first rank does, as SimAI has all ranks do. What it cannot
/// say is a finding. Errors: foreign.write.cannot_hold.
Result<std::string> write_rows(const trace::ClassJob& job, Findings& findings);

}  // namespace chakra::foreign::text_form
