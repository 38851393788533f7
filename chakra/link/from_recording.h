// The names that this room uses from the room recording.
#pragma once

#include "chakra/recording/recording.h"

namespace chakra::link {

using recording::after_colon;
using recording::Argument;
using recording::Arguments;
using recording::ArgumentTexts;
using recording::call_kind;
using recording::CallKind;
using recording::calls;
using recording::comm_kernel;
using recording::comm_kind;
using recording::CommCall;
using recording::CommCallRow;
using recording::CommKernelRow;
using recording::CommKind;
using recording::CommRecord;
using recording::copy_kind;
using recording::CopyKind;
using recording::Count;
using recording::CpuOp;
using recording::DeviceNames;
using recording::DeviceOp;
using recording::element_bytes;
using recording::element_type;
using recording::element_type_of_kernel;
using recording::ElementType;
using recording::find_comm_call;
using recording::function_name;
using recording::HostOp;
using recording::HostTrace;
using recording::is_comm_caller;
using recording::is_comm_record;
using recording::is_comm_wait;
using recording::is_device_comm;
using recording::is_host_comm;
using recording::is_launch;
using recording::kCommKernels;
using recording::kShapesUnused;
using recording::kVendors;
using recording::launches_graph;
using recording::list_items;
using recording::number_of;
using recording::ops_by_id;
using recording::parse_arguments;
using recording::parse_ranks;
using recording::parse_tensors;
using recording::plain_dtype;
using recording::Profile;
using recording::RankInput;
using recording::read_comm_call;
using recording::read_comm_record;
using recording::read_recording;
using recording::Record;
using recording::RecordedShapes;
using recording::Recording;
using recording::RuntimeCall;
using recording::SyncRecord;
using recording::TensorRef;
using recording::TensorShape;
using recording::Wanted;

}  // namespace chakra::link
