// SPDX-License-Identifier: Apache-2.0
#include "data/storage/shard_reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "data/hdf5/hdf5_read.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

constexpr std::size_t token_cache_bytes = std::size_t{8} << 20;
constexpr std::size_t row_cache_bytes = std::size_t{2} << 20;

void require_regular_file(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw_errno("cannot read the data shard", path);
    if (!S_ISREG(status.st_mode))
        throw Error(ErrorKind::data,
                    path + ": the data shard is not a regular file" + restore_remedy);
    if (status.st_size == 0)
        throw Error(ErrorKind::data, path + ": the data shard is empty" + restore_remedy);
}

}  // namespace

ShardReader::ShardReader(std::string path, const ShardIdentity& expected)
    : path_(std::move(path)), expected_(expected) {
    require_regular_file(path_);
    const Hdf5Section section;
    try {
        open(section);
        check_identity();
        check_size();
        open_columns();
        section.require_memory();
    } catch (...) {
        close();  // handles must be closed inside the section; members would be closed after it
        section.require_memory();
        throw;
    }
}

ShardReader::~ShardReader() {
    const Hdf5Section section;
    close();
}

void ShardReader::close() noexcept {
    for (hdf5::Column* column : {&tokens_, &offsets_, &row_ids_, &span_offsets_, &spans_,
                                 &reference_rows_, &reference_offsets_, &reference_text_})
        *column = hdf5::Column();
    file_ = Hdf5File();
}

void ShardReader::open(const Hdf5Section& section) {
    file_ = hdf5::open_file(path_);
    if (file_) return;
    const std::string reason = section.reason();
    hdf5::require_openable(path_, reason);
    throw Error(ErrorKind::data,
                path_ + ": not a whole HDF5 file (" + reason + ")" + restore_remedy);
}

void ShardReader::check_identity() const {
    const auto wrong = [&](const std::string& what) {
        throw Error(ErrorKind::data, path_ + ": " + what);
    };
    const auto version = hdf5::read_integer(file_, format::version);
    if (!version) wrong(std::string("not a shard of Lockstep's") + restore_remedy);
    if (*version != format_version && *version != spans_version)
        wrong("written in format " + std::to_string(*version) +
              ", this program reads 1 and 2; run 'lockstep prepare' again");
    const auto text = [&](const char* attribute, std::string_view want, const char* complaint) {
        const auto found = hdf5::read_text(file_, attribute);
        if (found != want)
            wrong(std::string(complaint) + " (" + shown(found.value_or("none")) + ", not " +
                  shown(want) + ")" + restore_remedy);
    };
    const auto integer = [&](const char* attribute, std::int64_t want) {
        const auto found = hdf5::read_integer(file_, attribute);
        if (found != want)
            wrong(std::string(attribute) + " is " + (found ? std::to_string(*found) : "missing") +
                  " where dataset.json says " + std::to_string(want) + restore_remedy);
    };
    integer(format::version, expected_.version);
    text(format::dictionary_hash, expected_.dictionary_hash, "made with another dictionary");
    text(format::kind, name(expected_.kind), "holds another kind of rows");
    text(format::split, expected_.split, "belongs to another split");
    integer(format::shard, expected_.shard);
    integer(format::shards, expected_.shards);
    integer(format::rows, expected_.rows);
}

// An identity that was made without the size, for a file alone, has 0 bytes.
void ShardReader::check_size() const {
    hsize_t bytes = 0;
    H5Fget_filesize(file_.raw(), &bytes);
    if (expected_.bytes == 0 || bytes == expected_.bytes) return;
    throw Error(ErrorKind::data, path_ + ": has " + std::to_string(bytes) +
                                     " bytes where dataset.json says " +
                                     std::to_string(expected_.bytes) + restore_remedy);
}

