#include "chakra/certify/certify.h"
#include "chakra/job/parts.h"

namespace chakra::certify {

using options::Options;
using options::required;
using options::whole_number;

Options rows_of(CertifyOptions& o) {
  return {required({"original", &o.original, "The job; with --check, a certificate (JSON)", "ORIGINAL"}),
          required({"shared", &o.shared, "The copy to share: a folder, or a job in any other form", "SHARED"}),
          {"-o,--output",
           &o.output,
           "Certificate to write: FILE.json, FILE.html, or a name for both",
           "FILE",
           {},
           "A certificate has no names, sizes or attributes of the original, and can be shared."},
          job::each_time({"--among",
                          &o.among,
                          "Jobs, or a folder of jobs, among which the copy must not stand out",
                          "JOB",
                          {},
                          "The attacks use these jobs as candidates. The original and the copy are left out."}),
          {"--level", &o.level, "Level that the copy claims (default: by the mark of 'chakra obfuscate')", "N",
           whole_number(0, 3), "1: names and ids; 2: also sizes; 3: also structure."},
          {"--examples", &o.examples, "Show nodes of both jobs; never part of the certificate"},
          {"--check", &o.check, "Compare a certificate with the copy, without the original"}};
}

}  // namespace chakra::certify
