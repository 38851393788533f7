// The fields that few instructions have. Inside the room; functions throw protozero::exception.
#pragma once

#include <protozero/pbf_reader.hpp>

#include "chakra/xla/program.h"

namespace chakra::xla {

/// Append the numbers of a repeated field to the numbers of the program.
Range numbers_of(protozero::pbf_reader& reader, Program& program);
/// Return the detail of an instruction, made where it is missing. The reference is valid until the next call.
Detail& detail_of(Instruction& instruction, Program& program);
/// Read the field at the reader into the detail of an instruction; other fields are skipped, and unknown ones counted.
void read_detail(protozero::pbf_reader& reader, Instruction& instruction, Program& program);
/// Return the number of iterations in the configuration of a loop, {"known_trip_count":{"n":"4"},...}; -1: unknown.
int64_t trip_count(std::string_view config);

}  // namespace chakra::xla
