#include "chakra/view/pen.h"

namespace chakra::view {
namespace {

constexpr size_t kWrittenAtOnce = size_t{1} << 20;

}  // namespace

void append_xml(std::string& out, std::string_view text) {
  each_run(
      text, [&](std::string_view run) { out += run; },
      [&](char c) {
        switch (c) {
          case '&': out += "&amp;"; break;
          case '<': out += "&lt;"; break;
          case '>': out += "&gt;"; break;
          case '"': out += "&quot;"; break;
          case '\\':
          case '\n':
          case '\t': out += c; break;
          default: out += "\xef\xbf\xbd";
        }
      });
}

Result<void> Pen::flush(size_t above) {
  if (out_.size() <= above) return {};
  CHAKRA_TRY(write_(out_));
  out_.clear();
  return {};
}

void Pen::begin(std::string_view title) { words_.begin(out_, title); }

void Pen::cluster(std::string_view name) {
  if (!words_.frame) return;
  if (in_frame_) out_ += words_.frame_end;
  in_frame_ = !name.empty();
  if (in_frame_) words_.frame(out_, name, frames_++);
}

Result<void> Pen::box(const Box& box) {
  words_.box(out_, box);
  return flush(kWrittenAtOnce);
}

Result<void> Pen::data(const Arrow& arrow) {
  words_.arrow(out_, arrow, false);
  return flush(kWrittenAtOnce);
}

Result<void> Pen::control(const Arrow& arrow) {
  if (!std::exchange(in_control_, true)) out_ += words_.controls;
  words_.arrow(out_, arrow, true);
  return flush(kWrittenAtOnce);
}

Result<void> Pen::end() {
  out_ += words_.end;
  return flush(0);
}

}  // namespace chakra::view
