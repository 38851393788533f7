// A node of mlcommons/chakra's feeder. It keeps the bytes of the file; fields and libprotobuf's
// object are created on first access. A node must not be used by two threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>  // IWYU pragma: keep (mlcommons/chakra's header brings it in)
#include <vector>

#include "et_def.pb.h"

namespace Chakra {

struct FeederState;

class ETFeederNode {
 public:
  explicit ETFeederNode(std::shared_ptr<ChakraProtoMsg::Node> node);
  /// From a serialised ChakraProtoMsg::Node with a known `id`.
  ETFeederNode(uint64_t id, std::string message);
  ~ETFeederNode();
  ETFeederNode(const ETFeederNode&) = delete;
  ETFeederNode& operator=(const ETFeederNode&) = delete;

  std::shared_ptr<ChakraProtoMsg::Node> getChakraNode();

  void addChild(std::shared_ptr<ETFeederNode> node);
  /// For a node of a feeder: return the nodes of the file that wait for it, in file order,
  /// then added ones. Added nodes are not kept alive: a node without other owners is left out.
  std::vector<std::shared_ptr<ETFeederNode>> getChildren();

  // Missing fields are 0, false or "". Attributes may have any integer type.
  uint64_t id() { return id_; }
  std::string name();
  bool is_cpu_op();
  ChakraProtoMsg::NodeType type();
  uint64_t runtime();  ///< duration_micros
  uint64_t num_ops();
  uint32_t tensor_loc();
  uint64_t tensor_size();
  ChakraProtoMsg::CollectiveCommType comm_type();
  uint32_t comm_priority();
  uint64_t comm_size();
  uint32_t comm_src();
  uint32_t comm_dst();
  uint32_t comm_tag();
  std::string pg_name();

  /// Attributes without a function above. get_other_attr throws std::out_of_range if the attribute is missing.
  const ChakraProtoMsg::AttributeProto& get_other_attr(const std::string& attr_name) const;
  bool has_other_attr(const std::string& attr_name) const;

  std::string get_inputs_values() const;
  std::string get_inputs_shapes() const;
  std::string get_inputs_types() const;
  std::string get_outputs_values() const;
  std::string get_outputs_shapes() const;
  std::string get_outputs_types() const;

 private:
  struct Fields;
  const Fields& fields() const;
  ChakraProtoMsg::Node& parsed() const;
  const ChakraProtoMsg::AttributeProto* other_attr(const std::string& attr_name) const;

  uint64_t id_ = 0;
  std::string message_;
  mutable std::shared_ptr<ChakraProtoMsg::Node> node_;
  mutable std::unique_ptr<Fields> fields_;
  std::weak_ptr<FeederState> feeder_;  ///< of the node's file
  std::vector<std::weak_ptr<ETFeederNode>> children_;

  friend struct FeederState;
};

}  // namespace Chakra
