// All rules in order, and the diagnosis as tables.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "chakra/analyze/analyze.h"
#include "chakra/analyze/cells.h"
#include "chakra/analyze/diagnosis_rules.h"
#include "chakra/analyze/rows.h"
#include "chakra/base/join.h"

namespace chakra::analyze {

using result::Table;
using Kind = Table::Kind;

int64_t DiagnosisNumbers::steps() const {
  int64_t most = 1;
  for (const Rank& r : ranks) most = std::max(most, r.steps);
  return most;
}

Picoseconds DiagnosisNumbers::whole() const {
  Picoseconds longest = 0;
  for (const Rank& r : ranks) longest = std::max(longest, r.total);
  return longest;
}

Beside beside_of(std::string group, int64_t members) {
  std::erase_if(group, [](unsigned char c) { return c >= '0' && c <= '9'; });
  return {std::move(group), members};
}

namespace {

/// "late_data_loader" as words.
std::string words_of(std::string_view kind) {
  std::string words(kind);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

}  // namespace

Diagnoses in_order(std::vector<Judged> judged) {
  Diagnoses out;
  for (Judged& rule : judged) {
    Diagnoses::Check& check = out.checks.emplace_back();
    check.kind = rule.kind;
    check.not_judged = std::move(rule.judgement.not_judged);
    for (Diagnosis& d : rule.judgement.diagnoses) {
      check.largest = std::max(check.largest, d.cost);
      check.share = std::max(check.share, d.share);
      if (d.share >= kLeastDiagnosedShare) out.rows.push_back(std::move(d));
    }
  }
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const Diagnosis& a, const Diagnosis& b) { return a.cost > b.cost; });
  if (!out.rows.empty()) return out;
  std::string seen, unseen;
  for (const Diagnoses::Check& check : out.checks) {
    std::string& list = check.not_judged.empty() ? seen : unseen;
    list += (list.empty() ? "" : ", ") + words_of(check.kind);
  }
  Diagnosis& none = out.rows.emplace_back(Diagnosis{"none", "", 0, 0, {"diagnosis_checks", 0}, {}});
  none.sentence = seen.empty() ? "No kind of problem can be judged."
                               : fmt::format("None of these problems costs {} of the time or more: {}.",
                                             show_percent(kLeastDiagnosedShare), seen);
  if (!seen.empty() && !unseen.empty()) none.sentence += fmt::format(" These cannot be judged here: {}.", unseen);
  return out;
}

Diagnoses diagnose(const DiagnosisNumbers& numbers) {
  std::vector<Judged> judged;
  Taken taken;
  for (const DiagnosisRule& rule : kDiagnosisRules) judged.push_back({rule.kind, rule.judge(numbers, taken)});
  Diagnoses out = in_order(std::move(judged));
  if (out.rows[0].kind == "none") add_exposed(numbers, out.rows[0]);
  return out;
}

Result<std::vector<NamedTable>> run_analysis(const Job& job, const AnalysisRow& row, Findings& findings) {
  const auto made = job.made->find(row.name);
  if (made == job.made->end()) return row.run(job, findings);
  std::vector<NamedTable> tables = std::move(made->second);
  job.made->erase(made);
  return tables;
}

Result<DiagnosisNumbers> diagnosis_numbers(const Job& job, Findings& findings) {
  std::vector<NamedTable> sources;
  for (const AnalysisRow& row : kAnalyses) {
    if (std::find(kDiagnosisSources.begin(), kDiagnosisSources.end(), row.name) == kDiagnosisSources.end()) continue;
    if (!job.made->contains(row.name)) {
      CHAKRA_ASSIGN((*job.made)[row.name], row.run(job, findings));
    }
    const std::vector<NamedTable>& some = job.made->at(row.name);
    sources.insert(sources.end(), some.begin(), some.end());
  }
  DiagnosisNumbers numbers = numbers_of(sources);
  for (const match::Group& group : job.matching.groups) numbers.groups[group_name(group.name)] = group.ranks;
  return numbers;
}

std::vector<NamedTable> diagnosis_tables(const Diagnoses& found) {
  Table rows{"Diagnosis: where the time goes",
             {{"kind", Kind::text, "kind", "kind of problem; none: no problem costs 3 %"},
              {"place", Kind::text, "place", "rank, link or group"},
              {"cost", Kind::time_ps, "cost_ps", "time that the problem costs: in a step, or in a simulated run"},
              {"share", Kind::share, "share", "share of the step, or of the run"},
              {"evidence", Kind::text, "evidence", "table of this answer with the evidence"},
              {"row", Kind::id, "row", "row of that table, from 0"},
              {"could be", Kind::text, "could_be", "kinds that would look the same in this recording, or empty"},
              {"sentence", Kind::text, "sentence", "the problem, and how to save the time"}},
             {}};
  for (const Diagnosis& d : found.rows)
    rows.rows.push_back({std::string(d.kind), d.place, d.cost, d.share, std::string(d.evidence.table), d.evidence.row,
                         join(d.could_be, ", "), d.sentence});
  Table checks{"Diagnosis: what was judged",
               {{"kind", Kind::text, "kind", "kind of problem"},
                {"judged", Kind::text, "judged", "yes, or no where an input is missing"},
                {"largest", Kind::time_ps, "largest_ps", "largest cost in a step or run, even below 3 %"},
                {"share", Kind::share, "share", "share of the step, or of the run"},
                {"missing", Kind::text, "missing", "missing input"}},
               {}};
  for (const Diagnoses::Check& c : found.checks)
    checks.rows.push_back(
        {std::string(c.kind), std::string(c.not_judged.empty() ? "yes" : "no"), c.largest, c.share, c.not_judged});
  return {{"diagnosis", std::move(rows), true}, {"diagnosis_checks", std::move(checks), true}};
}

Result<std::vector<NamedTable>> diagnosis(const Job& job, Findings& findings) {
  CHAKRA_ASSIGN(const DiagnosisNumbers numbers, diagnosis_numbers(job, findings));
  return diagnosis_tables(diagnose(numbers));
}

}  // namespace chakra::analyze
