// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::train {

// Parameters begin at multiples of this many elements in every flat buffer, so that a cell of this
// size never holds elements of two parameters.
constexpr std::size_t grain = 256;

enum class WeightDecay { apply, skip };  // skip: for biases and norms

// Says whether the model's input and output share a parameter.
enum class Tied { no, yes };

// Says whether a parameter is a matrix of a layer inside the model, and no table or head.
enum class Hidden { no, yes };

// Says how a parameter's first values are made. `size` is the constant, the deviation of a normal
// distribution around 0, or the bound of a uniform one from -size to size.
struct InitialValues {
    enum class Kind { constant, normal, uniform };

    Kind kind = Kind::constant;
    double size = 0;
    std::int64_t zero_rows = 0;  // number of a matrix's first rows that are 0 instead
};

// Says how tensor ranks divide a parameter (tensor_slice.hpp). none: each has all of it.
enum class Split { none, rows, columns };

// A run of rows that is divided by itself, in whole units, such as the heads of queries.
struct SplitPart {
    std::int64_t rows = 0, units = 1;
};

struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    std::size_t offset = 0;  // elements from the start of every flat buffer; a multiple of grain
    std::size_t count = 0;
    int block = 0;
    WeightDecay decay = WeightDecay::apply;
    // The numbers of rows of the runs that are separate matrices for an optimizer that treats whole
    // matrices, such as those of queries, keys and values, which are stored as one; empty: one run.
    std::vector<std::int64_t> parts = {};
    Tied tied = Tied::no;
    InitialValues initial = {};
    Split split = Split::none;
    std::vector<SplitPart> split_parts = {};  // of all rows in their order, if rows are divided
    Hidden hidden = Hidden::no;
};

// Holds the shape of one part as a matrix; a vector is one row.
struct PartShape {
    std::int64_t rows, cols;
    bool is_matrix() const noexcept { return rows > 1 && cols > 1; }
};
// Returns at least one.
std::vector<PartShape> part_shapes(const Parameter& parameter);

// Holds the names and offsets of all parameters in the flat buffers. They are added in the order in
// which backward finishes their gradients, so gradients become final front to back. A block is a
// contiguous unit (a layer); a tied embedding table is a separate block and comes last.
class ParameterTable {
public:
    // Adds a parameter, whose offset and count the table calculates, and returns its index. A tied
    // one is a matrix in a block of its own, behind at least one other block, and the last one.
    std::size_t add(Parameter parameter);
    std::size_t add(std::string name, std::vector<std::int64_t> shape, int block, WeightDecay decay,
                    std::vector<std::int64_t> parts = {});

    const std::vector<Parameter>& all() const noexcept { return all_; }
    const Parameter& operator[](std::size_t index) const { return all_.at(index); }
    const Parameter* find(std::string_view name) const noexcept;
    std::size_t flat_size() const noexcept { return flat_size_; }  // including alignment gaps
    // Moves and extends the blocks so that each begins and ends at a multiple of this many grains,
    // and divides into as many equal parts. No parameter may be added afterwards.
    void pad_for(int ranks);
    // Returns that number of ranks; 1 unless pad_for() was called.
    int padded_for() const noexcept { return padded_for_; }
    // Says how many ranks share a replica, and what (ZeroOptions::stage). They divide those that
    // the table is padded for.
    void share_among(int ranks, int stage = 1);
    int sharing() const noexcept { return sharing_; }
    int stage() const noexcept { return stage_; }  // 0 if no ranks share
    std::size_t count() const noexcept;            // excluding alignment gaps

private:
    std::vector<Parameter> all_;
    std::map<std::string, std::size_t, std::less<>> index_;  // of a name
    std::size_t flat_size_ = 0;
    int padded_for_ = 1, sharing_ = 1, stage_ = 0;
};

}  // namespace lockstep::train
