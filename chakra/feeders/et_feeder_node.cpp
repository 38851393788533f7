#include <array>
#include <stdexcept>

#include "chakra/feeders/feeder_state.h"
#include "chakra/feeders/feeders.h"
#include "chakra/io/io.h"

namespace Chakra {
namespace {

enum class Known : uint8_t {
  is_cpu_op,
  num_ops,
  tensor_loc,
  tensor_size,
  comm_type,
  comm_priority,
  comm_size,
  comm_src,
  comm_dst,
  comm_tag,
  pg_name,
  none
};
constexpr std::array<std::string_view, 11> kKnown{"is_cpu_op", "num_ops",       "tensor_loc", "tensor_size",
                                                  "comm_type", "comm_priority", "comm_size",  "comm_src",
                                                  "comm_dst",  "comm_tag",      "pg_name"};
Known known(std::string_view name) {
  size_t i = 0;
  while (i < kKnown.size() && kKnown[i] != name) ++i;
  return static_cast<Known>(i);
}

}  // namespace

struct ETFeederNode::Fields {
  std::string name, pg_name;
  uint64_t type = 0, runtime = 0;
  std::array<uint64_t, kKnown.size()> numbers{};  ///< by Known; of pg_name unused
  std::array<std::string, 6> io;                  ///< inputs and outputs: values, shapes, types

  uint64_t operator[](Known which) const { return numbers[static_cast<size_t>(which)]; }
};

ETFeederNode::ETFeederNode(std::shared_ptr<ChakraProtoMsg::Node> node)
    : id_(node->id()), message_(node->SerializeAsString()), node_(std::move(node)) {}
ETFeederNode::ETFeederNode(uint64_t id, std::string message) : id_(id), message_(std::move(message)) {}
ETFeederNode::~ETFeederNode() = default;

ChakraProtoMsg::Node& ETFeederNode::parsed() const {
  if (!node_) {
    auto node = std::make_shared<ChakraProtoMsg::Node>();
    if (!node->ParseFromString(message_))
      throw std::runtime_error("node " + std::to_string(id_) +
                               " is not a message of the Chakra schema [io.et.damaged]");
    node_ = std::move(node);
  }
  return *node_;
}
std::shared_ptr<ChakraProtoMsg::Node> ETFeederNode::getChakraNode() { return parsed(), node_; }

const ETFeederNode::Fields& ETFeederNode::fields() const {
  if (fields_) return *fields_;
  chakra::io::NodeRecord record;
  if (auto read = chakra::io::decode(message_, record); !read) throw std::runtime_error(read.error().message());
  auto fields = std::make_unique<Fields>();
  fields->name = record.name;
  fields->type = record.type;
  fields->runtime = record.duration_micros;
  const auto& in = record.inputs;
  const auto& out = record.outputs;
  const std::array<std::string_view, 6> io{in.values, in.shapes, in.types, out.values, out.shapes, out.types};
  for (size_t i = 0; i < io.size(); ++i) fields->io[i] = io[i];
  for (const chakra::io::AttrRecord& attr : record.attrs) {
    const Known which = known(attr.name);
    if (which == Known::none) continue;
    int64_t integer = 0;
    uint64_t& number = fields->numbers[static_cast<size_t>(which)];
    if (which == Known::pg_name) {
      if (attr.field == 29 || attr.field == 31) fields->pg_name = attr.bytes;
      else if (attr.as_integer(integer)) fields->pg_name = std::to_string(integer);
    } else if (!attr.as_natural(number) && attr.as_integer(integer)) {
      number = static_cast<uint64_t>(integer);
    }
  }
  fields_ = std::move(fields);
  return *fields_;
}

void ETFeederNode::addChild(std::shared_ptr<ETFeederNode> node) { children_.push_back(node); }
std::vector<std::shared_ptr<ETFeederNode>> ETFeederNode::getChildren() {
  std::vector<std::shared_ptr<ETFeederNode>> children;
  if (const auto feeder = feeder_.lock()) children = feeder->children(id_);
  for (const auto& child : children_)
    if (auto alive = child.lock()) children.push_back(std::move(alive));
  return children;
}

std::string ETFeederNode::name() { return fields().name; }
bool ETFeederNode::is_cpu_op() { return fields()[Known::is_cpu_op] != 0; }
ChakraProtoMsg::NodeType ETFeederNode::type() { return static_cast<ChakraProtoMsg::NodeType>(fields().type); }
uint64_t ETFeederNode::runtime() { return fields().runtime; }
uint64_t ETFeederNode::num_ops() { return fields()[Known::num_ops]; }
uint32_t ETFeederNode::tensor_loc() { return static_cast<uint32_t>(fields()[Known::tensor_loc]); }
uint64_t ETFeederNode::tensor_size() { return fields()[Known::tensor_size]; }
ChakraProtoMsg::CollectiveCommType ETFeederNode::comm_type() {
  return static_cast<ChakraProtoMsg::CollectiveCommType>(fields()[Known::comm_type]);
}
uint32_t ETFeederNode::comm_priority() { return static_cast<uint32_t>(fields()[Known::comm_priority]); }
uint64_t ETFeederNode::comm_size() { return fields()[Known::comm_size]; }
uint32_t ETFeederNode::comm_src() { return static_cast<uint32_t>(fields()[Known::comm_src]); }
uint32_t ETFeederNode::comm_dst() { return static_cast<uint32_t>(fields()[Known::comm_dst]); }
uint32_t ETFeederNode::comm_tag() { return static_cast<uint32_t>(fields()[Known::comm_tag]); }
std::string ETFeederNode::pg_name() { return fields().pg_name; }

const ChakraProtoMsg::AttributeProto* ETFeederNode::other_attr(const std::string& attr_name) const {
  const ChakraProtoMsg::AttributeProto* found = nullptr;
  if (known(attr_name) == Known::none)
    for (const ChakraProtoMsg::AttributeProto& attr : parsed().attr())
      if (attr.name() == attr_name) found = &attr;  // the last, as in a map
  return found;
}
const ChakraProtoMsg::AttributeProto& ETFeederNode::get_other_attr(const std::string& attr_name) const {
  const auto* attr = other_attr(attr_name);
  if (!attr) throw std::out_of_range("node " + std::to_string(id_) + " has no attribute " + attr_name);
  return *attr;
}
bool ETFeederNode::has_other_attr(const std::string& attr_name) const { return other_attr(attr_name) != nullptr; }

std::string ETFeederNode::get_inputs_values() const { return fields().io[0]; }
std::string ETFeederNode::get_inputs_shapes() const { return fields().io[1]; }
std::string ETFeederNode::get_inputs_types() const { return fields().io[2]; }
std::string ETFeederNode::get_outputs_values() const { return fields().io[3]; }
std::string ETFeederNode::get_outputs_shapes() const { return fields().io[4]; }
std::string ETFeederNode::get_outputs_types() const { return fields().io[5]; }

}  // namespace Chakra
