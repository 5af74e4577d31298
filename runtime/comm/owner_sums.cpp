// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/owner_sums.hpp"

#include <algorithm>
#include <array>

#include "runtime/comm/reduction.hpp"

namespace lockstep::comm {

namespace {

// Sums of this many elements stay in the first cache while all ranks are added to them.
constexpr std::size_t block = 1024;

// Cuts a part into pieces that fit one message.
class Pieces {
public:
    Pieces(const HostRange& part, std::size_t piece) : part_(part), piece_(piece) {}

    std::size_t count() const noexcept { return (part_.count + piece_ - 1) / piece_; }
    HostRange at(std::size_t i) const {
        return part_of(part_, i * piece_, std::min(piece_, part_.count - i * piece_));
    }

private:
    HostRange part_;
    std::size_t piece_;
};

// One rank's share of the work on a range.
class OwnerSum {
public:
    OwnerSum(Messages& messages, int rank, int size, const HostRange& range,
             const OwnerScratch& scratch)
        : messages_(messages),
          rank_(rank),
          size_(size),
          range_(range),
          scratch_(scratch),
          own_(part(rank)) {}

    void add() {
        start_sends();
        expect(0);
        expect(1);
        for (std::size_t i = 0; i < own_.count(); ++i) {
            messages_.wait_received(half(i));
            add_piece(i);
            expect(i + 2);
        }
        messages_.wait_sent();
    }

    void spread() {
        for (int step = 1; step < size_; ++step) {
            const int to = (rank_ + step) % size_, from = (rank_ + size_ - step) % size_;
            for (std::size_t i = 0; i < own_.count(); ++i) messages_.send(own_.at(i), to);
            const Pieces theirs = part(from);
            for (std::size_t i = 0; i < theirs.count(); ++i)
                messages_.receive(theirs.at(i), Messages::Into::range, from);
        }
        messages_.wait_received(Messages::Into::range);
        messages_.wait_sent();
    }

private:
    Pieces part(int owner) const { return {even_part_of(range_, owner, size_), scratch_.piece}; }
    static Messages::Into half(std::size_t i) noexcept {
        return i % 2 == 0 ? Messages::Into::even_pieces : Messages::Into::odd_pieces;
    }
    bf16* scratch_of(std::size_t i, int rank) const {
        return (i % 2 == 0 ? scratch_.even : scratch_.odd) +
               static_cast<std::size_t>(rank) * scratch_.piece;
    }

    // All ranks send to different ones at a time, and the first pieces of all parts first.
    void start_sends() {
        const std::size_t most = part(0).count();  // the first part is one of the longest
        for (std::size_t i = 0; i < most; ++i)
            for (int step = 1; step < size_; ++step) {
                const int to = (rank_ + step) % size_;
                const Pieces theirs = part(to);
                if (i < theirs.count()) messages_.send(theirs.at(i), to);
            }
    }

    void expect(std::size_t i) {
        if (i >= own_.count()) return;
        const std::size_t count = own_.at(i).count;
        for (int step = 1; step < size_; ++step) {
            const int from = (rank_ + size_ - step) % size_;
            messages_.receive({scratch_of(i, from), count, Dtype::bf16}, half(i), from);
        }
    }

    void add_piece(std::size_t i) {
        const HostRange own = own_.at(i);
        auto* const into = static_cast<bf16*>(own.data);
        std::vector<const bf16*> addends;
        for (int rank = 0; rank < size_; ++rank)
            addends.push_back(rank == rank_ ? into : scratch_of(i, rank));
        add_in_order(into, addends, own.count);
    }

    Messages& messages_;
    const int rank_, size_;
    const HostRange range_;
    const OwnerScratch scratch_;
    const Pieces own_;
};

}  // namespace

void add_in_order(bf16* into, const std::vector<const bf16*>& addends, std::size_t count) {
    std::array<float, block> sums;
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t length = std::min(block, count - first);
        const bf16* const first_addend = addends.front() + first;
        for (std::size_t i = 0; i < length; ++i) sums[i] = static_cast<float>(first_addend[i]);
        for (std::size_t a = 1; a < addends.size(); ++a) {
            const bf16* const addend = addends[a] + first;
            for (std::size_t i = 0; i < length; ++i) sums[i] += static_cast<float>(addend[i]);
        }
        for (std::size_t i = 0; i < length; ++i) into[first + i] = bf16(sums[i]);
    }
}

// Both halves together take 4 MiB at most on up to 256 ranks, and 16 KiB for each rank if there are
// more. Smaller pieces would bound that too, but a message costs more than its bytes: 16 and 64
// ranks on two cores took 3 to 4 times as long for 1,048,576 elements in pieces of 1,024 as in
// pieces of 4,096.
std::size_t owner_piece(int size) noexcept {
    constexpr std::size_t all = std::size_t{1} << 20, largest = std::size_t{1} << 18,
                          smallest = 4096;
    return std::clamp(all / static_cast<std::size_t>(size), smallest, largest);
}

void add_by_owner(Messages& messages, int rank, int size, const HostRange& range,
                  const OwnerScratch& scratch, OwnerResult result) {
    if (size == 1 || range.count == 0) return;
    OwnerSum sum(messages, rank, size, range, scratch);
    sum.add();
    if (result == OwnerResult::all) sum.spread();
}

}  // namespace lockstep::comm
