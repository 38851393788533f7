#include "chakra/xla/opcodes.h"

#include "chakra/base/text_map.h"

namespace chakra::xla {
namespace {

using trace::CommType;

constexpr OpcodeRow value(std::string_view name) { return {name, Kind::value, Flops::none, Bytes::none}; }
constexpr OpcodeRow moves(std::string_view name, Bytes bytes = Bytes::all) {
  return {name, Kind::work, Flops::none, bytes};
}
constexpr OpcodeRow elements(std::string_view name) { return {name, Kind::work, Flops::elements}; }
/// XLA counts transcendental functions separately, not as FLOPs.
constexpr OpcodeRow function(std::string_view name) { return {name, Kind::work, Flops::none}; }
constexpr OpcodeRow work(std::string_view name, Flops flops, Bytes bytes = Bytes::all) {
  return {name, Kind::work, flops, bytes};
}
constexpr OpcodeRow collective(std::string_view name, CommType type, Flops flops = Flops::none) {
  return {name, Kind::collective, flops, Bytes::all, type};
}
constexpr OpcodeRow control(std::string_view name, Kind kind, Flops flops = Flops::none, Bytes bytes = Bytes::none) {
  return {name, kind, flops, bytes};
}

constexpr OpcodeRow kRows[] = {
    // values
    value("parameter"),
    value("constant"),
    value("get-tuple-element"),
    value("tuple"),
    value("bitcast"),
    value("after-all"),
    value("add-dependency"),
    value("opt-barrier"),
    value("domain"),
    value("partition-id"),
    value("replica-id"),
    value("get-dimension-size"),
    value("set-dimension-size"),
    // one FLOP per element
    elements("abs"),
    elements("add"),
    elements("and"),
    elements("ceil"),
    elements("clamp"),
    elements("clz"),
    elements("compare"),
    elements("complex"),
    elements("convert"),
    elements("stochastic-convert"),
    elements("divide"),
    elements("floor"),
    elements("imag"),
    elements("is-finite"),
    elements("maximum"),
    elements("minimum"),
    elements("multiply"),
    elements("negate"),
    elements("not"),
    elements("or"),
    elements("popcnt"),
    elements("real"),
    elements("reduce-precision"),
    elements("remainder"),
    elements("round-nearest-afz"),
    elements("round-nearest-even"),
    elements("select"),
    elements("shift-left"),
    elements("shift-right-arithmetic"),
    elements("shift-right-logical"),
    elements("sign"),
    elements("subtract"),
    elements("xor"),
    elements("bitcast-convert"),
    // transcendental functions
    function("acos"),
    function("acosh"),
    function("asin"),
    function("asinh"),
    function("atan2"),
    function("atanh"),
    function("cbrt"),
    function("cosh"),
    function("cosine"),
    function("erf"),
    function("exponential"),
    function("exponential-minus-one"),
    function("log"),
    function("log-plus-one"),
    function("logistic"),
    function("power"),
    function("rsqrt"),
    function("sine"),
    function("sinh"),
    function("sqrt"),
    function("tan"),
    function("tanh"),
    function("rng"),
    function("rng-bit-generator"),
    function("rng-get-and-update-state"),
    // other computation
    work("dot", Flops::dot),
    work("ragged-dot", Flops::dot),
    work("scaled-dot", Flops::dot),
    work("convolution", Flops::convolution),
    work("reduce", Flops::reduce),
    work("reduce-window", Flops::window),
    work("select-and-scatter", Flops::select_scatter),
    work("scatter", Flops::scatter, Bytes::scatter),
    work("map", Flops::map),
    work("fft", Flops::fft),
    work("triangular-solve", Flops::triangular_solve),
    work("cholesky", Flops::cholesky),
    work("sort", Flops::sort),
    work("topk", Flops::none),
    work("fusion", Flops::called, Bytes::called),
    work("custom-call", Flops::library),
    work("scan", Flops::called),
    // moves
    moves("batch-norm-grad"),
    moves("batch-norm-inference"),
    moves("batch-norm-training"),
    moves("broadcast"),
    moves("concatenate"),
    moves("copy"),
    moves("copy-start"),
    moves("dynamic-reshape"),
    moves("dynamic-slice", Bytes::slice),
    moves("dynamic-update-slice", Bytes::update),
    moves("gather", Bytes::slice),
    moves("infeed"),
    moves("iota"),
    moves("outfeed"),
    moves("pad"),
    moves("reshape"),
    moves("reverse"),
    moves("slice", Bytes::slice),
    moves("transpose"),
    // control
    control("call", Kind::call, Flops::called, Bytes::called),
    control("while", Kind::loop, Flops::called, Bytes::called),
    control("conditional", Kind::conditional, Flops::called, Bytes::called),
    control("async-start", Kind::wrapped, Flops::called, Bytes::called),
    control("async-update", Kind::done),
    control("async-done", Kind::done),
    control("copy-done", Kind::done),
    control("all-gather-done", Kind::done),
    control("all-reduce-done", Kind::done),
    control("collective-permute-done", Kind::done),
    control("send-done", Kind::done),
    control("recv-done", Kind::done),
    // communication
    collective("all-gather", CommType::all_gather),
    collective("all-gather-start", CommType::all_gather),
    collective("all-reduce", CommType::all_reduce, Flops::parts),
    collective("all-reduce-start", CommType::all_reduce, Flops::parts),
    collective("reduce-scatter", CommType::reduce_scatter),
    collective("all-to-all", CommType::all_to_all),
    collective("ragged-all-to-all", CommType::all_to_all),
    collective("collective-broadcast", CommType::broadcast),
    control("collective-permute", Kind::permute, Flops::none, Bytes::all),
    control("collective-permute-start", Kind::permute, Flops::none, Bytes::all),
    control("send", Kind::send, Flops::none, Bytes::all),
    control("recv", Kind::recv, Flops::none, Bytes::all),
};

}  // namespace

constinit const std::span<const OpcodeRow> kOpcodes = kRows;

const OpcodeRow* find_opcode(std::string_view name) {
  static const TextMap<const OpcodeRow*> rows = [] {
    TextMap<const OpcodeRow*> all;
    for (const OpcodeRow& row : kRows) all.emplace(row.name, &row);
    return all;
  }();
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace chakra::xla
