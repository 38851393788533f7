// chakra calibrate network
#include "chakra/calibrate/calibrate.h"
#include "chakra/cli/cli.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

struct CalibrateNetworkOptions {
  calibrate::NetworkOptions call;
  std::string output, json;
};

/// null where nothing was judged.
Json error_json(const calibrate::FitError& error) {
  if (error.points == 0) return nullptr;
  return {{"points", error.points}, {"error", error.mean}, {"worst", error.worst}};
}

Json to_json(const calibrate::FittedNetwork& fitted) {
  Json json{{"held_out", error_json(fitted.held_out)}};
  json["scale"] = error_json(fitted.scale);
  json["judged"] = error_json(fitted.judged);
  if (fitted.judged.points > 0) {
    json["judged"]["most_of_95"] = fitted.judged.most_of_95;
    json["judged"]["groups"] = result::to_json(fitted.judged_table);
  }
  Json& operations = json["operations"] = Json::array();
  for (const calibrate::FittedOperation& o : fitted.operations)
    operations.push_back({{"operation", o.fit.form->operation},
                          {"algorithm", o.fit.form->algorithm},
                          {"ranks", o.fit.ranks},
                          {"nodes", o.fit.across ? Json(o.fit.nodes) : Json(nullptr)},
                          {"from_bytes", o.fit.from_bytes},
                          {"to_bytes", o.fit.to_bytes},
                          {"held_out", error_json(o.held_out)}});
  json["parameters"] = result::to_json(fitted.table);
  json["findings"] = result::to_json(fitted.findings);
  return json;
}

Result<void> run_calibrate_network(const CalibrateNetworkOptions& o) {
  CHAKRA_ASSIGN(const calibrate::FittedNetwork fitted, calibrate::fit_network(o.call));
  CHAKRA_TRY(write_file(o.output, fitted.text));
  if (!o.json.empty()) CHAKRA_TRY(write_json(to_json(fitted), o.json));
  if (o.json != "-") print(view::to_text(fitted.report));
  print_error(view::to_text(fitted.findings));
  return {};
}

}  // namespace

Syntax calibrate_network_syntax() {
  auto o = std::make_shared<CalibrateNetworkOptions>();
  return {
      .options = {required({"--from", &o->call.files,
                            "Measured collectives: logs of nccl-tests and rccl-tests, tables (CSV); also packed",
                            "FILE"}),
                  required({"-o,--output", &o->output, "The network file to write", "FILE"}),
                  {"--judge", &o->call.judge,
                   "Other measurements, to which nothing is fitted: how far off is the fit there?", "FILE"},
                  {.names = "--where",
                   .target = &o->call.where,
                   .help = "Rows that count, of the tables that have the column, e.g. sku=h100_dgx; may be repeated",
                   .value = "COLUMN=VALUE",
                   .one_each = true},
                  {"--operation", &o->call.operation,
                   "Which collective the logs are of, where neither they nor their names say it", "NAME"},
                  {.names = "--npus",
                   .target = &o->call.npus,
                   .help = "Of the network to write: ranks, or GPUS,NODES; else as many as were measured",
                   .value = "N[,N]",
                   .accepted = whole_number(1, int64_t{1} << 24),
                   .one_each = true,
                   .delimiter = ','},
                  json_option(o->json)},
      .run = exits_with_zero([o] { return run_calibrate_network(*o); })};
}

}  // namespace chakra::cli
