#include "chakra/recording/vendors.h"

#include <gtest/gtest.h>

#include <string>

namespace chakra::recording {
namespace {

/// The first row of a kind that a name fits decides, so a row behind another one that always fits would be dead.
template <class Rows, class KindOf>
void expect_rows_alive(const Rows& rows, const KindOf& kind_of) {
  for (const auto& row : rows) EXPECT_EQ(kind_of(std::string(row.part).append(row.with)), row.kind) << row.part;
}

TEST(Vendors, EveryRowDecidesForItsName) {
  expect_rows_alive(kCallNames, call_kind);
  expect_rows_alive(kCopyNames, copy_kind);
}

TEST(Vendors, NamesOfCalls) {
  EXPECT_EQ(call_kind("cudaDeviceSynchronize"), CallKind::device_sync);
  EXPECT_EQ(call_kind("hipStreamSynchronize"), CallKind::stream_sync);
  EXPECT_EQ(call_kind("zeEventHostSynchronize"), CallKind::event_sync);
  EXPECT_EQ(call_kind("urEnqueueEventsWait"), CallKind::other);
  EXPECT_EQ(call_kind("cudaFree"), CallKind::free);
  EXPECT_EQ(call_kind("cudaFreeAsync"), CallKind::other);
  EXPECT_EQ(call_kind("cudaMemcpyAsync"), CallKind::copy);
  EXPECT_EQ(call_kind("hipMemcpyWithStream"), CallKind::blocking_copy);
  EXPECT_EQ(call_kind("cudaLaunchKernel"), CallKind::other);
  EXPECT_TRUE(launches_graph("cudaGraphLaunch"));
  EXPECT_EQ(kVendors[vendor_of_call("hipLaunchKernel")].name, "AMD");
  EXPECT_EQ(vendor_of_call("cudaLaunchKernel"), kVendors.size() - 1);
}

TEST(Vendors, NamesOfCopies) {
  EXPECT_EQ(copy_kind("Memcpy DtoH (Device -> Pageable)"), CopyKind::pageable_to_host);
  EXPECT_EQ(copy_kind("Memcpy DtoH (Device -> Pinned)"), CopyKind::other);
  EXPECT_EQ(copy_kind("Memcpy HtoD (Pageable -> Device)"), CopyKind::pageable_to_device);
  EXPECT_EQ(copy_kind("Memcpy DtoD (Device -> Device)"), CopyKind::other);
}

TEST(Vendors, Backends) {
  ASSERT_NE(backend_of("gloo:all_reduce"), nullptr);
  EXPECT_TRUE(backend_of("gloo:all_reduce")->on_cpu);
  EXPECT_FALSE(backend_of("nccl:all_reduce")->on_cpu);
  EXPECT_EQ(backend_of("gloo"), nullptr);
  EXPECT_EQ(backend_of("aten::mm"), nullptr);
}

}  // namespace
}  // namespace chakra::recording
