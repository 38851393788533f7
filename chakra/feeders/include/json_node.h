// A node of a JSON trace as returned by mlcommons/chakra's WrapperNode ({"workload_graph": [{"Id": 1, "Name":
// "a", "NodeType": 4, "is_cpu_op": false, "runtime": 5, "data_deps": []}]}). A handle: copies are the same node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

class JSONNode {
 public:
  struct Graph;
  JSONNode() = default;  ///< no node: no getter may be called
  JSONNode(std::shared_ptr<Graph> graph, size_t row);

  // Missing fields are 0, false or "".
  uint64_t id() const;
  std::string name() const;
  int type() const;  ///< a number of ChakraProtoMsg::NodeType
  bool isCPUOp() const;
  uint64_t getRuntime() const;
  uint64_t getNumOps() const;
  uint64_t getTensorSize() const;
  int64_t getCommType() const;
  uint32_t getCommPriority() const;
  uint64_t getCommSize() const;
  uint32_t getCommSrc() const;
  uint32_t getCommDst() const;
  uint32_t getCommTag() const;
  /// Return the nodes that wait for this one, in file order.
  std::vector<JSONNode> getChildren() const;

  bool operator==(const JSONNode& other) const { return graph_ == other.graph_ && row_ == other.row_; }

 private:
  friend class WrapperNode;
  std::shared_ptr<Graph> graph_;
  size_t row_ = 0;
};
