// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// A bucket is a range of the flat gradient buffer that is reduced in one operation. Units are
// elements.
struct Bucket {
    std::size_t first = 0, count = 0;
};

// The order in which the buckets are sent.
enum class BucketOrder : std::int64_t { front_to_back, last_one_first };

// Cuts the flat buffer into buckets, front to back without gaps: a small first one, so that
// reducing starts early, then full-sized ones. If there are several blocks, the last block is a
// separate bucket, because a tied table in it becomes final only at the very end and no other
// gradient should wait for it. The result depends only on the table and the options, so ranks
// cannot disagree. If the table was padded for ranks, every bucket divides into as many equal parts
// of whole grains, and holds whole blocks or a part of one block.
std::vector<Bucket> plan_buckets(const ParameterTable& table, const ReducerOptions& options);

// Returns the rank-th of `ranks` equal parts of every bucket.
std::vector<OwnedPart> owned_parts(const std::vector<Bucket>& buckets, int rank, int ranks);
// Returns the parts of rank number `rank` among those that share a replica of the padded table.
std::vector<OwnedPart> owned_parts(const ParameterTable& table, const ReducerOptions& options,
                                   int rank);

// Returns the smallest segments that hold both whole blocks and whole buckets; none below stage 2.
std::vector<Segment> plan_segments(const ParameterTable& table, const ReducerOptions& options);

// Returns the ranges of the packed elements of these parts that belong to no parameter.
std::vector<Segment> packed_gaps(const ParameterTable& table, const std::vector<OwnedPart>& owned);

// Returns the number of elements of the largest bucket; 0 if there is none.
std::size_t largest(const std::vector<Bucket>& buckets);

}  // namespace lockstep::train
