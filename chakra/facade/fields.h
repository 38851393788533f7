// Rows for the members of each struct of chakra/options.h.
// MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "chakra/options.h"
#include "chakra/options/options.h"

namespace chakra::facade {

/// Keys of rows that are no members, such as "path", and the variables that get the values.
using Arguments = std::vector<std::pair<std::string_view, options::Option::Target>>;

// fields_of(): a row for each member, with the key of the row of the call. rows_of(): the rows of the command.
options::Options fields_of(LinkOptions&options), rows_of(LinkOptions&options, const Arguments&arguments);
options::Options fields_of(StepOptions&options), rows_of(StepOptions&options, const Arguments&arguments);
options::Options fields_of(ServeOptions&options), rows_of(ServeOptions&options, const Arguments&arguments);
options::Options fields_of(CasesOptions&options), rows_of(CasesOptions&options, const Arguments&arguments);
options::Options fields_of(BlueprintOptions&options), rows_of(BlueprintOptions&options, const Arguments&arguments);
options::Options fields_of(ImportOptions&options), rows_of(ImportOptions&options, const Arguments&arguments);
options::Options fields_of(EditOptions&options), rows_of(EditOptions&options, const Arguments&arguments);
options::Options fields_of(CheckOptions&options), rows_of(CheckOptions&options, const Arguments&arguments);
options::Options fields_of(SimulateOptions&options), rows_of(SimulateOptions&options, const Arguments&arguments);
options::Options fields_of(WhatIfOptions&options), rows_of(WhatIfOptions&options, const Arguments&arguments);
options::Options fields_of(AnalyzeOptions&options), rows_of(AnalyzeOptions&options, const Arguments&arguments);
options::Options fields_of(QueryOptions&options), rows_of(QueryOptions&options, const Arguments&arguments);
options::Options fields_of(ReportOptions&options), rows_of(ReportOptions&options, const Arguments&arguments);
options::Options fields_of(ViewOptions&options), rows_of(ViewOptions&options, const Arguments&arguments);
options::Options fields_of(RunOptions&options), rows_of(RunOptions&options, const Arguments&arguments);
options::Options fields_of(DiffOptions&options), rows_of(DiffOptions&options, const Arguments&arguments);
options::Options fields_of(WriteOptions&options), rows_of(WriteOptions&options, const Arguments&arguments);
options::Options fields_of(ConvertOptions&options), rows_of(ConvertOptions&options, const Arguments&arguments);
options::Options fields_of(PackOptions&options), rows_of(PackOptions&options, const Arguments&arguments);
options::Options fields_of(UnpackOptions&options), rows_of(UnpackOptions&options, const Arguments&arguments);
options::Options fields_of(SelectOptions&options), rows_of(SelectOptions&options, const Arguments&arguments);
options::Options fields_of(SweepOptions&options), rows_of(SweepOptions&options, const Arguments&arguments);
options::Options fields_of(FleetLinkOptions&options), rows_of(FleetLinkOptions&options, const Arguments&arguments);
options::Options fields_of(FleetAnalyzeOptions&options),
    rows_of(FleetAnalyzeOptions&options, const Arguments&arguments);
options::Options fields_of(FleetMergeOptions&options), rows_of(FleetMergeOptions&options, const Arguments&arguments);
options::Options fields_of(CertifyOptions&options), rows_of(CertifyOptions&options, const Arguments&arguments);
options::Options fields_of(ObfuscateOptions&options), rows_of(ObfuscateOptions&options, const Arguments&arguments);
options::Options fields_of(DoctorOptions&options), rows_of(DoctorOptions&options, const Arguments&arguments);
options::Options fields_of(CalibrateDeviceOptions&options),
    rows_of(CalibrateDeviceOptions&options, const Arguments&arguments);
options::Options fields_of(CalibrateNetworkOptions&options),
    rows_of(CalibrateNetworkOptions&options, const Arguments&arguments);

}  // namespace chakra::facade
