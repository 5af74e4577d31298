// SPDX-License-Identifier: Apache-2.0
#include "data/storage/shard_reader.hpp"

#include <sys/stat.h>

#include <limits>
#include <utility>

#include "data/storage/hdf5_read.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

constexpr std::size_t token_cache_bytes = std::size_t{8} << 20;
constexpr std::size_t row_cache_bytes = std::size_t{2} << 20;
constexpr const char* restore = "; restore the file, or run 'lockstep prepare' again";

void require_regular_file(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw_errno("cannot read the data shard", path);
    if (status.st_size == 0)
        throw Error(ErrorKind::data, path + ": the data shard is empty" + restore);
}

}  // namespace

ShardReader::ShardReader(std::string path, const ShardIdentity& expected)
    : path_(std::move(path)), shard_(expected.shard) {
    require_regular_file(path_);
    const Hdf5Section section;
    try {
        open(section);
        check_identity(expected);
        open_datasets(expected, section);
    } catch (...) {
        close();  // handles must be closed inside the section; members would be closed after it
        throw;
    }
}

ShardReader::~ShardReader() {
    const Hdf5Section section;
    close();
}

void ShardReader::close() noexcept {
    for (Hdf5Dataset* dataset :
         {&tokens_, &offsets_, &row_ids_, &reference_rows_, &reference_offsets_, &reference_text_})
        *dataset = Hdf5Dataset();
    file_ = Hdf5File();
}

void ShardReader::open(const Hdf5Section& section) {
    file_ = hdf5::open_file(path_);
    if (file_) return;
    const std::string reason = section.reason();
    hdf5::require_openable(path_);
    throw Error(ErrorKind::data, path_ + ": not a whole HDF5 file (" + reason + ")" + restore);
}

void ShardReader::check_identity(const ShardIdentity& expected) const {
    const auto wrong = [&](const std::string& what) {
        throw Error(ErrorKind::data, path_ + ": " + what);
    };
    const auto version = hdf5::read_integer(file_, format::version);
    if (!version) wrong(std::string("not a shard of Lockstep's") + restore);
    if (*version != format_version)
        wrong("written in format " + std::to_string(*version) + ", this program reads " +
              std::to_string(format_version) + "; run 'lockstep prepare' again");
    const auto text = [&](const char* attribute, std::string_view want, const char* complaint) {
        const auto found = hdf5::read_text(file_, attribute);
        if (found != want)
            wrong(std::string(complaint) + " (" + found.value_or("none") + ", not " +
                  std::string(want) + ")" + restore);
    };
    const auto integer = [&](const char* attribute, std::int64_t want) {
        const auto found = hdf5::read_integer(file_, attribute);
        if (found != want)
            wrong(std::string(attribute) + " is " + (found ? std::to_string(*found) : "missing") +
                  " where dataset.json says " + std::to_string(want) + restore);
    };
    text(format::dictionary_hash, expected.dictionary_hash, "made with another dictionary");
    text(format::kind, name(expected.kind), "holds another kind of rows");
    text(format::split, expected.split, "belongs to another split");
    integer(format::shard, expected.shard);
    integer(format::shards, expected.shards);
    integer(format::rows, expected.rows);
}

void ShardReader::open_datasets(const ShardIdentity& expected, const Hdf5Section& section) {
    const auto open = [&](const char* dataset, std::size_t cache_bytes) {
        Hdf5Dataset opened = hdf5::open_dataset(file_, dataset, cache_bytes);
        if (!opened)
            throw Error(ErrorKind::data, path_ + ": dataset '" + dataset + "' is damaged (" +
                                             section.reason() + ")" + restore);
        return opened;
    };
    tokens_ = open(format::tokens, token_cache_bytes);
    offsets_ = open(format::offsets, row_cache_bytes);
    row_ids_ = open(format::row_ids, row_cache_bytes);
    token_count_ = hdf5::size(tokens_);
    const auto rows = static_cast<std::uint64_t>(expected.rows);
    if (hdf5::size(offsets_) != 2 * rows + 1 || hdf5::size(row_ids_) != rows)
        throw Error(ErrorKind::data, path_ + ": offsets and row_ids do not have the sizes of " +
                                         std::to_string(expected.rows) + " rows" + restore);
    if (H5Lexists(file_.raw(), format::reference_rows, H5P_DEFAULT) <= 0) return;
    reference_rows_ = open(format::reference_rows, row_cache_bytes);
    reference_offsets_ = open(format::reference_offsets, row_cache_bytes);
    reference_text_ = open(format::reference_text, row_cache_bytes);
}

template <class T>
void ShardReader::read(const Hdf5Dataset& dataset, const char* name, std::uint64_t first,
                       std::span<T> out, const Hdf5Section& section) const {
    if (hdf5::read(dataset, first, out) == hdf5::Outcome::done) return;
    throw Error(ErrorKind::data, path_ + ": " + name + " " + std::to_string(first) + " to " +
                                     std::to_string(first + out.size()) + " are damaged (" +
                                     section.reason() + ")" + restore);
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
        // Every row that prepare writes has a label, which contains at least __end__.
        if (source > label || label >= end || end > token_count_ || end - source > longest)
            throw Error(ErrorKind::data, path_ + ": the offsets of row " +
                                             std::to_string(first + static_cast<std::int64_t>(i)) +
                                             " are damaged" + restore);
        out.push_back({ids[i], shard_, source, static_cast<std::int32_t>(label - source),
                       static_cast<std::int32_t>(end - label),
                       static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(i), 0});
    }
}

void ShardReader::read_tokens(std::uint64_t first, std::span<std::int32_t> out) {
    const Hdf5Section section;
    read(tokens_, format::tokens, first, out, section);
}

std::vector<std::string> ShardReader::read_references(std::int64_t row) {
    const Hdf5Section section;
    std::vector<std::string> references;
    if (!reference_rows_) return references;
    std::vector<std::uint64_t> range(2);
    read(reference_rows_, format::reference_rows, static_cast<std::uint64_t>(row), std::span(range),
         section);
    const auto damaged = [&] {
        throw Error(ErrorKind::data, path_ + ": the references of row " + std::to_string(row) +
                                         " are damaged" + restore);
    };
    if (range[0] > range[1] || range[1] >= hdf5::size(reference_offsets_)) damaged();
    std::vector<std::uint64_t> offsets(range[1] - range[0] + 1);
    read(reference_offsets_, format::reference_offsets, range[0], std::span(offsets), section);
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        if (offsets[i] > offsets[i + 1] || offsets[i + 1] > hdf5::size(reference_text_)) damaged();
        std::vector<std::uint8_t> bytes(offsets[i + 1] - offsets[i]);
        read(reference_text_, format::reference_text, offsets[i], std::span(bytes), section);
        references.emplace_back(bytes.begin(), bytes.end());
    }
    return references;
}

}  // namespace lockstep::data
