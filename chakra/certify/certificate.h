// Certificates as files: writing, reading, and the comparison with a copy. Inside certify.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/certify/certify.h"
#include "chakra/job/parts.h"

namespace chakra::certify {

/// The attributes of synth::Attributes, in the order of certificates.
inline constexpr std::array<std::string_view, 4> kAttributes{"width", "layers", "stages", "experts"};
inline std::array<int64_t, kAttributes.size()> values_of(const synth::Attributes& a) {
  return {a.width, a.layers, a.stages, a.experts};
}

/// What a certificate states that needs no original.
struct Certificate {
  int64_t level = 0, doubtful_texts = 0;
  std::map<std::string, CertifiedJob::File> files;  ///< by name
  std::array<int64_t, kAttributes.size()> guess{};
};
/// Read a certificate. Errors: job.certify.form, base.spec.large. Cost: O(bytes).
Result<Certificate> parse_certificate(std::string_view bytes, const std::string& path);

/// Return the traces of a job: of ranks, or of classes.
std::span<const trace::Trace> traces_of(const job::Loaded& loaded);
/// Return the level that a copy is marked with; 0: none.
int64_t marked_level(const job::Loaded& copy);

}  // namespace chakra::certify
