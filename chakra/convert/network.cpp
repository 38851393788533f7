#include "chakra/convert/network.h"

#include "chakra/net/net.h"

namespace chakra::convert {
namespace {

constexpr std::string_view kInfraGraphForm = "infragraph", kGraphForm = "network";

}  // namespace

bool is_network_form(std::string_view form) { return form == kInfraGraphForm || form == kGraphForm; }

Result<int64_t> convert_network(const std::string& input, const std::string& form, const std::string& output,
                                Findings& findings) {
  CHAKRA_ASSIGN(const net::Fabric fabric, net::load_fabric(input, &findings));
  CHAKRA_ASSIGN(const std::string text,
                form == kGraphForm ? net::to_graph_file(fabric, findings) : net::to_infragraph_file(fabric, findings));
  CHAKRA_TRY(write_file(output, text));
  return fabric.size();
}

}  // namespace chakra::convert
