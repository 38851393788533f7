// Parts of the steps of the device, each in a separate file.
#pragma once

#include "chakra/link/linking.h"

namespace chakra::link {

/// Join communication kernels without a correlation with launches without an operation, in the order of each
/// stream (launch_by_order.cpp); fills DeviceOrder::call_of_op. Finding: pytorch.device.by_order. Requires
/// Threads::enclosing_op and DeviceOrder::comm_kernel. Cost: O(operations log operations).
void join_by_order(Linking& l);

/// Add the items of communication with missing kernels, and their dependencies (lost_comms.cpp).
void add_lost_comms(Linking& l);

}  // namespace chakra::link
