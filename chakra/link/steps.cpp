#include "chakra/link/steps.h"

#include <type_traits>

namespace chakra::link {
namespace {

/// Most steps cannot fail.
template <auto function>
Result<void> run(Linking& l) {
  if constexpr (std::is_void_v<decltype(function(l))>) return function(l), Result<void>();
  else return function(l);
}

using enum Part;

constexpr Step kOfProfile[] = {
    {"keep the steps that are asked for", {records}, {scope}, run<keep_steps>},
    {"match operators", {records, scope}, {matches, scope}, run<match_host_ops>},
    {"set the zero of times", {records}, {zero}, run<set_zero>},
    {"find communication on CPU threads", {records, matches, zero}, {host_comms}, run<find_host_comms>},
    {"attach device operations",
     {records, zero, host_comms},
     {threads, launches, streams, comm_kernels},
     run<attach_device_ops>},
    {"report missing records", {records, matches, threads, launches}, {report}, run<report_loss>},
    {"ask the callers of communication kernels",
     {records, matches, threads, launches, comm_kernels},
     {comm_records},
     run<ask_callers>},
    {"find the groups of communication on CPU threads",
     {records, matches, host_comms, threads},
     {groups},
     run<find_comm_groups>},
    {"derive work", {records, matches, host_comms, threads, launches, comm_kernels}, {work}, run<derive_work>},
    {"find coalesced messages", {records, matches, threads, launches, comm_kernels}, {messages}, run<find_messages>},
    {"find communication without kernels",
     {records, matches, host_comms, threads, launches, comm_kernels, messages},
     {messages},
     run<find_lost_comms>},
    {"find waits", {records, zero, threads, launches, streams}, {waits}, run<find_waits>},
    {"estimate the constants of devices",
     {records, scope, zero, launches, streams, waits},
     {constants},
     run<estimate_constants>},
    {"build the chains of threads", {records, host_comms, threads, waits, constants}, {chains}, run<build_chains>},
    {"find threads that spin", {records, threads, launches, waits, chains}, {spins, chains}, run<find_host_spins>},
    {"add the edges of devices",
     {records, threads, launches, streams, comm_kernels, messages, waits, constants, chains, spins},
     {device_items},
     run<add_device_edges>},
    {"find waits for communication on CPU threads",
     {records, matches, host_comms, threads, chains},
     {comm_deps, chains},
     run<find_comm_waits>},
    {"find waits between threads",
     {records, host_comms, launches, streams, chains, device_items},
     {host_deps, chains},
     run<find_host_waits>},
};

constexpr Step kOfHostTrace[] = {
    {"find communication on CPU threads", {records}, {host_comms}, run<find_host_comms>},
    {"find the groups of communication on CPU threads", {records, host_comms}, {groups}, run<find_comm_groups>},
    {"chain the operators", {records, host_comms}, {matches, chains, host_deps}, run<chain_host_ops>},
    {"report missing records", {records}, {report}, run<report_loss>},
    {"derive work", {records}, {work}, run<derive_host_work>},
};

static_assert(first_too_early(kOfProfile).empty());
static_assert(first_too_early(kOfHostTrace).empty());
static_assert(all_filled(kOfProfile).contains(kEndParts));
static_assert(all_filled(kOfHostTrace).contains(kEndParts));

}  // namespace

const std::span<const Step> kSteps = kOfProfile, kHostSteps = kOfHostTrace;

}  // namespace chakra::link
