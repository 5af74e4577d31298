// SPDX-License-Identifier: Apache-2.0
#include "data/splits/divided_text.hpp"

#include <algorithm>
#include <utility>

#include "data/text/read_progress.hpp"

namespace lockstep::data {
namespace {

// Cuts a chunk where the split changes.
class Cutter {
public:
    explicit Cutter(TextChunk& text) : text_(text), line_(text.first_line) {}

    void cut(std::size_t end, SplitPart part) {
        if (end == begin_) return;
        TextChunk piece;
        piece.path = text_.path;
        piece.file = text_.file;
        piece.first_line = line_;
        piece.text.assign(text_.text, begin_, end - begin_);
        line_ += static_cast<std::uint64_t>(std::count(piece.text.begin(), piece.text.end(), '\n'));
        begin_ = end;
        pieces_.push_back({part, std::move(piece)});
    }
    std::vector<SplitText> take() {
        pieces_.front().text.file_bytes = text_.file_bytes;
        pieces_.back().text.ends = text_.ends;
        return std::move(pieces_);
    }

private:
    TextChunk& text_;
    std::uint64_t line_;
    std::size_t begin_ = 0;
    std::vector<SplitText> pieces_;
};

}  // namespace

UnitReader::UnitReader(const std::vector<std::string>& paths, const ReadOptions& read,
                       std::int64_t block_size, Units looked_for)
    : reader_(paths, read.format), borders_(read, block_size), looked_for_(looked_for) {}

bool UnitReader::next(UnitChunk& chunk) {
    if (!reader_.next(chunk.text)) return false;
    chunk.units_before = units_;
    if (looked_for_ == Units::ignored) return true;
    chunk.begins = borders_.begins(chunk.text);
    units_ += chunk.begins.size();
    return true;
}

std::uint64_t count_units(const std::vector<std::string>& paths, const ReadOptions& read,
                          std::int64_t block_size, Log& log) {
    UnitReader reader(paths, read, block_size, UnitReader::Units::found);
    ReadProgress progress(log, "counting " + std::string(unit_name(read)), reader.total_bytes());
    for (UnitChunk chunk; reader.next(chunk);) progress.add(chunk.text.file_bytes);
    progress.finish();
    return reader.units();
}

std::vector<SplitText> divided(UnitChunk&& chunk, const TextDivision& division) {
    std::vector<SplitText> whole;
    if (division.units == nullptr || chunk.text.text.empty()) {
        whole.push_back({division.whole, std::move(chunk.text)});
        return whole;
    }
    // Lines before the first unit of the chunk belong to the unit before it.
    std::uint64_t next = chunk.units_before;
    SplitPart part = division.units->part_of(next > 0 ? next - 1 : 0);
    Cutter cutter(chunk.text);
    for (const std::size_t begin : chunk.begins) {
        const SplitPart of_unit = division.units->part_of(next++);
        if (of_unit == part) continue;
        cutter.cut(begin, part);
        part = of_unit;
    }
    cutter.cut(chunk.text.text.size(), part);
    return cutter.take();
}

}  // namespace lockstep::data
