// A node of FeederV3: attributes by name and type. The feeder must
// outlive its nodes. A node must not be used by two threads at once.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "chakra/feeders/include/feeder_v3/common.h"

namespace Chakra {
namespace FeederV3 {

class ETFeeder;

class ETFeederNode {
 public:
  ETFeederNode(ETFeeder& feeder, NodeId node_id) : feeder_(&feeder), node_id_(node_id) {}

  // Attributes by name; if several have the name, the first. If the attribute is missing, the first form throws
  // std::runtime_error and the second returns false. The pointer of the second form is valid as long as this node.
  bool has_attr(const std::string& attr_name) const;
  ChakraAttr get_attr_msg(const std::string& attr_name) const;
  bool get_attr_msg(const std::string& attr_name, const ChakraAttr** attr) const;
  ChakraAttr::ValueCase get_attr_type(const ChakraAttr& attr) const { return attr.value_case(); }

  /// Convert to T: any integer or bool to an integer, any number to a floating-point number; `strict_type`:
  /// type T only. Throws std::bad_cast for another type, std::invalid_argument for a list or no value.
  template <typename T>
  T get_attr(const ChakraAttr& attr, bool strict_type = DEFAULT_STRICT_TYPING) const;
  template <typename T>
  T get_attr(const std::string& attr_name, const T& default_value) const {
    const ChakraAttr* attr = nullptr;
    return get_attr_msg(attr_name, &attr) ? get_attr<T>(*attr) : default_value;
  }
  /// Throws std::runtime_error if the attribute is missing.
  template <typename T>
  T get_attr(const std::string& attr_name) const {
    return get_attr<T>(get_attr_msg(attr_name));
  }

  // node->comm_size<uint64_t>(), node->pg_name<std::string>("0"): as get_attr.
#define CHAKRA_FEEDER_ATTR(name)              \
  template <typename T>                       \
  T name() const {                            \
    return get_attr<T>(#name);                \
  }                                           \
  template <typename T>                       \
  T name(const T& default_value) const {      \
    return get_attr<T>(#name, default_value); \
  }
  // The same, with a default.
#define CHAKRA_FEEDER_ATTR_OR_ZERO(name)      \
  template <typename T>                       \
  T name() const {                            \
    return get_attr<T>(#name, T{});           \
  }                                           \
  template <typename T>                       \
  T name(const T& default_value) const {      \
    return get_attr<T>(#name, default_value); \
  }
  CHAKRA_FEEDER_ATTR_OR_ZERO(is_cpu_op)
  CHAKRA_FEEDER_ATTR_OR_ZERO(tensor_loc)
  CHAKRA_FEEDER_ATTR_OR_ZERO(comm_priority)
  CHAKRA_FEEDER_ATTR(num_ops)
  CHAKRA_FEEDER_ATTR(tensor_size)
  CHAKRA_FEEDER_ATTR(comm_type)
  CHAKRA_FEEDER_ATTR(comm_size)
  CHAKRA_FEEDER_ATTR(comm_src)
  CHAKRA_FEEDER_ATTR(comm_dst)
  CHAKRA_FEEDER_ATTR(comm_tag)
  CHAKRA_FEEDER_ATTR(pg_name)
#undef CHAKRA_FEEDER_ATTR
#undef CHAKRA_FEEDER_ATTR_OR_ZERO

  // Throw std::runtime_error for a node that is not in the file.
  NodeId id() const;
  std::string name() const;
  ChakraProtoMsg::NodeType type() const;
  uint64_t runtime() const;  ///< duration_micros

  bool is_cpu_op() const { return is_cpu_op<bool>(); }
  uint64_t num_ops() const { return num_ops<uint64_t>(); }
  uint32_t tensor_loc() const { return tensor_loc<uint32_t>(); }
  uint64_t tensor_size() const { return tensor_size<uint64_t>(); }
  ChakraProtoMsg::CollectiveCommType comm_type() const {
    return static_cast<ChakraProtoMsg::CollectiveCommType>(comm_type<uint64_t>());
  }
  uint32_t comm_priority() const { return comm_priority<uint32_t>(); }
  uint64_t comm_size() const { return comm_size<uint64_t>(); }
  uint32_t comm_src() const { return comm_src<uint32_t>(); }
  uint32_t comm_dst() const { return comm_dst<uint32_t>(); }
  uint32_t comm_tag() const { return comm_tag<uint32_t>(); }

  std::string get_inputs_values(const std::string& default_value = "") const;
  std::string get_inputs_shapes(const std::string& default_value = "") const;
  std::string get_inputs_types(const std::string& default_value = "") const;
  std::string get_outputs_values(const std::string& default_value = "") const;
  std::string get_outputs_shapes(const std::string& default_value = "") const;
  std::string get_outputs_types(const std::string& default_value = "") const;

 private:
  const ChakraNode& message() const;

  ETFeeder* feeder_;
  NodeId node_id_;
  mutable std::shared_ptr<const ChakraNode> message_;
};

template <typename T, typename From>
T attr_as(const From& value, bool strict) {
  constexpr bool number = std::is_arithmetic_v<T> && std::is_arithmetic_v<From>;
  if constexpr (std::is_same_v<T, From>) return value;
  else if constexpr (number && (std::is_integral_v<From> || std::is_floating_point_v<T>)) {
    if (!strict) return static_cast<T>(value);
  }
  throw std::bad_cast();
}

template <typename T>
T ETFeederNode::get_attr(const ChakraAttr& attr, bool strict_type) const {
  if constexpr (std::is_same_v<T, ChakraAttr>) {
    return attr;
  } else {
    switch (attr.value_case()) {
      case ChakraAttr::kDoubleVal: return attr_as<T>(attr.double_val(), strict_type);
      case ChakraAttr::kFloatVal: return attr_as<T>(attr.float_val(), strict_type);
      case ChakraAttr::kInt32Val: return attr_as<T>(attr.int32_val(), strict_type);
      case ChakraAttr::kInt64Val: return attr_as<T>(attr.int64_val(), strict_type);
      case ChakraAttr::kUint32Val: return attr_as<T>(attr.uint32_val(), strict_type);
      case ChakraAttr::kUint64Val: return attr_as<T>(attr.uint64_val(), strict_type);
      case ChakraAttr::kSint32Val: return attr_as<T>(attr.sint32_val(), strict_type);
      case ChakraAttr::kSint64Val: return attr_as<T>(attr.sint64_val(), strict_type);
      case ChakraAttr::kFixed32Val: return attr_as<T>(attr.fixed32_val(), strict_type);
      case ChakraAttr::kFixed64Val: return attr_as<T>(attr.fixed64_val(), strict_type);
      case ChakraAttr::kSfixed32Val: return attr_as<T>(attr.sfixed32_val(), strict_type);
      case ChakraAttr::kSfixed64Val: return attr_as<T>(attr.sfixed64_val(), strict_type);
      case ChakraAttr::kBoolVal: return attr_as<T>(attr.bool_val(), strict_type);
      case ChakraAttr::kStringVal: return attr_as<T>(attr.string_val(), strict_type);
      case ChakraAttr::kBytesVal: return attr_as<T>(attr.bytes_val(), strict_type);
      default:
        throw std::invalid_argument("attribute " + attr.name() + " of node " + std::to_string(node_id_) +
                                    " is a list or has no value; read it with get_attr_msg");
    }
  }
}

}  // namespace FeederV3
using ETFeederNode = FeederV3::ETFeederNode;
}  // namespace Chakra