void ShardReader::open_columns() {
    const auto damaged = [&](const std::string& what) {
        throw Error(ErrorKind::data, path_ + ": " + what + restore_remedy);
    };
    const auto open = [&](const char* name, hid_t type, std::size_t cache_bytes) {
        hdf5::Column column = hdf5::open_column(file_, name, {type, 1}, cache_bytes);
        if (!column) damaged(std::string("dataset '") + name + "' is damaged: " + column.problem);
        return column;
    };
    tokens_ = open(format::tokens, H5T_STD_I32LE, token_cache_bytes);
    offsets_ = open(format::offsets, H5T_STD_U64LE, row_cache_bytes);
    row_ids_ = open(format::row_ids, H5T_STD_U32LE, row_cache_bytes);
    const auto rows = static_cast<std::uint64_t>(expected_.rows);
    if (offsets_.size() != 2 * rows + 1 || row_ids_.size() != rows)
        damaged("offsets and row_ids do not have the sizes of " + std::to_string(expected_.rows) +
                " rows");
    if (hdf5::read_integer(file_, format::token_count) != static_cast<std::int64_t>(tokens_.size()))
        damaged("dataset 'tokens' does not have the size in the attribute token_count");
    if (expected_.version == spans_version) open_spans();
    if (H5Lexists(file_.raw(), format::reference_rows, H5P_DEFAULT) <= 0) return;
    reference_rows_ = open(format::reference_rows, H5T_STD_U64LE, row_cache_bytes);
    reference_offsets_ = open(format::reference_offsets, H5T_STD_U64LE, row_cache_bytes);
    reference_text_ = open(format::reference_text, H5T_STD_U8LE, row_cache_bytes);
    if (reference_rows_.size() != rows + 1)
        damaged("reference_rows does not have the size of " + std::to_string(expected_.rows) +
                " rows");
    // All alternatives may be empty texts.
    if (reference_text_.size() == 0) reference_offsets_.good_chunks.flip();
}

void ShardReader::open_spans() {
    const auto damaged = [&](const std::string& what) {
        throw Error(ErrorKind::data, path_ + ": " + what + restore_remedy);
    };
    const auto open = [&](const char* name, hdf5::ColumnType type) {
        hdf5::Column column = hdf5::open_column(file_, name, type, row_cache_bytes);
        if (!column) damaged(std::string("dataset '") + name + "' is damaged: " + column.problem);
        return column;
    };
    span_offsets_ = open(format::span_offsets, {H5T_STD_U64LE, 1});
    spans_ = open(format::spans, {H5T_STD_I32LE, 2});
    if (span_offsets_.size() != row_ids_.size() + 1)
        damaged("span_offsets does not have the size of " + std::to_string(expected_.rows) +
                " rows");
}

template <class T>
void ShardReader::read(const hdf5::Column& column, const char* name, std::uint64_t first,
                       std::span<T> out, const Hdf5Section& section) const {
    const hdf5::Outcome outcome = hdf5::read(column, first, out);
    section.require_memory();
    if (outcome == hdf5::Outcome::done) return;
    throw Error(ErrorKind::data, path_ + ": damaged within " + name + " " + std::to_string(first) +
                                     " to " + std::to_string(first + out.size()) +
                                     ", read at once (" + hdf5::reason_of(outcome, section) + ")" +
                                     restore_remedy);
}

void ShardReader::append_extents(std::int64_t first, std::int64_t count,
                                 std::vector<RowExtent>& out) {
    const auto rows = static_cast<std::size_t>(count);
    std::vector<std::uint64_t> offsets(2 * rows + 1);
    std::vector<std::uint32_t> ids(rows);
    {
        const Hdf5Section section;
        const auto begin = static_cast<std::uint64_t>(first);
        read(offsets_, format::offsets, 2 * begin, std::span(offsets), section);
        read(row_ids_, format::row_ids, begin, std::span(ids), section);
    }
    constexpr auto longest = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
    for (std::size_t i = 0; i < rows; ++i) {
        const std::uint64_t source = offsets[2 * i], label = offsets[2 * i + 1],
                            end = offsets[2 * i + 2];
        const std::uint64_t row = static_cast<std::uint64_t>(first) + i;
        // Every row that prepare writes has a label, which contains at least __end__.
        const bool placed =
            source <= label && label < end && end <= tokens_.size() && end - source <= longest;
        if (!placed) damaged_row(row, "an offset");
        if (ids[i] != global_row(row, static_cast<std::uint64_t>(expected_.shard),
                                 static_cast<std::uint64_t>(expected_.shards)))
            damaged_row(row, "the number in row_ids");
        out.push_back({ids[i], expected_.shard, source, static_cast<std::int32_t>(label - source),
                       static_cast<std::int32_t>(end - label), static_cast<std::uint32_t>(row), 0});
    }
    if (expected_.version != spans_version) return;
    std::vector<LabelSpan> spans;
    std::vector<std::int32_t> labelled;
    const std::span<RowExtent> added = std::span(out).last(rows);
    add_spans(static_cast<std::uint64_t>(first), added, spans, labelled);
    for (std::size_t i = 0; i < rows; ++i) added[i].unlabelled = added[i].label - labelled[i];
}

