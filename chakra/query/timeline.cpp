// The slices of a timeline.
#include "chakra/query/column.h"
#include "chakra/query/tables.h"

namespace chakra::query {
namespace {

using result::Timeline;

struct Slices {
  std::shared_ptr<const Timeline> timeline;
  StringPool texts;
  std::vector<StringId> words = {};   ///< by id in Timeline::strings
  std::vector<StringId> tracks = {};  ///< names, by track

  const Timeline::Slice& slice(size_t row) const { return timeline->slices[row]; }
};

std::vector<TableColumn> slice_columns() {
  return {column<Slices>(
              "rank", kWhole, "id", "the rank",
              [](const Slices& t, size_t row) { return Cell::whole(t.timeline->tracks[t.slice(row).track].rank); }),
          column<Slices>("track", kText, "", "row of the timeline, such as a thread or a stream",
                         [](const Slices& t, size_t row) { return Cell::text(t.tracks[t.slice(row).track]); }),
          column<Slices>("name", kText, "", "name of the operation",
                         [](const Slices& t, size_t row) { return Cell::text(t.words[t.slice(row).name]); }),
          column<Slices>("category", kText, "", "kind of the operation",
                         [](const Slices& t, size_t row) { return Cell::text(t.words[t.slice(row).category]); }),
          column<Slices>("id", kWhole, "id", "id of the node in the trace of the rank",
                         [](const Slices& t, size_t row) { return Cell::whole(t.slice(row).node); }),
          column<Slices>("start_ps", kWhole, "ps", "start, from the zero of the timeline",
                         [](const Slices& t, size_t row) { return Cell::whole(t.slice(row).start_ps); }),
          column<Slices>("end_ps", kWhole, "ps", "end, from the zero of the timeline",
                         [](const Slices& t, size_t row) { return Cell::whole(t.slice(row).end_ps); })};
}

}  // namespace

void add_timeline(Tables& to, std::string name, std::string meaning, MakeTimeline make) {
  const auto load = [make = std::move(make)](sqlite::Table& is) -> Result<void> {
    auto slices = std::make_shared<Slices>();
    CHAKRA_ASSIGN(slices->timeline, make());
    const Timeline& t = *slices->timeline;
    for (size_t s = 0; s < t.strings.size(); ++s)
      slices->words.push_back(slices->texts.intern(t.strings[static_cast<StringId>(s)]));
    for (const Timeline::Track& track : t.tracks) slices->tracks.push_back(slices->texts.intern(track.name));
    is.texts = &slices->texts;
    is.parts = {{0, t.slices.size(), slices.get()}};
    is.owner = slices;
    return {};
  };
  to.all.push_back({std::move(name), std::move(meaning), slice_columns(), false, load});
}

}  // namespace chakra::query
