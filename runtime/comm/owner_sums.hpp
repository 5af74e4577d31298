// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/comm/communicator.hpp"

// Sums of bf16 lose bits whenever they are rounded, so that a ring, which rounds at every rank,
// loses more on more ranks. Therefore each part of such a range has an owner: all ranks send it
// their values as bf16, and it adds them in fp32, in the order of the ranks, and rounds once. The
// sums have the same bits whichever library moves the messages.
namespace lockstep::comm {

// Tells whether a reduction of these elements works like that.
constexpr bool added_by_owner(Dtype element, ReduceOp reduction) noexcept {
    return element == Dtype::bf16 && reduction == ReduceOp::sum;
}

// Writes the sums of `count` elements of each of the addends, in their order. `into` may be one of
// them.
void add_in_order(bf16* into, const std::vector<const bf16*>& addends, std::size_t count);

// Starts messages between ranks and waits for them. Two ranks' messages keep their order.
class Messages {
public:
    // Where messages arrive. The range is the one that is reduced. The pieces are scratch memory,
    // of which one can be filled while the other is being read.
    enum class Into { even_pieces, odd_pieces, range };

    virtual ~Messages() = default;

    virtual void send(const HostRange& from, int to) = 0;
    virtual void receive(const HostRange& to, Into into, int from) = 0;
    virtual void wait_received(Into into) = 0;  // all that were started into this memory
    virtual void wait_sent() = 0;               // all
};

// How many elements a rank of `size` ranks has in one piece, and the scratch memory for the even
// or the odd ones: as many pieces as there are ranks.
std::size_t owner_piece(int size) noexcept;
// Returns the bytes of both together.
constexpr std::size_t owner_scratch_bytes(int size, std::size_t piece) noexcept {
    return 2 * static_cast<std::size_t>(size) * piece * sizeof(bf16);
}
struct OwnerScratch {
    bf16* even;
    bf16* odd;
    std::size_t piece;  // elements in one message, at most owner_piece()
};

// Says what each rank has afterwards: its own even part of the range, or all of it.
enum class OwnerResult { part, all };

// Adds a range of bf16 as described above. Errors are those of `messages`.
void add_by_owner(Messages& messages, int rank, int size, const HostRange& range,
                  const OwnerScratch& scratch, OwnerResult result);

}  // namespace lockstep::comm