// The extents are those of rows that follow each other. A row's spans are in order and apart; the
// first one begins with its label, and the last one ends with it.
void ShardReader::add_spans(std::uint64_t first, std::span<const RowExtent> extents,
                            std::vector<LabelSpan>& out, std::vector<std::int32_t>& labelled) {
    std::vector<std::uint64_t> offsets(extents.size() + 1);
    std::vector<std::int32_t> numbers;
    const Hdf5Section section;
    read(span_offsets_, format::span_offsets, first, std::span(offsets), section);
    for (std::size_t i = 0; i < extents.size(); ++i)
        if (offsets[i] >= offsets[i + 1] || offsets[i + 1] > spans_.rows)
            damaged_row(first + i, "an offset of the spans");
    numbers.resize(2 * (offsets.back() - offsets.front()));
    const auto outcome = hdf5::read_rows(spans_, offsets.front(), std::span(numbers));
    section.require_memory();
    if (outcome != hdf5::Outcome::done)
        damaged_row(first, "a span (" + hdf5::reason_of(outcome, section) + ") from the one");
    for (std::size_t i = 0; i < extents.size(); ++i) {
        const RowExtent& row = extents[i];
        std::int32_t end = row.source, sum = 0;
        const std::size_t begin = offsets[i] - offsets.front(),
                          stop = offsets[i + 1] - offsets.front();
        for (std::size_t s = begin; s < stop; ++s) {
            const LabelSpan span{numbers[2 * s], numbers[2 * s + 1]};
            const bool placed = s == begin ? span.begin == row.source : span.begin >= end;
            if (!placed || span.end <= span.begin || span.end > row.source + row.label)
                damaged_row(first + i, "a span");
            sum += span.end - span.begin;
            end = span.end;
            out.push_back(span);
        }
        if (end != row.source + row.label) damaged_row(first + i, "the last span");
        labelled.push_back(sum);
    }
}

void ShardReader::read_spans(const RowExtent& extent, std::vector<LabelSpan>& out) {
    std::vector<std::int32_t> labelled;
    if (expected_.version == spans_version) add_spans(extent.local, {&extent, 1}, out, labelled);
}

void ShardReader::damaged_row(std::uint64_t row, const std::string& part) const {
    throw Error(ErrorKind::data, path_ + ": " + part + " of row " + std::to_string(row) +
                                     " is damaged" + restore_remedy);
}

std::uint64_t ShardReader::row_of(std::uint64_t token, const Hdf5Section& section) const {
    std::uint64_t row = 0;
    for (std::uint64_t end = row_ids_.size(); end - row > 1;) {
        const std::uint64_t middle = row + (end - row) / 2;
        std::uint64_t first_token = 0;
        read(offsets_, format::offsets, 2 * middle, std::span(&first_token, 1), section);
        (first_token <= token ? row : end) = middle;
    }
    return row;
}

void ShardReader::read_tokens(std::uint64_t first, std::span<std::int32_t> out) {
    const Hdf5Section section;
    read(tokens_, format::tokens, first, out, section);
    const auto stranger = std::ranges::find_if(
        out, [this](std::int32_t token) { return token < 0 || token >= expected_.vocabulary; });
    if (stranger == out.end()) return;
    const std::uint64_t row =
        row_of(first + static_cast<std::uint64_t>(stranger - out.begin()), section);
    throw Error(ErrorKind::data, path_ + ": row " + std::to_string(row) + " has the token " +
                                     std::to_string(*stranger) + ", but the vocabulary has " +
                                     std::to_string(expected_.vocabulary) + " tokens" +
                                     restore_remedy);
}

std::vector<std::string> ShardReader::read_references(std::int64_t row) {
    const Hdf5Section section;
    std::vector<std::string> references;
    if (!reference_rows_) return references;
    std::vector<std::uint64_t> range(2);
    read(reference_rows_, format::reference_rows, static_cast<std::uint64_t>(row), std::span(range),
         section);
    const auto damaged = [&] { damaged_row(static_cast<std::uint64_t>(row), "a reference"); };
    if (range[0] > range[1] || range[1] >= reference_offsets_.size()) damaged();
    std::vector<std::uint64_t> offsets(range[1] - range[0] + 1);
    read(reference_offsets_, format::reference_offsets, range[0], std::span(offsets), section);
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        if (offsets[i] > offsets[i + 1] || offsets[i + 1] > reference_text_.size()) damaged();
        std::vector<std::uint8_t> bytes(offsets[i + 1] - offsets[i]);
        read(reference_text_, format::reference_text, offsets[i], std::span(bytes), section);
        references.emplace_back(bytes.begin(), bytes.end());
    }
    return references;
}

}  // namespace lockstep::data
