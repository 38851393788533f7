// `chakra pack` and `chakra unpack` as calls: containers, which hold all ranks of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/pack/pack.h"
#include "chakra/view/view.h"

namespace chakra::convert {

struct PackOptions {
  std::vector<std::string> paths;                   ///< jobs in any format
  std::string output;                               ///< the container
  bool append = false;                              ///< add to the ranks of an existing container
  int64_t group_nodes = pack::Packer::kGroupNodes;  ///< nodes that are read together; for a new container
  bool stats = false;                               ///< return container_stats() as well, or alone
  std::string report = {};                          ///< a file that the caller writes; neither an input nor the output
};
options::Options rows_of(PackOptions& options);

struct PackedJob {
  std::string output;
  size_t ranks = 0;  ///< ranks and nodes added by this call
  int64_t nodes = 0;
  bool appended = false;
};

/// Pack a job. The container appears, or has the additional ranks, at the end; on failure the container is unchanged.
/// Errors: cli.usage for an output that is an input; as for reading, io::add_rank and pack::Packer.
/// Cost: that of reading and packing, rank by rank; append: also a copy of the container.
Result<PackedJob> pack_job(const PackOptions& options);
view::Text text_of(const PackedJob& job);
answer::Answer answer_of(const PackedJob& job);

/// Size of a container, and cost of partial reads.
struct ContainerStats {
  static constexpr int64_t kWindow = 100;
  struct Rank {
    int64_t rank = 0;
    pack::Container::RankInfo info;
    int64_t touched = 0;         ///< bytes that a new reader reads for the rank
    int64_t touched_window = 0;  ///< likewise for kWindow nodes in the middle of the rank
  };
  std::string path;
  int64_t bytes = 0, nodes = 0;
  std::vector<Rank> ranks;  ///< ascending
};
/// Read all ranks and return the statistics. Errors: as for pack::Container. Cost: reads all ranks.
Result<ContainerStats> container_stats(const std::string& path);
view::Text text_of(const ContainerStats& stats);
answer::Answer answer_of(const ContainerStats& stats);

/// The result of repairing a container.
struct RepairedContainer {
  std::string path;
  int64_t ranks = 0, bytes = 0;
  int64_t cut_bytes = 0;  ///< 0: the container was whole
};
/// Truncate a container after the last index. Errors: as for pack::repair_container.
Result<RepairedContainer> repair_container(const std::string& path);
view::Text text_of(const RepairedContainer& container);
answer::Answer answer_of(const RepairedContainer& container);

struct UnpackOptions {
  std::string path;                 ///< the container
  std::string output;               ///< the folder for trace.<rank>.et
  std::vector<int64_t> ranks = {};  ///< empty: all
  std::string nodes = {};           ///< "FIRST" or "FIRST:COUNT": only these nodes of each rank; empty: all
  std::string to = "et";            ///< the format: et, json, jsonl; then .gz or .zst to compress the files
};
options::Options rows_of(UnpackOptions& options);

struct UnpackedJob {
  std::string output;
  std::vector<std::string> outputs;  ///< the files, by rank
  int64_t nodes = 0;
  Findings findings = {};
};

/// Unpack a container. The files appear together at the end. Findings: job.unpack.nodes. Errors: cli.usage for an
/// invalid format or window and for outputs that would replace the container; as for pack::Container and writing. Cost:
/// that of reading these nodes.
Result<UnpackedJob> unpack_job(const UnpackOptions& options);
view::Text text_of(const UnpackedJob& job);
answer::Answer answer_of(const UnpackedJob& job);

}  // namespace chakra::convert
