// SPDX-License-Identifier: Apache-2.0
#include "data/storage/length_index.hpp"

#include <limits>

#include "data/hdf5/hdf5_read.hpp"
#include "data/storage/shard_format.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

constexpr std::size_t cache_bytes = std::size_t{1} << 20;

}  // namespace

LengthIndex::LengthIndex(const Dataset& dataset, const SplitInfo& split)
    : path_(dataset.directory() + "/" + format::index_file) {
    if (!path_exists(path_))
        throw Error(ErrorKind::data, path_ + ": the data set's index is missing" + restore_remedy);
    if (!is_file(path_)) damaged("it is not a regular file");
    const Hdf5Section section;
    try {
        open(dataset, split, section);
        section.require_memory();
    } catch (...) {
        close();  // handles must be closed inside the section; members would be closed after it
        section.require_memory();
        throw;
    }
}

LengthIndex::~LengthIndex() {
    const Hdf5Section section;
    close();
}

void LengthIndex::close() noexcept {
    lengths_.clear();
    file_ = Hdf5File();
}

void LengthIndex::open(const Dataset& dataset, const SplitInfo& split, const Hdf5Section& section) {
    width_ = split.label_tokens ? 3 : 2;
    file_ = hdf5::open_file(path_);
    if (!file_) {
        const std::string reason = section.reason();
        hdf5::require_openable(path_, reason);
        damaged("not a whole HDF5 file (" + reason + ")");
    }
    if (hdf5::read_text(file_, format::dictionary_hash) != dataset.dictionary_hash())
        throw Error(ErrorKind::data, path_ + ": belongs to another data set" + restore_remedy);
    for (std::size_t shard = 0; shard < split.shards.size(); ++shard) {
        const std::string name = index_dataset(split.name, static_cast<int>(shard));
        lengths_.push_back(hdf5::open_column(file_, name, {H5T_STD_I32LE, width_}, cache_bytes));
        const std::string what = "'" + name + "' is not the lengths of " +
                                 std::to_string(split.shards[shard].rows) + " rows";
        if (!lengths_.back()) damaged(what + " (" + lengths_.back().problem + ")");
        if (lengths_.back().rows != split.shards[shard].rows) damaged(what);
    }
}

void LengthIndex::damaged(const std::string& what) const {
    throw Error(ErrorKind::data, path_ + ": " + what + restore_remedy);
}

void LengthIndex::append_extents(int shard, std::int64_t first, std::int64_t count,
                                 std::vector<RowExtent>& out) {
    const std::size_t width = width_;
    std::vector<std::int32_t> lengths(width * static_cast<std::size_t>(count));
    {
        const Hdf5Section section;
        const auto begin = static_cast<std::uint64_t>(first);
        const hdf5::Outcome outcome = hdf5::read_rows(lengths_.at(static_cast<std::size_t>(shard)),
                                                      begin, std::span(lengths));
        section.require_memory();
        if (outcome != hdf5::Outcome::done)
            damaged("lengths from row " + std::to_string(first) + " on are damaged (" +
                    hdf5::reason_of(outcome, section) + ")");
    }
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int32_t* row = &lengths[width * static_cast<std::size_t>(i)];
        const std::int32_t source = row[0], label = row[1], labelled = row[width == 3 ? 2 : 1];
        if (source < 0 || label < 1 || source > std::numeric_limits<std::int32_t>::max() - label ||
            labelled < 1 || labelled > label)
            throw Error(ErrorKind::data, path_ + ": row " + std::to_string(first + i) +
                                             " has no length that a row can have" + restore_remedy);
        const auto id = global_row(static_cast<std::uint64_t>(first + i),
                                   static_cast<std::uint64_t>(shard), lengths_.size());
        out.push_back({static_cast<std::uint32_t>(id), shard, 0, source, label,
                       static_cast<std::uint32_t>(first + i), 0, label - labelled});
    }
}

void LengthIndex::read_tokens(int, std::uint64_t, std::span<std::int32_t>) {
    throw Error(ErrorKind::contract, path_ + ": the index holds no tokens");
}

std::vector<std::string> LengthIndex::read_references(const RowExtent&) { return {}; }

}  // namespace lockstep::data
